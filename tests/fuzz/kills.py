"""Kill a process at a random moment, again and again, and then let it end: the result must be the same bits.

``python -m fuzz.kills 100`` (with ``tests`` on the path) kills a hundred processes and prints what it found.
"""

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEARCH = """
import sys
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from weighbors import EvolutionaryWeigher
X, y = load_wine(return_X_y=True)
print("begun", flush=True)
found = EvolutionaryWeigher("IS+FW", population_size=10, max_evaluations=600, random_state=0, resume=True,
                            checkpoint=sys.argv[1] + "/search.ckpt", checkpoint_seconds=0).fit(scale(X), y)
found.weights_.save(sys.argv[1] + "/weights.npz")
found.history_.drop(columns="seconds").to_csv(sys.argv[1] + "/history.csv")
"""
STUDY = """
import sys
from sklearn.datasets import load_iris, load_wine
from weighbors import ReliefF, WeightedKNeighborsClassifier
from weighbors.evaluation import Study
data = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
methods = {"plain": WeightedKNeighborsClassifier(3), "relief": WeightedKNeighborsClassifier(3, weigher=ReliefF())}
study = Study(data, methods, sys.argv[1] + "/store", cv=3, n_repeats=2, random_state=0)
print("begun", flush=True)
frame = study.run().frame().drop(columns=["fit_seconds", "predict_seconds", "seconds"], errors="ignore")
frame.to_csv(sys.argv[1] + "/results.csv")
"""
REDUCE = """
import sys
from pathlib import Path
from sklearn.datasets import load_wine
from weighbors.cli import main
place = Path(sys.argv[1])
if not (place / "wine.csv").exists():
    frame = load_wine(as_frame=True).frame
    frame.to_csv(place / "half.csv", index=False)
    (place / "half.csv").rename(place / "wine.csv")
print("begun", flush=True)
main(["reduce", str(place / "wine.csv"), "--target", "target", "--output", str(place / "small.csv"), "--evaluations",
      "600", "--population", "20", "--seed", "0", "--resume", "--force", "--quiet"])
"""
#: Each script, and the files that hold its result.
KINDS = {
    "search": (SEARCH, ("weights.npz", "history.csv")),
    "study": (STUDY, ("results.csv",)),
    "reduce": (REDUCE, ("small.csv",)),
}


def begin(kind, place):
    """Start a process and wait until its work begins."""
    process = subprocess.Popen([sys.executable, "-c", KINDS[kind][0], str(place)], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def finish(kind, place):
    """Let a process end. Return a digest of each file of its result, and the seconds that its work took."""
    process, start = begin(kind, place), time.perf_counter()
    process.stdout.read()
    assert process.wait() == 0, f"{kind} ended with {process.returncode}"
    files = {name: hashlib.blake2b((place / name).read_bytes()).hexdigest() for name in KINDS[kind][1]}
    return files, time.perf_counter() - start


def kill_and_resume(kind, place, seconds, kills, seed):
    """Kill ``kills`` processes at random moments of ``seconds`` seconds of work, and return the digests at the end.

    The second value is how many processes were killed before they had ended.
    """
    pick, killed = random.Random(seed), 0
    for _ in range(kills):
        process = begin(kind, place)
        time.sleep(pick.random() * seconds)
        killed += process.poll() is None
        process.kill()
        process.stdout.read()
        process.wait()
    found, _ = finish(kind, place)
    left = [path.name for path in place.rglob(".*") if path.is_file() and not path.name.endswith(".lock")]
    return found, killed, left


def run(kills):
    """Kill processes of every kind in turn, five per run. Return a table of what happened."""
    rows, each = {}, 5
    with tempfile.TemporaryDirectory() as place:
        for kind in KINDS:
            (Path(place) / kind).mkdir()
            wanted, seconds = finish(kind, Path(place) / kind)
            same = killed = runs = 0
            left = []
            for number in range(-(-kills // (each * len(KINDS)))):
                here = Path(place) / f"{kind}{number}"
                here.mkdir()
                found, dead, files = kill_and_resume(kind, here, seconds, each, number)
                same, killed, runs, left = same + (found == wanted), killed + dead, runs + 1, left + files
            rows[kind] = {"runs": runs, "killed": killed, "same bits": same, "files left": len(left)}
            print(kind, json.dumps(rows[kind]), flush=True)
    return rows


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
