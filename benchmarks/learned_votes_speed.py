"""Speed of learned votes: fit against one eigendecomposition, votes of the nearest rows against their search.

Run as ``python benchmarks/learned_votes_speed.py [--large]``. Ratios are of the best of several alternating runs.
"""

import argparse
import resource
import time

import numpy as np

from weighbors import LearnedVotesClassifier
from weighbors.engine import NeighborEngine
from weighbors.votes.local import LocalVotes


def best_of(functions, repeats):
    """Return the least time of each function, run in turn."""
    least = [np.inf] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            begin = time.perf_counter()
            function()
            least[i] = min(least[i], time.perf_counter() - begin)
    return least


def make_table(n, m, rng, *, dtype=np.float64):
    """Return rows of which five features and two products tell three classes apart."""
    X = rng.normal(size=(n, m)).astype(dtype)
    score = X[:, 0] + X[:, 1] * X[:, 2] - X[:, 3] * X[:, 4] + 0.5 * rng.normal(size=n)
    return X, np.digitize(score, [-0.7, 0.7])


def measure_fit(rng):
    X, y = make_table(2000, 30, rng)
    kernel = np.exp(-np.abs(X[:, None, :5] - X[None, :, :5]).sum(axis=2) / 6)
    plain, learned = LearnedVotesClassifier(weigher=None, n_jobs=2), LearnedVotesClassifier(n_jobs=2)
    eigh, fit = best_of([lambda: np.linalg.eigh(kernel), lambda: plain.fit(X, y)], 3)
    print(f"one eigh of 2000 x 2000                {eigh:7.2f} s")
    print(f"fit, 2000 x 30, width and ridge chosen {fit:7.2f} s  {fit / eigh:5.1f} x eigh (6 wanted)")
    (fit,) = best_of([lambda: learned.fit(X, y)], 1)
    print(f"the same with feature weights chosen   {fit:7.2f} s  {fit / eigh:5.1f} x eigh (25 wanted)")


def measure_local(rng):
    X, y = make_table(20_000, 50, rng)
    Q, _ = make_table(5_000, 50, rng)
    for p in (1, 2):
        votes = LocalVotes(NeighborEngine(X, p=p, n_jobs=2), y, 3, None, 50, 10.0, 0.1, 2)
        search, whole = best_of([lambda votes=votes: votes.neighbors(Q), lambda votes=votes: votes.scores(Q)], 4)
        print(f"50 nearest of 20 000 x 50, p = {p}: search {search:.2f} s, votes {whole:.2f} s, "
              f"{whole / search:.2f} x (4 wanted)")  # fmt: skip


def measure_large(rng):
    X, y = make_table(1_000_000, 20, rng)
    Q, truth = make_table(10_000, 20, rng)
    for name, model in {
        "100 nearest": LearnedVotesClassifier(n_jobs=2),
    }.items():
        begin = time.perf_counter()
        model.fit(X, y)
        fitted = time.perf_counter()
        accuracy = np.mean(model.predict(Q) == truth)
        ended = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"1 000 000 x 20, {name}: fit {fitted - begin:.0f} s (120 wanted), 10 000 predictions "
              f"{ended - fitted:.1f} s (60 wanted), accuracy {accuracy:.3f}, peak {peak:.0f} MB")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also a million rows")
    arguments = parser.parse_args()
    measure_fit(np.random.default_rng(0))
    measure_local(np.random.default_rng(0))
    if arguments.large:
        measure_large(np.random.default_rng(0))
