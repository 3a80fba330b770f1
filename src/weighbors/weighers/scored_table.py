"""F-statistics of parts of a table that is checked and coded once, for selections with thousands of fits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import f_classif, f_regression

from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import WeighborsWarning
from ..tables.validation import TableCoder
from .f_scores import f_of_classes, f_of_numbers, moderated_f
from .score import ScoreWeigher, finite_scores

_MOST_BYTES = 2**28  # of the numbers and indicators of a table


@dataclass(frozen=True)
class ScoredTable:
    """Numbers and indicators of categories, of which F-statistics are computed for any rows.

    Small tables take most of the time of a fit for checks and for the coding of categories.

    Attributes
    ----------
    columns : ndarray of shape (n_samples, n_columns)
        The columns of numbers, and then, for each feature that holds categories, one column for each category: 1 where
        a row has it and 0 where not. NaN where a value is missing.
    numbers : ndarray of int
        The features that are numbers.
    indicators : dict of int to slice
        For each feature that holds categories, the columns of its categories.
    numeric : bool
        Whether the target is a number. Otherwise it is classes.
    offset : float or None
        Parameter of the `ScoreWeigher`.
    """

    columns: FloatArray
    numbers: IndexArray
    indicators: dict[int, slice]
    numeric: bool
    offset: float | None

    @classmethod
    def of(cls, weigher: Any, X: Any, *, numeric: bool) -> ScoredTable | None:
        """Return a table for the scores of ``weigher``, or None if its fits compute something else.

        ``X`` is a table that has been checked. ``numeric`` tells whether the target is a number.
        """
        expected, statistic = ("numeric", f_regression) if numeric else ("classes", f_classif)
        if type(weigher) is not ScoreWeigher or weigher.target_type not in ("auto", expected):
            return None
        if weigher.score_func not in (None, statistic) or weigher.offset == "auto" or sparse.issparse(X):
            return None
        coder = TableCoder(weigher.categorical_features)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeighborsWarning)  # whoever has checked the table has warned already
            rows = coder.fit_transform(clone(weigher), X)
        nominal = coder.nominal
        kinds = {j: np.unique(rows[~np.isnan(rows[:, j]), j]) for j in np.flatnonzero(nominal).tolist()}
        numbers = np.flatnonzero(~nominal)
        width = len(numbers) + sum(len(kind) for kind in kinds.values())
        if 8 * len(rows) * width > _MOST_BYTES or (nominal.any() and weigher.offset is not None):
            return None
        columns, indicators, begin = [rows[:, numbers]], {}, len(numbers)
        for j, kind in kinds.items():
            column = rows[:, j, None]
            columns.append(np.where(np.isnan(column), np.nan, column == kind))
            indicators[j] = slice(begin, begin + len(kind))
            begin += len(kind)
        offset = None if weigher.offset is None else float(weigher.offset)
        return cls(np.concatenate(columns, axis=1), numbers, indicators, numeric, offset)

    def score(self, rows: IndexArray, y: AnyArray) -> FloatArray:
        """Return the weights that a fit to these rows, with their targets ``y``, would find, up to rounding."""
        part = self.columns[rows]
        if self.offset is not None:
            return finite_scores(moderated_f(part, y, numeric=self.numeric, quantile=self.offset))
        f = f_of_numbers(part, y) if self.numeric else f_of_classes(part, y)
        found = np.zeros(len(self.numbers) + len(self.indicators))
        found[self.numbers] = finite_scores(f[: len(self.numbers)])
        for j, columns in self.indicators.items():
            found[j] = finite_scores(f[columns]).max(initial=0.0)
        return found
