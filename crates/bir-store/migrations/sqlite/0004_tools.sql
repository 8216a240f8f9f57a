-- Schema 3: the tools of servers, and which servers a person trusts.
-- A set of tools is kept once for each person and content; `hash` is the SHA-256 of `tools`, canonical JSON. Runs name it with the
-- server that declared it, and without a reference: its recorder sends a set once, and the run that it came with may be gone. A set
-- that no run names goes with the last one that did.
CREATE TABLE tool_sets (
    tenant_id BLOB NOT NULL,
    user_id   BLOB NOT NULL,
    hash      TEXT NOT NULL,
    tools     TEXT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE run_tools (
    tenant_id BLOB NOT NULL,
    run_id    BLOB NOT NULL,
    server    TEXT NOT NULL,
    hash      TEXT NOT NULL,
    user_id   BLOB NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, run_id, server, hash),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX run_tools_of_set ON run_tools (tenant_id, user_id, hash);

-- Servers, by the key under which their owner's hosts know them, whose hints are believed.
CREATE TABLE trusted_servers (
    tenant_id BLOB NOT NULL,
    user_id   BLOB NOT NULL,
    server    TEXT NOT NULL,
    since     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, server),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;
