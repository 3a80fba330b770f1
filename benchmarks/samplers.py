"""Time imbalanced-learn's samplers with our search and with their own, on 20 000 rows of 20 columns.

Needs imbalanced-learn. Run it as ``python benchmarks/samplers.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from harness import best_of, show, verdict
from imblearn.over_sampling import ADASYN, SMOTE, BorderlineSMOTE
from imblearn.under_sampling import (
    EditedNearestNeighbours,
    NearMiss,
    NeighbourhoodCleaningRule,
    RepeatedEditedNearestNeighbours,
)
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from weighbors import WeightedKNeighborsClassifier, WeightedNearestNeighbors

THREADS = 2
WANTED = 3.0
Search = Callable[[int], object]

#: Each sampler as a function of the search, a function of k, and of the k-NN. The first value of k beyond the usual
#: one is the row itself, which they expect to find.
SAMPLERS: dict[str, Callable[[Search, Search], object]] = {
    "ENN": lambda search, knn: EditedNearestNeighbours(n_neighbors=search(4), n_jobs=THREADS),
    "RENN": lambda search, knn: RepeatedEditedNearestNeighbours(n_neighbors=search(4), max_iter=3, n_jobs=THREADS),
    "NearMiss 1": lambda search, knn: NearMiss(version=1, n_neighbors=search(3), n_jobs=THREADS),
    "NearMiss 3": lambda search, knn: NearMiss(
        version=3, n_neighbors=search(3), n_neighbors_ver3=search(3), n_jobs=THREADS
    ),
    "NCR": lambda search, knn: NeighbourhoodCleaningRule(
        edited_nearest_neighbours=EditedNearestNeighbours(n_neighbors=search(4), n_jobs=THREADS), n_neighbors=knn(3)
    ),
    "SMOTE": lambda search, knn: SMOTE(k_neighbors=search(6), random_state=0),
    "SMOTE, borderline": lambda search, knn: BorderlineSMOTE(
        k_neighbors=search(6), m_neighbors=search(11), random_state=0
    ),
    "ADASYN": lambda search, knn: ADASYN(n_neighbors=search(6), random_state=0),
}


def contestants(make: Callable[[Search, Search], object], X: object, y: object) -> dict[str, Callable[[], object]]:
    """Return the sampler with our search and with scikit-learn's, as functions without arguments."""
    ours = make(
        lambda k: WeightedNearestNeighbors(k, n_jobs=THREADS), lambda k: WeightedKNeighborsClassifier(k, n_jobs=THREADS)
    )
    theirs = make(
        lambda k: NearestNeighbors(n_neighbors=k, n_jobs=THREADS), lambda k: KNeighborsClassifier(k, n_jobs=THREADS)
    )
    return {name: (lambda one=one: one.fit_resample(X, y)) for name, one in (("ours", ours), ("theirs", theirs))}


def run(n: int, rounds: int) -> None:
    """Print the times of all samplers on a table of ``n`` rows."""
    X, y = make_classification(n, 20, n_informative=12, n_clusters_per_class=4, weights=[0.7], random_state=0)
    for name, make in SAMPLERS.items():
        both = contestants(make, X, y)
        same = all(np.array_equal(one, other) for one, other in zip(both["ours"](), both["theirs"](), strict=True))
        best = best_of(both, rounds=rounds)
        show(f"{name}, {n} x 20{'' if same else ' (other rows: equal distances)'}", best, "ours")
        verdict("theirs / ours", best["theirs"] / best["ours"], WANTED)


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, rounds=3)
