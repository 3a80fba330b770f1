"""Where the k-d tree overtakes the compiled scan: the measurements behind engine/plan.py.

As many queries as a tenth of the references, k = 10, building included, 2 threads.
"""

from __future__ import annotations

import numpy as np
from harness import best_of

from weighbors.engine import NeighborEngine

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print("scan seconds / tree seconds (above 1: the tree is faster)")
    sizes = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
    print("features " + "".join(f"{n:>10}" for n in sizes))
    for m in (1, 2, 3, 4, 5, 6, 7, 8, 10):
        row = []
        for n in sizes:
            X = rng.normal(size=(n, m)).astype(np.float32)
            Q = rng.normal(size=(n // 10, m)).astype(np.float32)
            best = best_of(
                {
                    b: (lambda b=b, X=X, Q=Q: NeighborEngine(X, backend=b, n_jobs=2).search(Q, 10))
                    for b in ("scan", "tree")
                },
                rounds=3 if n > 10_000 else 5,
            )
            row.append(best["scan"] / best["tree"])
        print(f"{m:8d} " + "".join(f"{ratio:10.2f}" for ratio in row), flush=True)
