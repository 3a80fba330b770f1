"""NCA weights against PyPI's ncfs and ncafs: the same rows and the same objective, 2 threads each.

Both are BSD (``pip install ncfs ncafs``) and are not in the extra ``bench``, since ncfs needs numba. ncfs climbs along
the gradient with a step that it adapts, ncafs uses L-BFGS-B. What is compared:

- the time of one evaluation of value and gradient, for all three;
- a fit of ours and of ncfs with the same number of iterations, and what both have reached.

ncafs stores the differences of all pairs for every feature: at 2000 x 100 this takes 3.2 GB, and several times that
while it evaluates. It is measured at 1000 rows unless ``--full`` is given.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")

import sys
import time
import warnings

import numpy as np
from harness import best_of, show, verdict
from sklearn.datasets import make_classification
from sklearn.preprocessing import minmax_scale, scale

from weighbors import NCAWeights
from weighbors.tables.coded import CodedTable
from weighbors.tables.targets import Target
from weighbors.tables.validation import TableCoder
from weighbors.weighers.nca import make_problem, objective

THREADS = 2
ITERATIONS = 8


def data(n, m):
    X, y = make_classification(n, m, n_informative=min(10, m // 2), random_state=0)
    return scale(X), y


def problem_of(X, y):
    table = CodedTable(X, TableCoder(nominal=np.zeros(X.shape[1], dtype=bool)), Target(y, np.unique(y)))
    return make_problem(table)[0]


def peer(name):
    try:
        return __import__(name)
    except ImportError:
        sys.exit(f"this benchmark needs {name}: pip install ncfs ncafs")


def against_ncfs(n=2000, m=100, rounds=2) -> None:
    ncfs = peer("ncfs")
    X, y = data(n, m)
    X = minmax_scale(X)  # ncfs wants numbers from 0 to 1; others make its weights NaN after some steps
    problem, ones = problem_of(X, y), np.ones(m)
    best = best_of(
        {
            "weighbors": lambda: objective(problem, ones, THREADS),
            "weighbors, fit": lambda: _ours(X, y),
            "ncfs, fit": lambda: _ncfs(ncfs, X, y, ITERATIONS),
            "ncfs, fit of one": lambda: _ncfs(ncfs, X, y, 1),
        },
        rounds,
    )
    # Its fit makes a matrix of the classes by a loop of Python, which is no part of an evaluation.
    one = (best["ncfs, fit"] - best.pop("ncfs, fit of one")) / (ITERATIONS - 1)
    show(f"one evaluation, {n} x {m}", {"weighbors": best["weighbors"], "ncfs, warm": one}, "weighbors")
    verdict("ncfs / ours, one evaluation", one / best.pop("weighbors"), 10)
    show(f"fit of {ITERATIONS} iterations, {n} x {m}", best, "weighbors, fit")
    verdict("ncfs / ours, fit", best["ncfs, fit"] / best["weighbors, fit"], 10)
    for name, w in (
        ("weighbors", _ours(X, y).feature_weights_),
        ("ncfs", _ncfs(ncfs, X, y, ITERATIONS).coef_),
    ):
        reached = objective(problem, w**2, THREADS)[0] - np.sum(w**2) / n
        print(f"  objective reached by {name}: {reached:.6f}")
    print()


def _ours(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NCAWeights(max_iter=ITERATIONS, n_jobs=THREADS).fit(X, y)


def _ncfs(ncfs, X, y, iterations):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ncfs.NCFS(reg=1 / len(X), eta=-1.0, max_iter=iterations).fit(X, y)  # eta: never stops early


def against_ncafs(n, m=100, rounds=2) -> None:
    peer("ncafs")
    from ncafs.core import cost_nca, pairwise_feature_distance

    X, y = data(n, m)
    problem, ones = problem_of(X, y), np.ones(m)
    differences, wrong = pairwise_feature_distance(X), (y[:, None] != y[None, :]).astype(float)
    best = best_of(
        {
            "weighbors": lambda: objective(problem, ones, THREADS),
            "ncafs": lambda: cost_nca(ones, differences, wrong, 1.0, 1 / n),
        },
        rounds,
    )
    show(f"one evaluation, {n} x {m}", best, "weighbors")
    verdict("ncafs / ours, one evaluation", best["ncafs"] / best["weighbors"], 10)
    w = np.linspace(0.1, 0.5, m)
    value, gradient = objective(problem, w**2)
    cost, slope = cost_nca(w, differences, wrong, 1.0, 1 / n)
    print(f"  same value: {abs(1 - value + w @ w / n - cost):.1e} apart", end="; ")
    print(f"same gradient: {np.abs(2 * w * (1 / n - gradient) - slope).max():.1e} apart\n")


if __name__ == "__main__":
    begin = time.perf_counter()
    against_ncfs()
    against_ncafs(2000 if "--full" in sys.argv else 1000)
    print(f"{time.perf_counter() - begin:.0f} s")
