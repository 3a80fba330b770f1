"""Warn if columns are so differently wide that the widest one decides nearly all distances."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._names import quote_name
from .._typing import BoolArray
from .._warnings import warn
from ..exceptions import UnscaledColumnsWarning

MOST_RATIO = 100.0  # column ranges may differ by this factor
_CHECKED: ContextVar[bool] = ContextVar("columns_checked", default=False)


@contextmanager
def columns_checked() -> Iterator[None]:
    """Give no warning inside: the estimator that fits another one to the same columns has checked them already."""
    token = _CHECKED.set(True)
    try:
        yield
    finally:
        _CHECKED.reset(token)


def warn_unscaled(estimator: Any, rows: Any, nominal: BoolArray, names: list[str]) -> None:
    """Warn if the ranges of the columns differ by more than a hundredfold, and say what to write.

    Nothing happens if the estimator does not need scaled columns, or was given weights, which can scale columns too.

    Parameters
    ----------
    estimator : estimator
        It needs scaled columns if its attribute ``_needs_scaled_columns`` is true.
    rows : ndarray of shape (n, m), or sparse matrix
        Coded rows. Sparse ones are not checked, since their columns are counts or shares of one kind.
    nominal : ndarray of shape (m,)
        Which columns are categories, whose values differ by 1.
    names : list of str
        Names of the columns, or empty.
    """
    given = getattr(getattr(estimator, "weigher", None), "feature_weights", None) is not None
    if _CHECKED.get() or given or not getattr(estimator, "_needs_scaled_columns", False):
        return
    if not isinstance(rows, np.ndarray) or len(rows) < 2:
        return
    with np.errstate(over="ignore"):
        span = (np.fmax.reduce(rows, axis=0) - np.fmin.reduce(rows, axis=0)).astype(np.float64)
    span[nominal] = 1.0
    span = np.where(span > 0, span, np.nan)  # constant and empty columns do not count
    if np.isnan(span).all():
        return
    wide, narrow = int(np.nanargmax(span)), int(np.nanargmin(span))
    if not span[wide] / MOST_RATIO > span[narrow]:
        return
    called = [quote_name(names[j]) if names else f"number {j}" for j in (wide, narrow)]
    kind = type(estimator).__name__
    table = "TableRegressor" if kind.endswith("Regressor") else "TableClassifier"
    inside = f"{table}({kind}(...))" if hasattr(estimator, "predict") else f"{table}(..., scale='standard')"
    warn(
        f"{kind}: column {called[0]} has a range of {span[wide]:.3g} and column {called[1]} of {span[narrow]:.3g}, so "
        f"that wide columns decide nearly all distances. Scale them: {inside}, or "
        f"make_pipeline(StandardScaler(), {kind}(...))",
        UnscaledColumnsWarning,
    )
