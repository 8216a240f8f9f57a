-- Schema 1, run with `bir` as the only schema of the search path. Times are milliseconds since the Unix epoch, texts that hold JSON are kept as they came.
CREATE TABLE tenants (
    id         UUID    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    created_at BIGINT  NOT NULL
);

CREATE TABLE users (
    tenant_id     UUID    NOT NULL REFERENCES tenants (id),
    id            UUID    NOT NULL,
    email         TEXT    NOT NULL,
    email_key     TEXT    NOT NULL UNIQUE,
    name          TEXT    NOT NULL,
    role          TEXT    NOT NULL,
    password_hash TEXT,
    disabled      BOOLEAN NOT NULL DEFAULT FALSE,
    created_at    BIGINT  NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE tokens (
    tenant_id    UUID    NOT NULL,
    id           UUID    NOT NULL,
    owner        UUID    NOT NULL,
    kind         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    hash         BYTEA    NOT NULL,
    scopes       TEXT    NOT NULL,
    created_at   BIGINT  NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT,
    family       UUID,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, hash),
    FOREIGN KEY (tenant_id, owner) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX tokens_owner ON tokens (tenant_id, owner);
CREATE INDEX tokens_family ON tokens (tenant_id, family) WHERE family IS NOT NULL;

CREATE TABLE sessions (
    tenant_id  UUID    NOT NULL,
    hash       BYTEA    NOT NULL,
    user_id    UUID    NOT NULL,
    created_at BIGINT  NOT NULL,
    expires_at BIGINT  NOT NULL,
    PRIMARY KEY (tenant_id, hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX sessions_user ON sessions (tenant_id, user_id);
CREATE INDEX sessions_expiry ON sessions (tenant_id, expires_at);

-- `row_count` and `loss_count` count what hangs on the run; `calls` and `failed_calls` are kept by whoever books a row.
CREATE TABLE runs (
    tenant_id    UUID    NOT NULL,
    id           UUID    NOT NULL,
    user_id      UUID    NOT NULL,
    tier         TEXT    NOT NULL,
    lossy        BOOLEAN NOT NULL DEFAULT FALSE,
    lost_calls   BIGINT  NOT NULL DEFAULT 0,
    input        TEXT,
    project      TEXT,
    host         TEXT,
    servers      TEXT,
    more         TEXT,
    started_at   BIGINT  NOT NULL,
    ended_at     BIGINT,
    end_reason   TEXT,
    final_output TEXT,
    metrics      TEXT,
    last_at      BIGINT  NOT NULL,
    calls        BIGINT  NOT NULL DEFAULT 0,
    failed_calls BIGINT  NOT NULL DEFAULT 0,
    row_count    BIGINT  NOT NULL DEFAULT 0,
    loss_count   BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id)
);
CREATE INDEX runs_newest ON runs (tenant_id, started_at DESC, id DESC);
CREATE INDEX runs_newest_of_user ON runs (tenant_id, user_id, started_at DESC, id DESC);
CREATE INDEX runs_tier ON runs (tenant_id, tier, started_at DESC, id DESC);
CREATE INDEX runs_open ON runs (tenant_id, started_at DESC, id DESC) WHERE ended_at IS NULL;
CREATE INDEX runs_lossy ON runs (tenant_id, started_at DESC, id DESC) WHERE lossy;
CREATE INDEX runs_last ON runs (tenant_id, last_at);

-- What a run can be found by. `hash` is made of `kind` and `value`, so that an index holds no long texts.
CREATE TABLE run_facets (
    tenant_id  UUID    NOT NULL,
    run_id     UUID    NOT NULL,
    hash       BIGINT  NOT NULL,
    kind       TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    started_at BIGINT  NOT NULL,
    PRIMARY KEY (tenant_id, run_id, hash),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX run_facets_newest ON run_facets (tenant_id, hash, started_at DESC, run_id DESC);

-- Rows of calls, and final answers (`step_type` = 'final', the answer in `tool_output`). `more` holds what is rare, JSON.
CREATE TABLE steps (
    tenant_id   UUID    NOT NULL,
    id          UUID    NOT NULL,
    run_id      UUID    NOT NULL,
    step_index  BIGINT  NOT NULL,
    step_type   TEXT    NOT NULL,
    tool_name   TEXT    NOT NULL,
    server      TEXT,
    tool        TEXT,
    outcome     TEXT,
    at          BIGINT  NOT NULL,
    duration_us BIGINT,
    tool_input  TEXT,
    tool_output TEXT,
    tool_error  TEXT,
    more        TEXT,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, run_id, step_index),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE losses (
    tenant_id UUID    NOT NULL,
    id        UUID    NOT NULL,
    run_id    UUID    NOT NULL,
    seq       BIGINT  NOT NULL,
    calls     BIGINT  NOT NULL,
    records   BIGINT  NOT NULL,
    reason    TEXT    NOT NULL,
    at        BIGINT  NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX losses_run ON losses (tenant_id, run_id, seq);

-- A tenant's rows are seen and written inside a transaction that names the tenant, and nowhere else. Before any tenant was
-- named the setting is NULL, and an empty text after a transaction that named one: both mean nothing is seen.
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['users', 'tokens', 'sessions', 'runs', 'run_facets', 'steps', 'losses'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY tenant ON %I USING (tenant_id = NULLIF(current_setting(''app.tenant_id'', true), '''')::uuid)'
            ' WITH CHECK (tenant_id = NULLIF(current_setting(''app.tenant_id'', true), '''')::uuid)', name);
    END LOOP;
END
$$;
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenants USING (id = NULLIF(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (id = NULLIF(current_setting('app.tenant_id', true), '')::uuid);

-- What has to be known before a tenant is: which tenants there are, and where an e-mail address belongs. FORCE binds the
-- owner too, so the owner of the two functions, and nobody else, may read these two tables.
CREATE POLICY lookup ON tenants FOR SELECT TO CURRENT_ROLE USING (TRUE);
CREATE POLICY lookup ON users FOR SELECT TO CURRENT_ROLE USING (TRUE);

CREATE FUNCTION tenant_list() RETURNS TABLE (id UUID, name TEXT)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = bir, pg_temp
    AS 'SELECT t.id, t.name FROM bir.tenants t ORDER BY t.id';
CREATE FUNCTION find_login(key TEXT) RETURNS TABLE (tenant_id UUID, id UUID)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = bir, pg_temp
    AS 'SELECT u.tenant_id, u.id FROM bir.users u WHERE u.email_key = $1';
REVOKE ALL ON FUNCTION tenant_list() FROM PUBLIC;
REVOKE ALL ON FUNCTION find_login(TEXT) FROM PUBLIC;
