"""Kill a process at a random moment, again and again, and then let it end: the result must be the same bits.

``python -m fuzz.kills 100`` (with ``tests`` on the path) kills a hundred processes and prints
what it found. `fuzz.cluster_kills` has the kinds that need a Dask cluster.
"""

import hashlib
import json
import multiprocessing
import random
import sys
import tempfile
import time
from pathlib import Path

#: The function of `fuzz.kill_jobs` of each kind, the files that hold its result, and its share of a hundred kills.
KINDS = {
    "search": ("search", ("weights.npz", "history.csv"), 26),
    "study": ("study", ("results.csv",), 18),
    "study in processes": ("study_in_processes", ("results.csv",), 4),
    "reduce": ("reduce", ("small.csv",), 24),
    "preset": ("tiny_preset", ("tiny/accuracy.csv", "tiny/summary.md"), 14),
}
#: Kinds that write cells. Several processes may write to a store, so their recent files are left alone for an hour.
STORES = ("study", "study in processes", "preset")
# The fork server imports the library once. Each process then begins at once, and can be killed as any other.
_FORKS = multiprocessing.get_context("forkserver") if sys.platform != "win32" else None


def _work(name, begun, arguments):
    """Run a job, after a word that it begins."""
    from fuzz import kill_jobs

    begun.send("begun")
    begun.close()
    getattr(kill_jobs, name)(*arguments)


def begin(name, *arguments):
    """Start a process and wait until its work begins."""
    _FORKS.set_forkserver_preload(["fuzz.kill_jobs"])
    here, there = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_work, args=(name, there, arguments))
    process.start()
    there.close()
    here.recv()
    return process


def digests(place, names):
    """Return a digest of each file of a result."""
    return {name: hashlib.blake2b((place / name).read_bytes()).hexdigest() for name in names}


def finish(kind, place):
    """Let a process end. Return a digest of each file of its result, and the seconds that its work took."""
    name, files, _ = KINDS[kind]
    process, start = begin(name, place), time.perf_counter()
    process.join()
    assert process.exitcode == 0, f"{kind} ended with {process.exitcode}"
    return digests(place, files), time.perf_counter() - start


def leftovers(place):
    """Return the hidden files that a run has left, apart from locks, which the operating system releases."""
    return {path.name for path in place.rglob(".*") if path.is_file() and not path.name.endswith(".lock")}


def kill_after(process, seconds):
    """Kill a process after some seconds. Return whether it was still at work."""
    process.join(seconds)
    running = process.is_alive()
    process.kill()
    process.join()
    return running


def kill_and_resume(kind, place, seconds, kills, seed):
    """Kill ``kills`` processes at random moments of ``seconds`` seconds of work, and return the digests at the end.

    The second value is how many processes were killed before they had ended, the third the files that all of them
    left, and the fourth those that are still there after the last run.
    """
    pick, killed, between = random.Random(f"{kind} {seed}"), 0, set()
    for _ in range(kills):
        killed += kill_after(begin(KINDS[kind][0], place), pick.random() * seconds)
        between |= leftovers(place)
    found, _ = finish(kind, place)
    return found, killed, between, leftovers(place)


class Tally:
    """Counts of the runs of one kind."""

    def __init__(self, kind):
        self.kind, self.runs, self.killed, self.same, self.between, self.left = kind, 0, 0, 0, 0, 0

    def add(self, same, killed, between=(), left=()):
        """Add one run: whether it had the same bits, the kills, and the files left by the kills and at the end."""
        self.runs, self.killed, self.same = self.runs + 1, self.killed + killed, self.same + bool(same)
        self.between, self.left = self.between + len(between), self.left + len(left)

    def show(self):
        """Print the counts."""
        row = {"runs": self.runs, "killed": self.killed, "same bits": self.same}
        row |= {"files left by kills": self.between, "files left at the end": self.left}
        print(self.kind, json.dumps(row), flush=True)


def run_all(kills, first=0):
    """Kill processes of every kind until each has its share of ``kills``, two per run. ``first`` is the first seed."""
    from fuzz import cluster_kills

    shares = {kind: share for kind, (*_, share) in KINDS.items()} | cluster_kills.VICTIMS
    tallies = [Tally(kind) for kind in shares]
    with tempfile.TemporaryDirectory() as place:
        for tally in tallies:
            here = Path(place) / tally.kind
            (here / "whole").mkdir(parents=True)
            share = -(-kills * shares[tally.kind] // 100)
            run = run_kind if tally.kind in KINDS else cluster_kills.run_victim
            run(here, share, tally, first)
            tally.show()
    every = Tally("all")
    for name in ("runs", "killed", "same", "between", "left"):
        setattr(every, name, sum(getattr(tally, name) for tally in tallies))
    every.show()
    return every.same == every.runs


def run_kind(place, kills, tally, first):
    """Kill ``kills`` processes of the kind of ``tally``."""
    wanted, seconds = finish(tally.kind, place / "whole")
    while tally.killed < kills:
        here = place / str(tally.runs)
        here.mkdir()
        number = min(2, kills - tally.killed)
        found, *counts = kill_and_resume(tally.kind, here, seconds, number, first + tally.runs)
        tally.add(found == wanted, *counts)


if __name__ == "__main__":
    # The module is imported by its name, so that the fork server finds the functions in it.
    from fuzz import kills

    numbers = [int(one) for one in sys.argv[1:]]
    sys.exit(0 if kills.run_all(*(numbers or [100])) else 1)
