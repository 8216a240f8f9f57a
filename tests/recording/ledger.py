"""What a round did, what the spool was seen to hold, what the store has in the end: do they agree?

Three books are kept. The host's: every call in the order in which it was sent, with its answer. The spool's: every row that
a second reader saw there. The store's: every run with its rows. What must hold:

- A row that was in the spool is in the store, once, with the same content; where it is missing the run says `lossy` and
  counts at least as many calls as miss their beginning.
- A call that was answered by a proxy that lived on is in the store, or counted as lost in its run.
- In a run the order of indexes is the order of sending; a call has the indexes 2n and 2n+1, both rows once a run is over.
- A recorded answer is the one that the host got; a call whose end nobody saw is `unknown`.
"""

import json

import exact


class Sent:
    """A call of the host."""

    def __init__(self, serial, session, pending):
        self.serial, self.session, self.pending = serial, session, pending


def serial_of(row):
    try:
        return json.loads(row["toolInput"])["serial"]
    except (KeyError, ValueError, TypeError):
        return None


def complaints(sent, killed, seen, runs, settled_runs=True):
    """Everything that does not hold, in words.

    `sent` are the host's calls, `killed` the sessions whose proxy was killed, `seen` the spool's rows by id, `runs` what
    `GET /recordings/runs/:id` gives for every run.
    """
    say = []
    by_serial, by_id, lost = {}, {}, {}
    for whole in runs:
        run, rows = whole["run"], whole["steps"]
        damaged = sum(l["records"] for l in run.get("losses") or [] if l["reason"] == "damaged")
        lost[run["id"]] = run["lostCalls"] + damaged
        if bool(run["lossy"]) < bool(run["lostCalls"]):
            say.append(f"run {run['id']} lost {run['lostCalls']} calls and is not lossy")
        if settled_runs and not run.get("endedAt"):
            say.append(f"run {run['id']} is not over")
        say += one_run(run, rows)
        for row in rows:
            if row["id"] in by_id:
                say.append(f"row {row['id']} is there twice")
            by_id[row["id"]] = (run, row)
            if row["stepType"] == "tool_selected":
                by_serial.setdefault(serial_of(row), []).append((run, row))
    for serial, found in by_serial.items():
        if len(found) > 1:
            say.append(f"call {serial} is there {len(found)} times")
    lossy = {whole["run"]["id"]: whole["run"]["lossy"] for whole in runs}
    say += spool_against_store(seen, by_id, lossy, lost)
    say += host_against_store(sent, killed, by_serial, by_id, lossy, lost, runs)
    return say


def one_run(run, rows):
    say, indexes = [], [r["stepIndex"] for r in rows]
    if indexes != sorted(set(indexes)):
        say.append(f"run {run['id']}: the indexes are {indexes[:30]}")
    serials = [serial_of(r) for r in rows if r["stepType"] == "tool_selected"]
    if serials != sorted(serials, key=lambda s: (s is None, s or 0)):
        say.append(f"run {run['id']}: the order is {serials[:60]}")
    begun = {r["stepIndex"] for r in rows if r["stepType"] == "tool_selected"}
    over = {r["stepIndex"] for r in rows if r["stepType"] == "tool_response"}
    if any(i % 2 for i in begun) or any(i % 2 == 0 for i in over):
        say.append(f"run {run['id']}: a beginning has an odd index, or an end an even one")
    open_calls = begun - {i - 1 for i in over}
    if open_calls and run.get("endedAt") and not run["lossy"]:
        say.append(f"run {run['id']} is over, and {len(open_calls)} calls have no end")
    return say


def spool_against_store(seen, by_id, lossy, lost):
    say, missing = [], {}
    for row_id, row in seen.items():
        if row_id not in by_id:
            missing.setdefault(row["runId"], []).append(row)
            continue
        run, kept = by_id[row_id]
        if kept.get("outcome") == "unknown" and run["lossy"] and any(l["reason"] == "damaged" for l in run.get("losses") or []):
            continue
        for key in ("stepIndex", "stepType", "toolName", "toolInput", "toolOutput", "toolError", "outcome", "at"):
            if row.get(key) != kept.get(key):
                say.append(f"row {row_id}: {key} is {kept.get(key)!r:.80}, in the spool {row.get(key)!r:.80}")
                break
    for run_id, rows in missing.items():
        calls = sum(r["stepType"] == "tool_selected" for r in rows)
        if run_id not in lossy:
            say.append(f"run {run_id} with {len(rows)} rows in the spool is not in the store")
        elif not lossy[run_id] or lost[run_id] < calls:
            say.append(f"run {run_id}: {len(rows)} rows ({calls} calls) were in the spool and are not in the store; lossy {lossy[run_id]}, {lost[run_id]} lost")
    return say


def host_against_store(sent, killed, by_serial, by_id, lossy, lost, runs):
    say, uncovered = [], {}
    for call in sent:
        found = by_serial.get(call.serial)
        answer = call.pending.answer
        if not found:
            if answer is not None and call.session not in killed:
                uncovered.setdefault(call.session, []).append(call.serial)
            continue
        run, begin = found[0]
        wire = exact.member(call.pending.line, "params", "arguments")
        if exact.difference(wire, begin.get("toolInput")):
            say.append(f"call {call.serial}: {exact.difference(wire, begin.get('toolInput'))}")
        end = by_id.get(_partner(begin["id"]))
        if end is None:
            continue
        end = end[1]
        if end.get("outcome") == "unknown":
            if answer is not None and call.session not in killed and not run["lossy"]:
                say.append(f"call {call.serial} was answered and is recorded as unknown")
        elif answer is None:
            say.append(f"call {call.serial} has no answer and is recorded as {end.get('outcome')}")
        elif exact.difference(exact.member(answer, "result"), end.get("toolOutput")):
            say.append(f"call {call.serial}, result: {exact.difference(exact.member(answer, 'result'), end.get('toolOutput'))}")
    # Which run a call belongs to that is in no run is not known; a session's runs share what they count as lost.
    total = sum(lost.values())
    for session, serials in uncovered.items():
        if total < len(serials):
            say.append(f"{len(serials)} answered calls are not in the store, {total} are counted as lost; the first {serials[:5]}, {[(r['run']['id'], r['run']['lossy'], r['run']['lostCalls']) for r in runs]}")
    return say


def _partner(step_id):
    """The id of a call's second row: the last bit flipped."""
    return step_id[:-1] + format(int(step_id[-1], 16) ^ 1, "x")
