"""NPDR: seconds for wide tables, and how often noise is found.

``python benchmarks/npdr.py`` prints both; ``python benchmarks/npdr.py --errors`` only the second. The type-I error is
the share of noise features with a p-value of at most .05 in tables whose target depends on age only, or on nothing.
The features of a confounded table follow age, too.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from weighbors import NPDR
from weighbors.exceptions import WeighborsWarning

TABLES, ROWS, FEATURES, PERMUTATIONS = 100, 100, 10, 99


def wide_table(n=200, m=10_000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m))
    return X, X[:, 0] + rng.normal(size=n), rng.normal(size=n)


def seconds() -> None:
    X, number, age = wide_table()
    print("200 x 10 000, seconds of processor time")
    for kind, y in (("classes", (number > 0).astype(int)), ("numeric", number)):
        for covariates in (None, age):
            for n_permutations in (0, 100):
                begin = time.process_time()
                NPDR(n_permutations=n_permutations, random_state=0).fit(X, y, covariates=covariates)
                spent = time.process_time() - begin
                given = "no covariate" if covariates is None else "age"
                print(f"  {kind}, {given}, {n_permutations} permutations: {spent:.1f}")


def null_table(seed: int, *, numeric: bool, confounded: bool):
    rng = np.random.default_rng([seed, numeric, confounded])
    age = rng.normal(size=ROWS)
    X = rng.normal(size=(ROWS, FEATURES))
    if confounded:
        X += age[:, None]
    effect = 1.5 * confounded * age
    y = effect + rng.normal(size=ROWS) if numeric else (rng.logistic(size=ROWS) < effect).astype(int)
    return X, y, age


def found_noise(seed: int, *, numeric: bool, confounded: bool, adjust: bool) -> list[float]:
    """Return the shares of features found by regressions over all and over unique pairs, and by permutations."""
    X, y, age = null_table(seed, numeric=numeric, confounded=confounded)
    covariates = age if adjust else None
    every = NPDR(pairs="all").fit(X, y, covariates=covariates)
    unique = NPDR(n_permutations=PERMUTATIONS, random_state=seed).fit(X, y, covariates=covariates)
    shares = [every.p_values_, unique.regression_p_values_, unique.p_values_]
    return [float(np.mean(p <= 0.05)) for p in shares]


def errors() -> None:
    print("target | table | covariate | all pairs | unique pairs | permutations")
    for numeric in (False, True):
        for confounded in (False, True):
            for adjust in (False, True):
                found = np.mean(
                    [found_noise(s, numeric=numeric, confounded=confounded, adjust=adjust) for s in range(TABLES)],
                    axis=0,
                )
                print(
                    "numeric" if numeric else "classes",
                    "confounded" if confounded else "plain",
                    "age" if adjust else "none",
                    *(f"{share:.3f}" for share in found),
                    sep=" | ",
                    flush=True,
                )


if __name__ == "__main__":
    warnings.simplefilter("ignore", WeighborsWarning)
    if "--errors" not in sys.argv:
        seconds()
    errors()
