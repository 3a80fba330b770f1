"""Small tables with numeric targets, for tests of the RELIEF family."""

import numpy as np


def numeric_table(seed, *, exact=False):
    """Return rows, target, a mask of categories and sample weights (or None).

    Odd seeds have integers full of ties, even ones reals; there are constant columns, duplicates, categories, missing
    values, targets with few values, and rows of weight 0. With ``exact`` all numbers are integers whose range is 4, so
    that distances have no rounding.
    """
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(8, 15)), int(rng.integers(2, 6))
    X = rng.integers(0, 5, size=(n, m)).astype(float) if seed % 2 or exact else rng.normal(size=(n, m))
    if exact:
        X[0], X[1] = 0.0, 4.0
    nominal = np.zeros(m, dtype=bool)
    if seed % 4 == 1:
        nominal[m - 1] = True
        X[:, m - 1] = rng.integers(0, 3, size=n)
    if seed % 3 == 0:
        X[:, 0] = 7.0
    if seed % 5 == 0:
        X[n // 2 :] = X[: n - n // 2]
    if seed % 4 >= 2:
        X[rng.random((n, m)) < 0.12] = np.nan
        X[0], X[1] = 0.0, 4.0
    y = X[:, -1] * 2 + rng.normal(size=n)
    y = np.where(np.isnan(y), rng.normal(size=n), y)
    if seed % 6 == 1:
        y = np.round(y)
    y[0] += 3
    weight = rng.integers(0, 4, size=n).astype(float) if seed % 7 < 3 else None
    if weight is not None:
        weight[0] = 1
    return X, y, nominal, weight
