-- Schema 3: what a scenario's level stands on, and one ticket for each match of a run.
-- `standing` is JSON that the store does not read; NULL in rows of before.
ALTER TABLE scenarios ADD COLUMN standing TEXT;

-- A run that was matched twice with one scenario keeps the ticket that was redeemed, else the first. The others lose their run, so that
-- what was booked under them stays.
UPDATE executions SET run_id = NULL
WHERE run_id IS NOT NULL AND EXISTS (
    SELECT 1 FROM executions o
    WHERE o.tenant_id = executions.tenant_id AND o.scenario_id = executions.scenario_id AND o.run_id = executions.run_id
      AND o.id <> executions.id
      AND (CASE WHEN o.claimed_at IS NULL THEN 1 ELSE 0 END, o.issued_at, o.id)
        < (CASE WHEN executions.claimed_at IS NULL THEN 1 ELSE 0 END, executions.issued_at, executions.id));
CREATE UNIQUE INDEX executions_of_run ON executions (tenant_id, run_id, scenario_id) WHERE run_id IS NOT NULL;

-- Tickets that nobody redeemed, of one person, the newest first: they are bounded and expire.
CREATE INDEX executions_waiting ON executions (tenant_id, user_id, issued_at DESC, id DESC) WHERE claimed_at IS NULL;
