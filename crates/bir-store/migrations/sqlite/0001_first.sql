-- Schema 1. Ids are UUIDs of 16 bytes, times are milliseconds since the Unix epoch, texts that hold JSON are kept as they came.
CREATE TABLE tenants (
    id         BLOB    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    tenant_id     BLOB    NOT NULL REFERENCES tenants (id),
    id            BLOB    NOT NULL,
    email         TEXT    NOT NULL,
    email_key     TEXT    NOT NULL UNIQUE,
    name          TEXT    NOT NULL,
    role          TEXT    NOT NULL,
    password_hash TEXT,
    disabled      INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE TABLE tokens (
    tenant_id    BLOB    NOT NULL,
    id           BLOB    NOT NULL,
    owner        BLOB    NOT NULL,
    kind         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL,
    scopes       TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER,
    family       BLOB,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, hash),
    FOREIGN KEY (tenant_id, owner) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX tokens_owner ON tokens (tenant_id, owner);
CREATE INDEX tokens_family ON tokens (tenant_id, family) WHERE family IS NOT NULL;

CREATE TABLE sessions (
    tenant_id  BLOB    NOT NULL,
    hash       BLOB    NOT NULL,
    user_id    BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX sessions_user ON sessions (tenant_id, user_id);
CREATE INDEX sessions_expiry ON sessions (tenant_id, expires_at);

-- `row_count` and `loss_count` count what hangs on the run; `calls` and `failed_calls` are kept by whoever books a row.
CREATE TABLE runs (
    tenant_id    BLOB    NOT NULL,
    id           BLOB    NOT NULL,
    user_id      BLOB    NOT NULL,
    tier         TEXT    NOT NULL,
    lossy        INTEGER NOT NULL DEFAULT 0,
    lost_calls   INTEGER NOT NULL DEFAULT 0,
    input        TEXT,
    project      TEXT,
    host         TEXT,
    servers      TEXT,
    more         TEXT,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    end_reason   TEXT,
    final_output TEXT,
    metrics      TEXT,
    last_at      INTEGER NOT NULL,
    calls        INTEGER NOT NULL DEFAULT 0,
    failed_calls INTEGER NOT NULL DEFAULT 0,
    row_count    INTEGER NOT NULL DEFAULT 0,
    loss_count   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id)
) STRICT;
CREATE INDEX runs_newest ON runs (tenant_id, started_at DESC, id DESC);
CREATE INDEX runs_newest_of_user ON runs (tenant_id, user_id, started_at DESC, id DESC);
CREATE INDEX runs_tier ON runs (tenant_id, tier, started_at DESC, id DESC);
CREATE INDEX runs_open ON runs (tenant_id, started_at DESC, id DESC) WHERE ended_at IS NULL;
CREATE INDEX runs_lossy ON runs (tenant_id, started_at DESC, id DESC) WHERE lossy;
CREATE INDEX runs_last ON runs (tenant_id, last_at);

-- What a run can be found by. `hash` is made of `kind` and `value`, so that an index holds no long texts.
CREATE TABLE run_facets (
    tenant_id  BLOB    NOT NULL,
    run_id     BLOB    NOT NULL,
    hash       INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, run_id, hash),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX run_facets_newest ON run_facets (tenant_id, hash, started_at DESC, run_id DESC);

-- Rows of calls, and final answers (`step_type` = 'final', the answer in `tool_output`). `more` holds what is rare, JSON.
CREATE TABLE steps (
    tenant_id   BLOB    NOT NULL,
    id          BLOB    NOT NULL,
    run_id      BLOB    NOT NULL,
    step_index  INTEGER NOT NULL,
    step_type   TEXT    NOT NULL,
    tool_name   TEXT    NOT NULL,
    server      TEXT,
    tool        TEXT,
    outcome     TEXT,
    at          INTEGER NOT NULL,
    duration_us INTEGER,
    tool_input  TEXT,
    tool_output TEXT,
    tool_error  TEXT,
    more        TEXT,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, run_id, step_index),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE losses (
    tenant_id BLOB    NOT NULL,
    id        BLOB    NOT NULL,
    run_id    BLOB    NOT NULL,
    seq       INTEGER NOT NULL,
    calls     INTEGER NOT NULL,
    records   INTEGER NOT NULL,
    reason    TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX losses_run ON losses (tenant_id, run_id, seq);
