"""Generated tables with ties, categories and missing values, coded as the estimators code them."""

import numpy as np
import pandas as pd


def generated(seed, *, n=40, n_queries=15, missing=0.0, categories=True):
    """A frame, labels, queries; and the same as coded arrays with the mask of nominal columns."""
    rng = np.random.default_rng(seed)
    total = n + n_queries
    frame = pd.DataFrame(
        {
            "small": rng.integers(0, 4, total).astype(float),
            "wide": rng.integers(-50, 50, total).astype(float),
            "quarters": rng.integers(0, 9, total) / 4,
            "constant": np.full(total, 7.0),
        }
    )
    if categories:
        frame["colour"] = pd.Categorical(rng.choice(["red", "green", "blue"], total))
    labels = rng.choice(["p", "q", "r"], total)
    labels[:3] = ["p", "q", "r"]
    holes = rng.random(frame.shape) < missing
    frame = frame.mask(holes)
    return Generated(frame, labels, n)


class Generated:
    def __init__(self, frame, labels, n):
        self.X, self.y, self.Q = frame.iloc[:n], labels[:n], frame.iloc[n:].reset_index(drop=True)
        self.nominal = [not pd.api.types.is_numeric_dtype(frame[name]) for name in frame]
        coded = frame.copy()
        for name in frame.columns[self.nominal]:
            # Categories are numbered by their first rows, which decide between tests that are equally good.
            codes = pd.Series(pd.factorize(frame[name])[0], index=frame.index, dtype=float)
            coded[name] = codes.where(codes >= 0)
        coded = coded.to_numpy(dtype=float)
        self.rows, self.queries = coded[:n], coded[n:]
