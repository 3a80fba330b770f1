"""The table of a report: coded once, scaled within folds, rows drawn where there are too many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from .._names import require_text
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import TableCoder, check_labels, require_labels
from ..datasets._text import unique_names
from ..exceptions import InvalidDataError

__all__ = ["Table", "open_report_table", "range_scaled"]

MOST_CLASSES = 100
#: A column of at most so many different integers counts as discrete.
FEW_VALUES = 20


@dataclass(frozen=True)
class Table:
    """Coded rows with their labels and the names of everything.

    Attributes
    ----------
    rows : ndarray of shape (n, M)
        Numbers as they are, categories as codes, NaN for missing.
    nominal : bool ndarray of shape (M,)
    codes : int ndarray of shape (n,)
        Class of each row.
    classes : ndarray of shape (K,)
    names : tuple of str
        One per column, all different.
    row_labels : ndarray of shape (n,)
        What the rows are called.
    categories : dict of column to Index
    groups : ndarray of shape (n,) or None
    """

    rows: FloatArray
    nominal: BoolArray
    codes: IndexArray
    classes: AnyArray
    names: tuple[str, ...]
    row_labels: AnyArray
    categories: dict[int, Any]
    groups: AnyArray | None = None

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Columns."""
        return len(self.names)

    @property
    def categorical_features(self) -> list[int] | None:
        """Columns of categories, as estimators take them."""
        return np.flatnonzero(self.nominal).tolist() or None

    @cached_property
    def counts(self) -> IndexArray:
        """Rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @cached_property
    def scaled(self) -> FloatArray:
        """All rows, numbers between 0 and 1."""
        return range_scaled(self.rows, self.nominal)[0]

    def take(self, rows: IndexArray) -> Table:
        """Some of the rows; classes stay as they are."""
        groups = None if self.groups is None else self.groups[rows]
        return replace(
            self, rows=self.rows[rows], codes=self.codes[rows], row_labels=self.row_labels[rows], groups=groups
        )

    def discrete(self) -> IndexArray:
        """Columns of categories, or of few different integers."""
        found = []
        for j in range(self.n_features):
            values = self.rows[:, j]
            values = values[~np.isnan(values)]
            whole = bool(((values == np.rint(values)) & (np.abs(values) < 2.0**53)).all())
            if len(values) and (self.nominal[j] or (whole and len(np.unique(values)) <= FEW_VALUES)):
                found.append(j)
        return np.array(found, dtype=np.int64)

    def frame(self, columns: IndexArray) -> pd.DataFrame:
        """Columns as they came: categories, not codes."""
        parts: dict[str, Any] = {}
        for j in columns.tolist():
            values = self.rows[:, j]
            if self.nominal[j]:
                labels = np.array([*map(_scalar, self.categories[j]), None], dtype=object)
                place = np.where(np.isnan(values), len(labels) - 1, values).astype(np.int64)
                parts[self.names[j]] = pd.Series(labels[place], dtype=object).astype("category")
            else:
                parts[self.names[j]] = values
        return pd.DataFrame(parts)


def _scalar(label: Any) -> Any:
    """A category as it is, or as text where it is no number or text, such as a tuple."""
    return label if isinstance(label, (str, int, float, np.generic)) else str(label)


def range_scaled(rows: FloatArray, nominal: BoolArray, *others: FloatArray) -> list[FloatArray]:
    """Rows, and others by the same rule, with numbers divided by the range they have in ``rows``.

    Codes of categories stay. A number of ``others`` may lie beyond 0 and 1. A column without values,
    or with one, becomes 0.

    Examples
    --------
    >>> range_scaled(np.array([[1.0, 7.0], [3.0, 8.0]]), np.array([False, True]), np.array([[4.0, 9.0]]))
    [array([[0., 7.],
           [1., 8.]]), array([[1.5, 9. ]])]
    """
    known = ~np.isnan(rows)
    low = np.where(known, rows, np.inf).min(axis=0)
    span = np.where(known, rows, -np.inf).max(axis=0) - low
    fixed = nominal | ~(span > 0)
    low = np.where(nominal, 0.0, np.where(np.isfinite(low), low, 0.0))
    span = np.where(fixed, 1.0, span)
    return [(part - low) / span for part in (rows, *others)]


def open_report_table(X: Any, y: Any, *, row_labels: Any = None, groups: Any = None) -> Table:
    """Check and code a table with its labels.

    Raises
    ------
    InvalidDataError
        Where there are not two classes of two rows, or too many classes.
    """
    require_labels(BaseEstimator(), y)
    X = X.toarray() if hasattr(X, "toarray") else X
    framed = isinstance(X, pd.DataFrame)
    if framed:
        X = X.set_axis(pd.Index(unique_names([str(name) for name in X.columns])[0], dtype=object), axis=1)
    coder = TableCoder()
    rows = coder.fit_transform(BaseEstimator(), X)
    classes, codes = check_labels(y)
    check_consistent_length(rows, codes)
    _check_classes(classes, np.bincount(codes))
    labels = X.index if framed and row_labels is None else row_labels
    told = np.array([str(i) for i in (range(len(codes)) if labels is None else labels)], dtype=object)
    require_text(told, "row label")
    part = None if groups is None else np.asarray(groups)
    for name, values in (("row_labels", told), ("groups", part)):
        if values is not None and len(values) != len(codes):
            raise InvalidDataError(f"{name} needs one entry per row ({len(codes)}); got {len(values)}")
    _check_groups(part, codes)
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    names = tuple(coder.names or [f"x{j}" for j in range(rows.shape[1])])
    nominal = coder.nominal_of(rows).copy()
    return Table(rows, nominal, codes, classes, names, told, dict(coder.categories), part)


def _check_classes(classes: AnyArray, counts: IndexArray) -> None:
    if (counts >= 2).sum() < 2:
        told = ", ".join(
            f"{label}: {count}" for label, count in zip(classes.tolist()[:5], counts.tolist(), strict=False)
        )
        raise InvalidDataError(
            f"a report needs at least 2 rows in each of at least 2 classes, to learn from one and test on the other; "
            f"got {told}"
        )
    if len(classes) > MOST_CLASSES:
        raise InvalidDataError(
            f"the target has {len(classes)} different values, and a report takes at most {MOST_CLASSES} classes. "
            "Is it a number to predict, or an identifier? Choose another column, or join values into classes"
        )


def _check_groups(groups: AnyArray | None, codes: IndexArray) -> None:
    """Refuse groups that cannot be parted so that both parts hold two classes."""
    if groups is None:
        return
    parts = [len(np.unique(groups[codes == c])) for c in np.unique(codes)]
    if sum(part >= 2 for part in parts) < 2:
        raise InvalidDataError(
            "with groups, at least 2 classes must each be in at least 2 groups, to learn from one and test on the "
            f"other; the classes are in {parts[:5]} groups"
        )
