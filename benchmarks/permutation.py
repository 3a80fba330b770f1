"""What a permutation test costs on a wide table: one fit, the sums of all permutations, shared and separate fits.

python benchmarks/permutation.py                    # 200 rows, 10 000 features, 200 permutations of ReliefF
python benchmarks/permutation.py --weigher MultiSURF --features 1000

Processor time is printed, so that other processes on the machine do not matter.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from harness import verdict

import weighbors as wb
from weighbors.evaluation import permutation_test
from weighbors.weighers.rows import ListedPairs, sum_listed


def seconds(run, repeats=1):
    """Smallest processor time of a call, and its result."""
    best, result = float("inf"), None
    for _ in range(repeats):
        began = time.process_time()
        result = run()
        best = min(best, time.process_time() - began)
    return best, result


def sums(X, y, k):
    """The sums of differences of one fit of ReliefF, without anything else: 2 k rows for each row."""
    n, rng = len(X), np.random.default_rng(0)
    neighbor, weight = rng.integers(0, n, (n, 2 * k)), np.full((n, 2 * k), 0.1)
    lists = ListedPairs(np.arange(n), neighbor, weight, np.zeros_like(neighbor), 1)
    return sum_listed(X, X.shape[1], [lists], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--features", type=int, default=10_000)
    parser.add_argument("--permutations", type=int, default=200)
    parser.add_argument("--weigher", default="ReliefF")
    parser.add_argument("--separate", type=int, default=20, help="permutations that are also fitted separately")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, options.features))
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    weigher = getattr(wb, options.weigher)()
    if options.weigher == "RReliefF":
        y = X[:, :5].sum(axis=1)
    print(f"{options.weigher}, {options.rows} x {options.features}, {options.permutations} permutations")
    fit, _ = seconds(lambda: weigher.fit(X, y), 5)
    print(f"  one fit                     {fit:8.3f} s")
    few = options.separate
    # A function as weigher has nothing to share, so that every permutation is a fit of its own.
    apart, one = seconds(
        lambda: permutation_test(lambda X, y: weigher.fit(X, y).feature_weights_, X, y, n_permutations=few)
    )
    print(f"  separate fits               {apart / (few + 1) * (options.permutations + 1):8.3f} s (from {few})")
    shared, _ = seconds(lambda: permutation_test(weigher, X, y, n_permutations=options.permutations), 3)
    print(f"  permutation_test            {shared:8.3f} s")
    same = permutation_test(weigher, X, y, n_permutations=few).frame().equals(one.frame())
    print(f"  the same bits               {same!s:>8}")
    if options.weigher == "ReliefF":
        alone, _ = seconds(lambda: sums(X, y, 10), 5)
        print(f"  the sums alone              {alone * options.permutations:8.3f} s")
        wanted = 3 * fit + alone * options.permutations
        verdict("permutation_test / (3 fits + the sums)", shared / wanted, 1.0, at_most=True)


if __name__ == "__main__":
    main()
