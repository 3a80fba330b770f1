"""Tables in blocks on a local cluster: two worker processes of 2 GiB each, rows read from parquet.

ReliefF with 2 000 drawn rows, representative intervals and k-NN prediction of 20 000 rows on 5 million x 40 float32
(0.8 GB raw); the peak memory of each worker; equality with the ordinary estimators on a part that fits, and of some
predictions on the whole; what each step costs, for the estimate in docs/guide/scaling.md. Not part of ``make
bench``: ``python benchmarks/cluster.py [--rows 5000000] [--queries 20000]``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import weighbors as wb
from weighbors.engine import merge_lists

M, FILE_ROWS, GROUP_ROWS, LIMIT = 40, 250_000, 100_000, "2GiB"
NAMES = [f"x{j}" for j in range(M)]


def rows_of(number: int, n: int) -> pd.DataFrame:
    """Make rows of whole numbers below 256; two classes differ in every fourth column."""
    rng = np.random.default_rng([7, number])
    y = (rng.random(n) < 0.3).astype(np.int8)
    X = rng.integers(0, 200, size=(n, M)).astype(np.float32)
    X[:, ::4] += 12 * y[:, None] * np.arange(1, M // 4 + 1, dtype=np.float32) / 4 // 1
    return pd.DataFrame(X, columns=NAMES).assign(label=np.where(y == 1, "case", "control"))


def write(folder: Path, n: int) -> None:
    for number, begin in enumerate(range(0, n, FILE_ROWS)):
        frame = rows_of(number, min(FILE_ROWS, n - begin))
        frame.to_parquet(folder / f"part.{number}.parquet", row_group_size=GROUP_ROWS, index=False)


def peak_mib() -> float:
    """Largest memory that this process has used, in MiB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


class Steps:
    """Prints what each step takes: seconds, and of each worker the processor's seconds and the peak of memory."""

    def __init__(self, client) -> None:
        self.client = client

    def __call__(self, name, run):
        before = self.client.run(time.process_time)
        start = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - start
        after, peaks = self.client.run(time.process_time), self.client.run(peak_mib)
        busy = [after[worker] - before[worker] for worker in sorted(after)]
        told = "   ".join(f"{b:6.1f} s {peaks[worker]:5.0f} MiB" for worker, b in zip(sorted(after), busy, strict=True))
        print(f"  {name:<40} {seconds:8.1f} s   workers {told}", flush=True)
        return result, sum(busy)


def check_equal(folder: Path) -> None:
    """Check on the first file that results equal those of the ordinary estimators."""
    path = folder / "part.0.parquet"
    frame = pd.read_parquet(path).iloc[:FILE_ROWS]
    X, y = frame[NAMES].to_numpy(), frame["label"].to_numpy()
    part = slice(0, 50_000)
    small = folder.parent / "small.parquet"
    frame.iloc[part].to_parquet(small, row_group_size=7_000, index=False)
    few = wb.ReliefF(n_samples=500, random_state=0).fit(small, "label")
    drawn = np.isin(np.arange(50_000), few.sample_indices_).astype(float)
    local = wb.ReliefF(n_jobs=2).fit(frame[NAMES].iloc[part], y[part], sample_weight=drawn)
    print(
        f"  ReliefF, 50 000 rows: largest difference {np.abs(few.feature_weights_ - local.feature_weights_).max():.2g}"
    )
    a, b = wb.RepresentativeIntervals().fit(path, "label"), wb.RepresentativeIntervals().fit(X, y)
    same = a.intervals_.drop(columns="feature").equals(b.intervals_.drop(columns="feature"))
    print(f"  intervals, {len(X)} rows: {'equal' if same else 'DIFFERENT'}")
    queries = rows_of(999, 2_000)[NAMES].to_numpy()
    ours = wb.WeightedKNeighborsClassifier(5).fit(path, "label")
    theirs = wb.WeightedKNeighborsClassifier(5, n_jobs=2).fit(frame[NAMES], y)
    same = all(np.array_equal(u, v) for u, v in zip(ours.kneighbors(queries), theirs.kneighbors(queries), strict=True))
    print(f"  k-NN, {len(X)} rows, 2 000 queries: {'equal to the bit' if same else 'DIFFERENT'}", flush=True)


def main(n: int, n_queries: int) -> None:
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "table"
        folder.mkdir()
        start = time.perf_counter()
        write(folder, n)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{n} x {M} float32: {n * M * 4 / 1e9:.2f} GB raw, {size / 1e9:.2f} GB parquet, "
              f"written in {time.perf_counter() - start:.0f} s")  # fmt: skip
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=LIMIT, dashboard_address=None)
        with cluster, Client(cluster) as client:
            steps = Steps(client)
            check_equal(folder)
            print(f"two workers of {LIMIT}:", flush=True)
            steps("ReliefF, k = 10, 2 000 drawn rows",
                  lambda: wb.ReliefF(n_samples=2_000, random_state=0).fit(folder, "label"))  # fmt: skip
            steps("representative intervals", lambda: wb.RepresentativeIntervals().fit(folder, "label"))
            knn = wb.WeightedKNeighborsClassifier(5)
            model, read = steps("k-NN, fit (one pass over the rows)", lambda: knn.fit(folder, "label"))
            queries = rows_of(999, n_queries)
            Q, truth = queries[NAMES], queries["label"].to_numpy()
            times = []
            for q in sorted({n_queries // 20, n_queries // 4, n_queries}):
                labels, seconds = steps(f"k-NN, k = 5, predict {q}", lambda q=q: model.predict(Q.iloc[:q]))
                times.append((q, seconds))
            print(f"  accuracy {np.mean(labels == truth):.4f}")
            (few, found), _ = steps("k-NN, neighbours of 200", lambda: model.kneighbors(Q.iloc[:200]))
            slope, fixed = np.polyfit(*np.array(times).T, 1)
            print("model, in seconds of one core:")
            print(f"  {fixed:.1f} s + {slope * 1e3:.3f} ms per query: {n * M / slope / 1e9:.1f} G cells/s")
            print(f"  one pass reads, codes and measures {n * M * 4 / read / 1e6:.0f} MB/s of raw rows")
            start = time.perf_counter()
            lists = [(few[:, None], found[:, None])] * 8
            for _ in range(20):
                merge_lists(lists)
            each = (time.perf_counter() - start) / 20 / 8 / 200
            start = time.perf_counter()
            client.submit(np.ones, 25 * 2**20 // 8, pure=False).result()
            rate = 25 / (time.perf_counter() - start)
            print(
                f"  a merge takes {each * 1e6:.2f} us per list of 5; a result of 25 MiB comes back at {rate:.0f} MiB/s"
            )
        files = [
            folder / f"part.{number}.parquet" for number in range(-(-n // FILE_ROWS))
        ]  # pandas would put 10 before 2
        everything = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
        whole = wb.WeightedKNeighborsClassifier(5, n_jobs=2).fit(everything[NAMES], everything["label"])
        distance, row = whole.kneighbors(Q.iloc[:200])
        same = np.array_equal(distance, few) and np.array_equal(row, found)
        print(
            f"  neighbours of 200 queries among all {n} rows, in memory: {'equal to the bit' if same else 'DIFFERENT'}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--queries", type=int, default=20_000)
    given = parser.parse_args()
    main(given.rows, given.queries)
