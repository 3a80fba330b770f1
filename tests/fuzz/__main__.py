"""Fuzz for some seconds: ``python -m fuzz 3600`` (with ``tests`` on the path).

The targets share the time evenly. Failures do not stop the run: they are printed with their seeds, and
``python -m fuzz --case check_search 17`` runs one case again. The last lines are a table of cases per target.
"""

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from fuzz import checks
from fuzz.test_fuzz import SEEDED, WITH_FILES


def run_for(seconds, first):
    """Run cases for ``seconds`` seconds, from the seed ``first`` on. Return [cases, seconds, failures] per target."""
    found = {check: [0, 0.0, 0] for check in SEEDED + WITH_FILES}
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as place:
        while time.monotonic() < end:
            # The target with the least processor time so far is next, so that slow targets do not take all the time.
            check = min(found, key=lambda one: found[one][1])
            row, start = found[check], time.process_time()
            if not run_seed(check, first + row[0], Path(place)):
                row[2] += 1
            row[0] += 1
            row[1] += time.process_time() - start
    return found


def run_seed(check, seed, place):
    """Run one case and print the traceback of a failure. Return whether it passed."""
    try:
        checks.run_case(check, seed, *([place] if check in WITH_FILES else []))
    except Exception:
        print(f"FAILED {check.__name__} {seed}\n{traceback.format_exc()}", flush=True)
        return False
    return True


def main():
    """Read the arguments, run, and print the table; the exit code is 1 after a failure."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float, nargs="?", default=60.0)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--case", nargs=2, metavar=("CHECK", "SEED"), help="run one case only")
    given = parser.parse_args()
    if given.case:
        by_name = {check.__name__: check for check in SEEDED + WITH_FILES}
        with tempfile.TemporaryDirectory() as place:
            return 0 if run_seed(by_name[given.case[0]], int(given.case[1]), Path(place)) else 1
    found = run_for(given.seconds, given.first)
    for check, (cases, spent, failures) in found.items():
        print(f"{check.__name__:32} {cases:7} cases {spent:8.1f} s {failures:4} failures")
    totals = [sum(column) for column in zip(*found.values(), strict=True)]
    print(f"{'all':32} {totals[0]:7} cases {totals[1]:8.1f} s {totals[2]:4} failures")
    return 1 if totals[2] else 0


if __name__ == "__main__":
    sys.exit(main())
