-- Schema 3: the tools of servers, and which servers a person trusts.
-- A set of tools is kept once for each person and content; `hash` is the SHA-256 of `tools`, canonical JSON. Runs name it with the
-- server that declared it, and without a reference: its recorder sends a set once, and the run that it came with may be gone. A set
-- that no run names goes with the last one that did.
CREATE TABLE tool_sets (
    tenant_id UUID NOT NULL,
    user_id   UUID NOT NULL,
    hash      TEXT NOT NULL,
    tools     TEXT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE run_tools (
    tenant_id UUID NOT NULL,
    run_id    UUID NOT NULL,
    server    TEXT NOT NULL,
    hash      TEXT NOT NULL,
    user_id   UUID NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, run_id, server, hash),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX run_tools_of_set ON run_tools (tenant_id, user_id, hash);

-- Servers, by the key under which their owner's hosts know them, whose hints are believed.
CREATE TABLE trusted_servers (
    tenant_id UUID NOT NULL,
    user_id   UUID NOT NULL,
    server    TEXT NOT NULL,
    since     BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, server),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['tool_sets', 'run_tools', 'trusted_servers'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY tenant ON %I USING (tenant_id = NULLIF(current_setting(''app.tenant_id'', true), '''')::uuid)'
            ' WITH CHECK (tenant_id = NULLIF(current_setting(''app.tenant_id'', true), '''')::uuid)', name);
    END LOOP;
END
$$;
