"""Kill parts of a Dask cluster, or its client, in the middle of a study: the table must be the same bits at the end.

- "dask client": the process that runs the study is killed, and another one continues on the same cluster.
- "dask worker": a worker process is killed. Dask gives its cells to another one, and the study goes on by itself.
- "dask scheduler": the scheduler is killed. The study must raise ClusterError, and is continued without a cluster.
"""

import random
import time
from contextlib import contextmanager

from fuzz.kills import begin, digests, kill_after, leftovers

#: The share of a hundred kills of each victim.
VICTIMS = {"dask client": 4, "dask worker": 5, "dask scheduler": 5}
LOST = 7  # exit code of a study after a ClusterError, as in `fuzz.kill_jobs`


class Cluster:
    """A scheduler and its workers, each a process that can be killed."""

    def __init__(self, place):
        self.scheduler, self.workers = begin("dask_scheduler", place), []
        until = time.monotonic() + 120
        while not (place / "address").exists():
            assert time.monotonic() < until, "the scheduler did not start"
            time.sleep(0.02)
        self.address = (place / "address").read_text()

    def add_worker(self):
        """Start a worker."""
        self.workers.append(begin("dask_worker", self.address))

    def kill_worker(self, number):
        """Kill a worker at once."""
        worker = self.workers.pop(number)
        worker.kill()
        worker.join()

    def close(self):
        """End all processes."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.join()


@contextmanager
def cluster_in(place, workers=1):
    """A cluster whose files are in a directory of its own."""
    place.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(place)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()


def finish(place, address):
    """Let a study end. Return the digest of its table, and the seconds that it took."""
    place.mkdir(exist_ok=True)
    process, start = begin("study_on_cluster", place, address), time.perf_counter()
    process.join()
    assert process.exitcode == 0, f"the study ended with {process.exitcode}"
    return digests(place, ["results.csv"]), time.perf_counter() - start


def run_victim(place, kills, tally, first):
    """Kill ``kills`` victims, one per study, and add each study to ``tally``. ``first`` is the seed of the moments."""
    place.mkdir(exist_ok=True)
    wanted, _ = finish(place / "whole", None)
    pick = random.Random(f"{tally.kind} {first}")
    with cluster_in(place / "cluster") as cluster:
        _, seconds = finish(place / "timed", cluster.address)
        while tally.kind != "dask scheduler" and tally.killed < kills:
            here = place / str(tally.runs)
            here.mkdir()
            kill = kill_client if tally.kind == "dask client" else kill_worker
            found, *counts = kill(cluster, here, pick.random() * seconds, pick)
            tally.add(found == wanted, *counts)
    while tally.killed < kills:
        here = place / str(tally.runs)
        here.mkdir()
        found, *counts = kill_scheduler(here, pick.random() * seconds)
        tally.add(found == wanted, *counts)


def kill_client(cluster, place, seconds, pick):
    """Kill the process of the study after some seconds, and let another one continue."""
    killed = kill_after(begin("study_on_cluster", place, cluster.address), seconds)
    between = leftovers(place / "store")
    found, _ = finish(place, cluster.address)
    return found, killed, between, leftovers(place / "store")


def kill_worker(cluster, place, seconds, pick):
    """Kill a worker after some seconds of a study, which must end by itself."""
    cluster.add_worker()  # there are two of them, and a new one for each that was killed
    process = begin("study_on_cluster", place, cluster.address)
    process.join(seconds)
    running = process.is_alive()
    cluster.kill_worker(pick.randrange(len(cluster.workers)))
    process.join()
    found = digests(place, ["results.csv"]) if process.exitcode == 0 else None
    return found, running, (), leftovers(place / "store")


def kill_scheduler(place, seconds):
    """Kill the scheduler after some seconds. The study must raise ClusterError, and is continued without a cluster."""
    with cluster_in(place / "cluster") as cluster:
        process = begin("study_on_cluster", place, cluster.address)
        process.join(seconds)
        running = process.is_alive()
        cluster.scheduler.kill()
        process.join()
        # A study that lost its scheduler does not wait for ever, and does not end with another error. One that had
        # its results just before is as good.
        told = process.exitcode == LOST or (place / "results.csv").exists()
    between = leftovers(place / "store")
    found, _ = finish(place, None)
    return found if told else process.exitcode, running, between, leftovers(place / "store")
