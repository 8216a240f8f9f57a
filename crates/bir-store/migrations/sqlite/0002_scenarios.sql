-- Schema 2: scenarios.
-- What recorded runs were calculated to. `source_run_id` is no reference: a scenario outlives its run. Projects and families are
-- looked up by a hash (as in `run_facets`), so that an index holds no long texts. `plan` is JSON that the store does not read; it comes
-- last, because SQLite reads through what stands before a column.
CREATE TABLE scenarios (
    tenant_id     BLOB    NOT NULL,
    id            BLOB    NOT NULL,
    user_id       BLOB    NOT NULL,
    source_run_id BLOB,
    family        TEXT    NOT NULL,
    family_hash   INTEGER NOT NULL,
    project       TEXT,
    project_hash  INTEGER,
    cwd           TEXT,
    state         TEXT    NOT NULL,
    level         TEXT    NOT NULL,
    level_reason  TEXT,
    confidence    TEXT    NOT NULL,
    run_count     INTEGER NOT NULL,
    step_count    INTEGER NOT NULL,
    iterations    INTEGER NOT NULL DEFAULT 0,
    revision      INTEGER NOT NULL,
    approved_at   INTEGER,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    reason        TEXT,
    intent        TEXT,
    prompt        TEXT    NOT NULL,
    plan          TEXT,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id)
) STRICT;
CREATE INDEX scenarios_newest ON scenarios (tenant_id, user_id, created_at DESC, id DESC);
CREATE INDEX scenarios_state ON scenarios (tenant_id, user_id, state, created_at DESC, id DESC);
CREATE INDEX scenarios_project ON scenarios (tenant_id, user_id, project_hash, created_at DESC, id DESC);
CREATE INDEX scenarios_family ON scenarios (tenant_id, user_id, family_hash, created_at DESC, id DESC);
CREATE INDEX scenarios_changed ON scenarios (tenant_id, user_id, updated_at, id);

-- `input_logic` and `output_logic` are what a person wrote; where they are NULL the calculated ones of the plan stand.
CREATE TABLE scenario_steps (
    tenant_id       BLOB    NOT NULL,
    scenario_id     BLOB    NOT NULL,
    step_index      INTEGER NOT NULL,
    server          TEXT,
    tool            TEXT    NOT NULL,
    effect          TEXT    NOT NULL,
    mark            TEXT,
    reasoning       TEXT,
    input_logic     TEXT,
    output_logic    TEXT,
    recorded_input  TEXT,
    recorded_output TEXT,
    PRIMARY KEY (tenant_id, scenario_id, step_index),
    FOREIGN KEY (tenant_id, scenario_id) REFERENCES scenarios (tenant_id, id) ON DELETE CASCADE
) STRICT;

-- A run belongs to one scenario. No reference to the run: when it is deleted, what it cost stays as a sample of the baseline.
-- Without `scenario_id` (role `dismissed`) it belonged to one that its owner deleted, and is not calculated again by itself.
CREATE TABLE scenario_runs (
    tenant_id   BLOB    NOT NULL,
    run_id      BLOB    NOT NULL,
    scenario_id BLOB,
    role        TEXT    NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    metrics     TEXT,
    PRIMARY KEY (tenant_id, run_id),
    FOREIGN KEY (tenant_id, scenario_id) REFERENCES scenarios (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX scenario_runs_of ON scenario_runs (tenant_id, scenario_id, started_at DESC, run_id DESC);

-- `before` and `after` are JSON: what of the step was edited. `revision` is the one that the edit made.
CREATE TABLE scenario_edits (
    tenant_id   BLOB    NOT NULL,
    id          BLOB    NOT NULL,
    scenario_id BLOB    NOT NULL,
    step_index  INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    user_id     BLOB    NOT NULL,
    before      TEXT    NOT NULL,
    after       TEXT    NOT NULL,
    forced      INTEGER NOT NULL,
    note        TEXT,
    revision    INTEGER NOT NULL,
    reverts     BLOB,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, scenario_id, revision),
    FOREIGN KEY (tenant_id, scenario_id) REFERENCES scenarios (tenant_id, id) ON DELETE CASCADE
) STRICT;

-- The id is the ticket. A row without `claimed_at` is a ticket that nobody redeemed. Costs are USD as decimal text.
CREATE TABLE executions (
    tenant_id         BLOB    NOT NULL,
    id                BLOB    NOT NULL,
    scenario_id       BLOB    NOT NULL,
    user_id           BLOB    NOT NULL,
    run_id            BLOB,
    issued_at         INTEGER NOT NULL,
    claimed_at        INTEGER,
    prompt            TEXT,
    outcome           TEXT,
    mode              TEXT,
    level             TEXT,
    derive_cost_usd   TEXT    NOT NULL DEFAULT '0',
    session_cost_usd  TEXT    NOT NULL DEFAULT '0',
    fallback_cost_usd TEXT    NOT NULL DEFAULT '0',
    tokens            INTEGER NOT NULL DEFAULT 0,
    duration_ms       INTEGER NOT NULL DEFAULT 0,
    steps_planned     INTEGER NOT NULL DEFAULT 0,
    steps_pinned      INTEGER NOT NULL DEFAULT 0,
    measured          INTEGER NOT NULL DEFAULT 0,
    pricing_version   TEXT    NOT NULL DEFAULT '',
    model             TEXT,
    verdicts          TEXT,
    error             TEXT,
    error_stage       TEXT,
    error_step        INTEGER,
    error_tool        TEXT,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, scenario_id) REFERENCES scenarios (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX executions_of ON executions (tenant_id, scenario_id, claimed_at DESC, id DESC);
CREATE INDEX executions_of_user ON executions (tenant_id, user_id, claimed_at DESC, id DESC) WHERE claimed_at IS NOT NULL;
CREATE INDEX executions_baseline ON executions (tenant_id, scenario_id, claimed_at DESC, id DESC)
    WHERE outcome IN ('not_steered', 'failed');
CREATE INDEX executions_open ON executions (tenant_id, issued_at) WHERE claimed_at IS NULL;
