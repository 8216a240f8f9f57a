"""A case in which every host has its files and no host's session is needed; it gives problems to its place, never stops at the first."""

import traceback

import configs
from place import Place


def case(function):
    """The function is given a Place, and may give a note, or "skipped: " and why."""
    def run(report, opt):
        place, note = Place(function.__name__), ""
        place.opt = opt
        try:
            place.files = configs.every(place)
            place.before = place.picture()
            note = function(place) or ""
        except Exception as why:
            traceback.print_exc()
            place.say(f"the test itself failed: {type(why).__name__}: {why}")
        finally:
            problems = place.close()
            kept = place.done(not problems)
            told = f"{len(problems)} problems: " + "; ".join(problems[:8]) + (f" ... kept in {kept}" if kept else "")
            name = f"{function.__name__}: {function.__doc__.splitlines()[0]}"
            if note.startswith("skipped: ") and not problems:
                report.skipped(name, note.removeprefix("skipped: "))
            else:
                report.check(not problems, name + note, told)
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run
