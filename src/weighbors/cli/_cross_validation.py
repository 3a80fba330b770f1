"""The cross-validated score of a model of a table, with an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

    from .._typing import AnyArray, FloatArray

_RESAMPLES = 2000


class CrossValidated(NamedTuple):
    """A score on rows that the model did not use in training, with its 95 % interval."""

    metric: str  # "accuracy" or "r2"
    score: float
    low: float
    high: float
    folds: int
    rows: int

    def __str__(self) -> str:
        name = "accuracy" if self.metric == "accuracy" else "R²"
        return (
            f"cross-validated {name} {self.score:.3f}, 95% interval {self.low:.3f} to {self.high:.3f} "
            f"({self.folds} folds, {self.rows} rows)"
        )


def cross_validate(model: Any, X: pd.DataFrame, y: pd.Series, folds: int, seed: int, *, numeric: bool) -> Any:
    """Predict every row by a model that was fitted without its fold, and return the score as `CrossValidated`.

    In each training part, columns are cleaned, scaled and weighted again. The interval describes how much the score
    depends on the predicted rows. For the share of correct labels it is Wilson's interval. For R² it comes from rows
    that are drawn with replacement. It does not include the variation from other training rows.

    Parameters
    ----------
    model : unfitted estimator
    X : DataFrame
    y : Series
    folds : int
        Lowered to the number of rows of the largest class.
    seed : int
    numeric : bool

    Raises
    ------
    InvalidDataError
        If there are too few rows, or if the model cannot be fitted to a training part.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    folds = min(folds, len(y) if numeric else int(y.value_counts().max()))
    if folds < 2:
        raise InvalidDataError("there are too few rows")
    kind = KFold if numeric else StratifiedKFold
    target = y.to_numpy()
    found = np.empty(len(y), dtype=np.float64 if numeric else object)
    for train, test in kind(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), target):
        found[test] = clone(model).fit(X.iloc[train], y.iloc[train]).predict(X.iloc[test])
    if numeric:
        return CrossValidated("r2", *_r2_interval(target.astype(np.float64), found, seed), folds, len(y))
    right = int((found == target).sum())
    return CrossValidated("accuracy", right / len(y), *_wilson_interval(right, len(y)), folds, len(y))


def _wilson_interval(right: int, n: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a share."""
    from scipy.stats import binomtest

    interval = binomtest(right, n).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)


def _r2_interval(truth: FloatArray, found: FloatArray, seed: int) -> tuple[float, float, float]:
    """Return R², and the percentiles 2.5 and 97.5 of R² over rows drawn with replacement."""
    import numpy as np

    def r2(rows: AnyArray) -> float:
        part = truth[rows]
        total = float(np.square(part - part.mean()).sum())
        return 1 - float(np.square(part - found[rows]).sum()) / total if total > 0 else np.nan

    rng, n = np.random.default_rng(seed), len(truth)
    drawn = [r2(rng.integers(0, n, n)) for _ in range(_RESAMPLES)]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return r2(np.arange(n)), float(low), float(high)
