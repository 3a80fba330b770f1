"""The data of a report: coded rows, targets and names. This module also validates, codes and scales them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from .._names import require_text, unique_names
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables import clean_table
from ..tables.cleaning import find_identifier
from ..tables.frames import as_pandas
from ..tables.groups import check_groups
from ..tables.labels import require_labels
from ..tables.ranges import scale_columns
from ..tables.targets import Target, check_target
from ..tables.validation import TableCoder

MOST_CLASSES = 100
#: With fewer rows, R² of a fold would rest on one or two rows.
LEAST_ROWS = 10
#: A column of integers with at most this many different values counts as discrete.
FEW_VALUES = 20


@dataclass(frozen=True)
class ReportData:
    """Coded rows with their labels, or a numeric target, and the names of rows, columns and classes.

    Attributes
    ----------
    rows : ndarray of shape (n, M)
        Numbers unchanged, categories as codes, missing values as NaN.
    nominal : bool ndarray of shape (M,)
        Which columns are categorical.
    codes : int ndarray of shape (n,)
        Class number of each row. For a numeric target all are 0.
    classes : ndarray of shape (K,)
        Empty for a numeric target.
    names : tuple of str
        Names of the columns, all different.
    row_labels : ndarray of shape (n,)
        Names of the rows.
    categories : dict of column to Index
        Categories of each categorical column, by column number.
    groups : ndarray of shape (n,) or None
        Group of each row. Rows of one group stay together in folds.
    numbers : ndarray of shape (n,) or None
        The numeric target. None for classes.
    """

    rows: FloatArray
    nominal: BoolArray
    codes: IndexArray
    classes: AnyArray
    names: tuple[str, ...]
    row_labels: AnyArray
    categories: dict[int, Any]
    groups: AnyArray | None = None
    numbers: FloatArray | None = None

    @property
    def numeric(self) -> bool:
        """Whether the target is a number."""
        return self.numbers is not None

    @property
    def y(self) -> AnyArray:
        """The target as weighers take it: class numbers, or the numeric target."""
        return self.codes if self.numbers is None else self.numbers

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def categorical_features(self) -> list[int] | None:
        """Numbers of the categorical columns, or None if there are none, in the form that estimators accept."""
        return np.flatnonzero(self.nominal).tolist() or None

    @cached_property
    def counts(self) -> IndexArray:
        """Number of rows of each class. It is empty for a numeric target."""
        return np.bincount(self.codes, minlength=len(self.classes))[: len(self.classes)]

    @cached_property
    def scaled(self) -> FloatArray:
        """All rows, with numbers scaled to the range 0 to 1."""
        return range_scaled(self.rows, self.nominal)[0]

    def take(self, rows: IndexArray) -> ReportData:
        """Return a table with the given rows only. The list of classes is not changed."""
        groups, numbers = (None if part is None else part[rows] for part in (self.groups, self.numbers))
        return replace(
            self,
            rows=self.rows[rows],
            codes=self.codes[rows],
            row_labels=self.row_labels[rows],
            groups=groups,
            numbers=numbers,
        )

    def discrete(self) -> IndexArray:
        """Return the numbers of the columns that contain categories, or at most `FEW_VALUES` different integers."""
        found = []
        for j in range(self.n_features):
            values = self.rows[:, j]
            values = values[~np.isnan(values)]
            # Larger floats cannot be told apart from neighbouring integers.
            whole = bool(((values == np.rint(values)) & (np.abs(values) < 2.0**53)).all())
            if len(values) and (self.nominal[j] or (whole and len(np.unique(values)) <= FEW_VALUES)):
                found.append(j)
        return np.array(found, dtype=np.int64)

    def frame(self, columns: IndexArray) -> pd.DataFrame:
        """Return the given columns as a DataFrame, with categories instead of codes."""
        parts: dict[str, Any] = {}
        for j in columns.tolist():
            values = self.rows[:, j]
            if self.nominal[j]:
                labels = np.array([*map(_scalar, self.categories[j]), None], dtype=object)
                # A missing value takes the last label, which is None.
                place = np.where(np.isnan(values), len(labels) - 1, values).astype(np.int64)
                parts[self.names[j]] = pd.Series(labels[place], dtype=object).astype("category")
            else:
                parts[self.names[j]] = values
        return pd.DataFrame(parts)


def _scalar(label: Any) -> Any:
    """Return a category unchanged if it is a number or text. Other categories, such as tuples, become text."""
    return label if isinstance(label, (str, int, float, np.generic)) else str(label)


def range_scaled(rows: FloatArray, nominal: BoolArray, *others: FloatArray) -> list[FloatArray]:
    """Return ``rows`` and each table in ``others``, with numbers min-max scaled by the column ranges of ``rows``.

    Codes of categories are not changed. Scaled numbers in ``others`` may be below 0 or above 1. A numeric column that
    has no value or only one value in ``rows`` becomes 0.

    Examples
    --------
    >>> range_scaled(np.array([[1.0, 7.0], [3.0, 8.0]]), np.array([False, True]), np.array([[4.0, 9.0]]))
    [array([[0., 7.],
           [1., 8.]]), array([[1.5, 9. ]])]
    """
    known = ~np.isnan(rows)
    # np.nanmin would warn of columns without any value.
    low = np.where(known, rows, np.inf).min(axis=0)
    span = np.where(known, rows, -np.inf).max(axis=0) - low
    low = np.where(nominal, 0.0, np.where(np.isfinite(low), low, 0.0))
    span = np.where(nominal, 1.0, span)
    return [scale_columns(part, low, span) for part in (rows, *others)]


def clean_report_table(X: Any, *, keep: Iterable[str] = (), drop: Iterable[str] = ()) -> tuple[Any, Any, list[str]]:
    """Leave out columns of a frame that cannot help, as `clean_table` does. Other tables are not changed.

    Return the table, the names of the rows by an identifier column that was left out (or None), and what was changed.
    ``keep`` and ``drop`` are those of `clean_table`.
    """
    X = X if hasattr(X, "toarray") else as_pandas(X)
    if not isinstance(X, pd.DataFrame):
        if keep or drop:
            raise InvalidDataError("keep and drop name columns, so they need a DataFrame; got a table without names")
        return X, None, []
    X = X.set_axis(pd.Index(unique_names([str(name) for name in X.columns])[0], dtype=object), axis=1)
    clean = clean_table(X, keep=keep, drop=drop)
    identifier = find_identifier(X, clean.left_out)
    names = None if identifier is None else X[identifier].astype(str).to_numpy()
    return clean.X, names, [*map(str, clean.left_out), *clean.notes]


def prepare_report_data(
    X: Any, y: Any, *, row_labels: Any = None, groups: Any = None, target_type: str = "classes"
) -> ReportData:
    """Validate and code a table with its target.

    ``target_type`` is "auto", "classes" or "numeric".

    Raises
    ------
    InvalidDataError
        If a numeric target has missing or infinite values, is constant or has too few rows. If there are fewer than two
        classes with at least two rows, or too many classes. Also if ``row_labels`` or ``groups`` do not fit the rows.
    """
    require_labels(BaseEstimator(), y)
    X = X.toarray() if hasattr(X, "toarray") else as_pandas(X)
    framed = isinstance(X, pd.DataFrame)
    if framed:
        X = X.set_axis(pd.Index(unique_names([str(name) for name in X.columns])[0], dtype=object), axis=1)
    coder = TableCoder()
    rows = coder.fit_transform(BaseEstimator(), X)
    target = check_target(y, target_type)
    codes = target.codes
    check_consistent_length(rows, codes)
    _check_target(target)
    labels = X.index if framed and row_labels is None else row_labels
    row_names = np.array([str(i) for i in (range(len(codes)) if labels is None else labels)], dtype=object)
    require_text(row_names, "row label")
    for name, values in (("row_labels", row_names), ("groups", groups)):
        if hasattr(values, "__len__") and len(values) != len(codes):
            raise InvalidDataError(f"{name} needs one entry per row ({len(codes)}); got {len(values)}")
    part = None if groups is None else check_groups(groups, len(codes))
    _check_groups(part, target)
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    names = tuple(coder.names or [f"x{j}" for j in range(rows.shape[1])])
    nominal = coder.nominal.copy()
    categories = dict(coder.categories)
    return ReportData(rows, nominal, codes, target.classes, names, row_names, categories, part, target.numbers)


def _check_target(target: Target) -> None:
    """Raise `InvalidDataError` if the classes, or the rows of a numeric target, are too few or too many."""
    if target.numbers is None:
        _check_classes(target.classes, np.bincount(target.codes))
    elif len(target.numbers) < LEAST_ROWS:
        raise InvalidDataError(
            f"a report on a numeric target needs at least {LEAST_ROWS} rows, to learn from some and test on others; "
            f"got {len(target.numbers)}"
        )


def _check_classes(classes: AnyArray, counts: IndexArray) -> None:
    """Raise `InvalidDataError` if fewer than two classes have at least two rows, or if there are too many classes.

    ``counts`` are the numbers of rows of the classes.
    """
    if (counts >= 2).sum() < 2:
        counted = ", ".join(
            f"{label}: {count}" for label, count in zip(classes.tolist()[:5], counts.tolist(), strict=False)
        )
        raise InvalidDataError(
            f"a report needs at least 2 rows in each of at least 2 classes, to learn from one and test on the other; "
            f"got {counted}"
        )
    if len(classes) > MOST_CLASSES:
        raise InvalidDataError(
            f"the target has {len(classes)} different values, and a report takes at most {MOST_CLASSES} classes. "
            "Is it a number to predict, or an identifier? Write target_type='numeric' (--target-type numeric) for a "
            "number, choose another column, or join values into classes"
        )


def _check_groups(groups: AnyArray | None, target: Target) -> None:
    """Raise `InvalidDataError` if there are fewer than two groups, or fewer than two classes that are in two groups."""
    if groups is None:
        return
    codes = target.codes
    if target.numbers is not None and len(np.unique(groups)) < 2:
        raise InvalidDataError("with groups, at least 2 are needed, to learn from one and test on the other; got 1")
    if target.numbers is not None:
        return
    parts = [len(np.unique(groups[codes == c])) for c in np.unique(codes)]
    if sum(part >= 2 for part in parts) < 2:
        raise InvalidDataError(
            "with groups, at least 2 classes must each be in at least 2 groups, to learn from one and test on the "
            f"other; the classes are in {parts[:5]} groups"
        )
