"""The work that `fuzz.kills` and `fuzz.cluster_kills` kill: one function per kind, which continues what it finds.

Each takes the directory of its files. The fork server imports this module once, so that a process begins at once.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale
from support.stubs import Trouble, noise_of, two_problems
from support.tiny_preset import preset

from weighbors import EvolutionaryWeigher, ReliefF, WeightedKNeighborsClassifier
from weighbors.cli import main as command
from weighbors.evaluation import Study
from weighbors.exceptions import ClusterError
from weighbors.presets import run_preset
from weighbors.weighers.evolution import fit

try:
    from distributed import Client, Scheduler, Worker
except ImportError:  # only the kinds on a cluster need it
    Client = Scheduler = Worker = None

LOST = 7  # exit code of a study on a cluster after a ClusterError
_TIMES = ["fit_seconds", "predict_seconds"]


def search(place):
    """An evolutionary search that writes its checkpoint after every generation."""
    X, y = load_wine(return_X_y=True)
    options = {"population_size": 10, "max_evaluations": 400, "random_state": 0}
    fit._SAVE_SECONDS = 0
    found = EvolutionaryWeigher("IS+FW", checkpoint=place / "search.ckpt", **options)
    found.fit(scale(X), y)
    found.weights_.save(place / "weights.npz")
    found.history_.drop(columns="seconds").to_csv(place / "history.csv")


def study(place, n_jobs=None):
    """A study of 24 cells."""
    data = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    methods = {"plain": WeightedKNeighborsClassifier(3), "relief": WeightedKNeighborsClassifier(3, weigher=ReliefF())}
    results = Study(data, methods, place / "store", cv=3, n_repeats=2, random_state=0).run(n_jobs)
    results.frame().drop(columns=_TIMES).to_csv(place / "results.csv")


def study_in_processes(place):
    """The same study in two worker processes."""
    study(place, n_jobs=2)


def _wine_file(place):
    """The path of a table, which is written if it is not there."""
    path = place / "wine.csv"
    if not path.exists():
        load_wine(as_frame=True).frame.to_csv(place / "half.csv", index=False)
        (place / "half.csv").rename(path)
    return str(path)


def reduce(place):
    """The command that searches for few rows and features."""
    options = "--evaluations 400 --population 20 --seed 0 --resume --force --quiet"
    run_command("reduce", place, "small.csv", options)


def run_command(name, place, output, options):
    """Run a command on a table in the directory ``place``. End the process if the command fails."""
    code = command([name, _wine_file(place), "--target", "target", "--output", str(place / output), *options.split()])
    if code:
        sys.exit(code)


def tiny_preset(place):
    """A preset of 24 cells, some of which take a moment."""
    run_preset(preset(seconds=0.02), output=place)


def dask_scheduler(place):
    """A scheduler of Dask, which writes its address to ``address`` in a directory."""

    async def serve():
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
            (place / "half").write_text(scheduler.address)
            (place / "half").rename(place / "address")
            await scheduler.finished()

    asyncio.run(serve())


def dask_worker(address):
    """A worker of Dask with one thread. It ends when the scheduler is lost."""

    async def serve():
        with tempfile.TemporaryDirectory() as place:
            async with Worker(address, nthreads=1, dashboard=False, local_directory=place) as worker:
                await worker.finished()

    asyncio.run(serve())


def study_on_cluster(place, address):
    """A study of 48 cells on the cluster at ``address``, or in this process if that is None."""
    methods = {"centre": Trouble(seconds=0.03), "relief": WeightedKNeighborsClassifier(3, weigher=ReliefF())}
    options = {"cv": 3, "n_repeats": 4, "measures": {"noise": noise_of}, "random_state": 0}
    job = Study(two_problems(), methods, Path(place) / "store", **options)
    if address is not None:
        try:
            job.executor, job.client = "dask", Client(address, timeout=60)
        except OSError:  # The scheduler was killed while Dask connected to it, before the study began.
            sys.exit(LOST)
    try:
        results = job.run()
    except ClusterError:
        sys.exit(LOST)
    table: pd.DataFrame = results.frame().drop(columns=_TIMES)
    table.to_csv(Path(place) / "results.csv")
