"""How long stability selection takes on a wide table: 200 rows, 10 000 features, 50 pairs of half samples.

python benchmarks/stability_selection.py            # 2 jobs; seconds of wall clock and of processor time
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from weighbors import ReliefF, ScoreWeigher, StabilitySelection

WEIGHERS = {"ReliefF": ReliefF(), "t": ScoreWeigher(), "default": None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--weighers", nargs="+", choices=list(WEIGHERS), default=list(WEIGHERS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10_000))
    y = X[:, :5].sum(axis=1) > 0
    for name in options.weighers:
        began, spent = time.perf_counter(), time.process_time()
        StabilitySelection(WEIGHERS[name], n_jobs=options.jobs, random_state=0).fit(X, y)
        wall, used = time.perf_counter() - began, time.process_time() - spent
        print(f"{name}: {wall:.1f} s, {used:.1f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
