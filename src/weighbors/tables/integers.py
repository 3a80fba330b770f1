"""Refuse integers that floats would round: beyond 2⁵³ two different integers can become the same float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import AnyArray, BoolArray
from ..exceptions import InvalidDataError
from .frames import is_frame

EXACT = 2**53  #: Up to this number, every integer is a float64.


def refuse_rounded_integers(X: Any, rows: Any, nominal: BoolArray, names: list[str]) -> None:
    """Raise InvalidDataError if an integer of ``X`` is not the float that stands for it in ``rows``.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n, M)
        The table as it was given.
    rows : ndarray or CSR of shape (n, M)
        The same table as floats.
    nominal : bool ndarray of shape (M,)
        Columns of categories, whose floats are codes.
    names : list of str
        Names of the columns, or an empty list.
    """
    if sparse.issparse(X):
        if X.dtype.kind in "iu":
            _compare(X.tocsr().data, rows.data, "the sparse matrix")
        return
    for j in _candidates(X, rows, nominal):
        given = X.iloc[:, j] if is_frame(X) else np.asarray(X, dtype=object)[:, j]
        _compare(np.asarray(given, dtype=object), rows[:, j], f"column {names[j]!r}" if names else f"column {j}")


def _candidates(X: Any, rows: AnyArray, nominal: BoolArray) -> list[int]:
    """Return the columns that may hold integers beyond `EXACT`. Columns of floats are exact."""
    if is_frame(X):
        whole = np.array([getattr(dtype, "kind", "O") != "f" for dtype in X.dtypes])
    else:
        whole = np.full(rows.shape[1], getattr(getattr(X, "dtype", None), "kind", "O") in "iuO")
    columns = np.flatnonzero(whole & ~nominal)
    if not len(columns):
        return []
    some = rows if len(columns) == rows.shape[1] else rows[:, columns]
    # Comparisons with NaN are False, as they should be.
    large = (some >= EXACT).any(axis=0) | (some <= -EXACT).any(axis=0)
    return columns[large].tolist()


def _compare(given: AnyArray, floats: AnyArray, where: str) -> None:
    """Raise InvalidDataError if an integer of ``given`` differs from its float. ``where`` names the column."""
    found = find_rounded(given, floats)
    if found is not None:
        raise InvalidDataError(
            f"{where} holds {found[0]}, an integer beyond 2**53, which float64 rounds to {found[1]}: different "
            "values would count as equal. If they are identifiers, drop the column or name it in "
            "categorical_features; if they are numbers, subtract the smallest first"
        )


def find_rounded(given: AnyArray, floats: AnyArray) -> tuple[int, int] | None:
    """Return the first integer of ``given`` that differs from its float, and that float, or None if all are exact."""
    for at in np.flatnonzero(np.abs(floats) >= EXACT):
        value = given[at]
        if isinstance(value, (int, np.integer)) and int(value) != int(floats[at]):
            return int(value), int(floats[at])
    return None
