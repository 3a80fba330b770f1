"""Convert tables to integers for WIB-K, which takes integers only.

Columns of numbers that are not whole, or of many different integers, are cut into bins. An ordered category
becomes its rank, every other category becomes a code. The paper names this as future work.
`docs/guide/intervals.md` describes the decisions, and `docs/wibk.md` has measurements.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._names import require_text
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..._warnings import warn
from ...engine.references import ColumnRanges, column_ranges, integral
from ...exceptions import InvalidDataError, NoCutWarning
from ...tables.frames import as_pandas
from ...tables.validation import TableCoder
from ..rows import to_dense


def _entropy(counts: FloatArray) -> FloatArray:
    """Return the entropy, in bits, of each row of class counts. It is 0 for a row of zeros."""
    total = counts.sum(axis=1, keepdims=True)
    share = counts / np.maximum(total, np.finfo(np.float64).tiny)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    entropy: FloatArray = -(share * logs).sum(axis=1)
    return entropy


def _best_cut(below: FloatArray) -> int | None:
    """Return where to cut a segment: the number of distinct values below the cut. Return None if no cut is accepted.

    ``below[i]`` is the number of instances of each class among the first i distinct values. A cut is accepted by
    the criterion of Fayyad and Irani: gain > (log2(N − 1) + Δ) / N, with
    Δ = log2(3^k − 2) − (k·E − k1·E1 − k2·E2).
    """
    whole = below[-1:]
    N = float(whole.sum())
    left = below[1:-1]
    if N <= 1 or not len(left):
        return None
    right = whole - left
    # Entropies of all possible cuts at once: one row per cut.
    e_left, e_right, e = _entropy(left), _entropy(right), float(_entropy(whole)[0])
    after = (left.sum(axis=1) * e_left + right.sum(axis=1) * e_right) / N
    at = int(np.argmin(after))
    k, k1, k2 = (int((part > 0).sum()) for part in (whole[0], left[at], right[at]))
    # log2(3^k − 2), written so that 3^k does not overflow for many classes.
    delta = k * np.log2(3) + np.log2(1 - 2 / 3.0**k) - (k * e - k1 * e_left[at] - k2 * e_right[at])
    return at + 1 if e - after[at] > (np.log2(N - 1) + delta) / N else None


def mdlp_cuts(
    values: FloatArray, codes: IndexArray, n_classes: int, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Return the cuts of one feature by the minimum description length principle.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values of the feature, none of them missing.
    codes : ndarray of shape (n,)
        Class of each value.
    n_classes : int
    sample_weight : ndarray of shape (n,), optional
        Repetition weight of each value.

    Returns
    -------
    ndarray of shape (n_cuts,)
        Cuts in ascending order, each midway between two values. Empty if no cut is accepted.

    References
    ----------
    .. [1] U. M. Fayyad, K. B. Irani, "Multi-interval discretization of continuous-valued attributes for
       classification learning", IJCAI 1993, 1022-1027.

    Examples
    --------
    >>> mdlp_cuts(np.arange(40) / 2, np.repeat([0, 1], 20), 2)
    array([9.75])
    """
    distinct, at = np.unique(values, return_inverse=True)
    # One table of distinct values × classes. Its running sum gives the counts below every cut.
    counts = np.bincount(at * n_classes + codes, weights=sample_weight, minlength=len(distinct) * n_classes)
    below = np.concatenate([np.zeros((1, n_classes)), np.cumsum(counts.reshape(-1, n_classes), axis=0)])
    found, todo = [], [(0, len(distinct))]
    # A stack instead of recursion: a feature may be cut thousands of times.
    while todo:
        begin, end = todo.pop()
        cut = _best_cut(below[begin : end + 1] - below[begin])
        if cut is not None:
            found.append(begin + cut)
            todo += [(begin, begin + cut), (begin + cut, end)]
    first = np.sort(np.array(found, dtype=np.int64))  # position of the first value of each bin, without the lowest bin
    middle = distinct[first - 1] / 2 + distinct[first] / 2
    # The middle of two neighbouring floats may round to the lower one, which would then be in the wrong bin.
    cuts: FloatArray = np.where(middle > distinct[first - 1], middle, distinct[first])
    return cuts


def frequency_cuts(values: FloatArray, n_bins: int, sample_weight: FloatArray | None = None) -> FloatArray:
    """Return the cuts of one feature into bins with about equally many values (scikit-learn's quantile strategy).

    Examples
    --------
    >>> frequency_cuts(np.arange(8.0), 4)
    array([1.5, 3.5, 5.5])
    """
    from sklearn.preprocessing import KBinsDiscretizer

    if len(np.unique(values)) < 2:
        return np.zeros(0)
    options: dict[str, Any] = {"strategy": "quantile", "encode": "ordinal", "subsample": None}
    if "quantile_method" in inspect.signature(KBinsDiscretizer).parameters:
        options["quantile_method"] = "averaged_inverted_cdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there are fewer bins if values repeat
        binner = KBinsDiscretizer(n_bins, **options).fit(values[:, None], sample_weight=sample_weight)
    cuts: FloatArray = binner.bin_edges_[0][1:-1]
    return cuts


class Column(NamedTuple):
    """Values of a column that are not missing, with their classes and repetition weights."""

    values: FloatArray
    codes: IndexArray
    weight: FloatArray | None


@dataclass
class IntegerCoder:
    """Column coding that turns each column of a table into integers, as learned in fit.

    Parameters
    ----------
    discretize : {"mdlp", "frequency"} or None
        How to bin columns of numbers that are not whole, or of many different integers. None: numbers that
        are not whole are an error, and integers stay as they are.
    n_bins : int
        Number of bins per column for "frequency". With "mdlp" too, a column of at most ``n_bins`` different
        integers gets no bins.
    categorical_features
        As in `TableCoder`. An ordered category that was not in the table of fit counts as missing.
    """

    discretize: str | None = None
    n_bins: int = 10
    categorical_features: Any = "from_dtype"
    table: TableCoder = field(default_factory=TableCoder)
    ranks: dict[int, AnyArray] = field(default_factory=dict)  # ordered categories, lowest first
    cuts: dict[int, FloatArray] = field(default_factory=dict)
    ends: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    def open(self, estimator: Any, X: Any) -> Any:
        """Learn the columns of a training table. Return its rows as floats, with categories as codes or ranks."""
        self.table = TableCoder(self.categorical_features)
        X = as_pandas(X)
        self.ranks = _ordered(X, self.categorical_features)
        for j, order in self.ranks.items():
            require_text(order, f"column {str(X.columns[j])!a}: the category")
        return self.table.fit_transform(estimator, self._ranked(X))

    def learn(self, X: Any, codes: IndexArray, n_classes: int, sample_weight: FloatArray | None = None) -> None:
        """Learn the bins of the columns that need bins, from the rows that `open` returned.

        Columns of numbers that are not whole need bins. Columns with more than ``n_bins`` different integers
        get bins too, since bin numbers and large integers have no common scale.

        Raises
        ------
        InvalidDataError
            If a column has numbers that are not whole and ``discretize`` is None, or if a column has integers
            so large that the dtype cannot tell neighbouring integers apart.
        """
        numeric, measured = ~self.table.nominal, column_ranges(X)
        real = numeric & ~integral(X)
        wide = numeric & ~real & _spans(measured, self.n_bins)
        if self.discretize is not None and (real.any() or wide.any()):
            X = to_dense(X, "discretize")

        def column(j: int) -> Column:
            """Return the values of column ``j`` that are not missing, with classes and repetition weights."""
            # Missing values have no place in any bin.
            known = ~np.isnan(X[:, j])
            weight = None if sample_weight is None else sample_weight[known]
            return Column(X[known, j].astype(np.float64), codes[known], weight)

        self.learn_columns(measured, numeric, real, X.dtype, n_classes, column, lambda j: _broken(X, j))

    def learn_columns(
        self,
        measured: ColumnRanges,
        numeric: BoolArray,
        real: BoolArray,
        dtype: Any,
        n_classes: int,
        column: Callable[[int], Column],
        example: Callable[[int], tuple[float, int]],
    ) -> None:
        """Learn bins as `learn` does, for columns that are not all in memory.

        Parameters
        ----------
        measured : ColumnRanges
            Column ranges.
        numeric, real : bool ndarrays of shape (M,)
            Which columns hold numbers, and which of these have numbers that are not whole.
        dtype : dtype of the rows
        n_classes : int
        column : function
            Takes the number of a column and returns its values that are not missing.
        example : function
            Takes the number of a column and returns a number in it that is not whole, and its row.
        """
        self.cuts, self.ends = {}, {}
        low, high, _ = measured
        if self.discretize is None:
            if real.any():
                self._refuse_real(int(np.argmax(real)), int(real.sum()), example)
            self._refuse_large(low, high, np.flatnonzero(numeric), dtype)
            return
        # A column with a small range cannot have many different integers, so its values need not be counted.
        wide = np.flatnonzero(numeric & ~real & _spans(measured, self.n_bins))
        many = [j for j in wide.tolist() if len(np.unique(column(j).values)) > self.n_bins]
        binned = np.sort(np.concatenate([np.flatnonzero(real), np.array(many, dtype=np.int64)]))
        self._learn_bins(binned, n_classes, column, self.discretize)
        left = np.setdiff1d(np.flatnonzero(numeric), binned)
        self._refuse_large(low, high, left, dtype)
        # If neither bins nor other columns tell any rows apart, there would be nothing to weigh.
        varied = (high > low)[left].any() or not numeric.all() or any(map(len, self.cuts.values()))
        if len(binned) and self.discretize == "mdlp" and not varied:
            warn(
                "MDLP accepts no cut in any column; bins of equal frequency are used instead",
                NoCutWarning,
            )
            self._learn_bins(binned, n_classes, column, "frequency")

    def _learn_bins(self, columns: IndexArray, n_classes: int, column: Callable[[int], Column], how: str) -> None:
        """Learn the cuts of some columns, and the smallest and largest value in each of their bins.

        Parameters
        ----------
        columns : ndarray of int
            Numbers of the columns.
        n_classes : int
        column : function
            Takes the number of a column and returns its values that are not missing.
        how : {"mdlp", "frequency"}
            How to find the cuts.
        """
        for j in columns.tolist():
            values, codes, weight = column(j)
            if how == "mdlp":
                cuts = mdlp_cuts(values, codes, n_classes, weight)
            else:
                cuts = frequency_cuts(values, self.n_bins, weight)
            bins = np.searchsorted(cuts, values, side="right")
            least, largest = np.full(len(cuts) + 1, np.inf), np.full(len(cuts) + 1, -np.inf)
            # Several values fall into the same bin, so they are compared one by one.
            np.minimum.at(least, bins, values)
            np.maximum.at(largest, bins, values)
            self.cuts[j], self.ends[j] = cuts, (least, largest)

    def integers(self, X: Any) -> Any:
        """Return the rows with bin numbers in the columns that have bins. Missing values stay missing."""
        if not self.cuts:
            return X
        out: FloatArray = X.toarray() if sparse.issparse(X) else X.copy()
        for j, cuts in self.cuts.items():
            bins = np.searchsorted(cuts, out[:, j], side="right")
            out[:, j] = np.where(np.isnan(out[:, j]), np.nan, bins)
        return out

    def transform(self, estimator: Any, X: Any) -> Any:
        """Return new rows as integers, with the column coding learned in fit."""
        return self.integers(self.coded(estimator, X))

    def coded(self, estimator: Any, X: Any) -> Any:
        """Return new rows with the column coding learned in fit, before values are replaced by bin numbers."""
        return self.table.transform(estimator, self._ranked(as_pandas(X)))

    def extend(self, estimator: Any, X: Any) -> Any:
        """Return further training rows, coded as by `open`. New categories get the next codes."""
        return self.table.extend(estimator, self._ranked(as_pandas(X)))

    def check_whole(self, X: Any) -> None:
        """Raise an error if further rows have numbers that are not whole in a column without bins."""
        real = np.flatnonzero(~self.table.nominal & ~integral(X))
        strange = [j for j in real.tolist() if j not in self.cuts]
        if strange:
            self._refuse_real(strange[0], len(strange), lambda j: _broken(X, j))

    def label_values(self, j: int, integers: IndexArray, *, upper: bool) -> AnyArray:
        """Return the values of the table for ``integers`` of column ``j``: numbers, categories, or ends of bins.

        For bins, ``upper`` selects the largest value of the bin instead of the smallest.
        """
        if j in self.ends:
            return self.ends[j][upper][integers]
        labels = self.ranks.get(j, self.table.categories.get(j))
        return integers if labels is None else labels[integers]

    def _ranked(self, X: Any) -> Any:
        """Return the table with ordered categories replaced by their ranks."""
        if not self.ranks or not hasattr(X, "iloc") or X.shape[1] <= max(self.ranks):
            return X
        import pandas as pd

        ranked = X.copy(deep=False)
        for j, order in self.ranks.items():
            values = pd.Index(X.iloc[:, j].astype(object), dtype=object)
            rank = pd.Index(order, dtype=object).get_indexer(values).astype(np.float64)
            # An ordered category that fit has not seen has no rank, and counts as missing.
            ranked.isetitem(j, np.where(rank < 0, np.nan, rank))
        return ranked

    def _name(self, j: int) -> str:
        """Return the name of column ``j`` for messages, or its number if columns have no names."""
        return f"'{self.table.names[j]}'" if self.table.names else str(j)

    def _refuse_real(self, j: int, count: int, example: Callable[[int], tuple[float, int]]) -> None:
        """Raise an error because column ``j`` holds numbers that are not whole.

        ``count`` is the number of columns with this problem. ``example`` is as in `learn_columns`.
        """
        value, row = example(j)
        others = f" (and {count - 1} more columns)" if count > 1 else ""
        raise InvalidDataError(
            f"column {self._name(j)}{others} holds numbers that are not integers ({value:g} in row {row}), and "
            "representative intervals are runs of consecutive integers. Use discretize='mdlp' or 'frequency', or bin "
            "the column first (sklearn.preprocessing.KBinsDiscretizer)"
        )

    def _refuse_large(self, low: FloatArray, high: FloatArray, columns: IndexArray, dtype: Any) -> None:
        """Raise an error if ``columns`` hold integers so large that ``dtype`` cannot tell neighbours apart.

        ``low`` and ``high`` are the smallest and largest value of every column of the table.
        """
        digits = np.finfo(dtype).nmant + 1
        largest = np.maximum(np.abs(low), np.abs(high))[columns]
        if (largest >= 2.0**digits).any():
            at = int(np.argmax(largest))
            raise InvalidDataError(
                f"column {self._name(int(columns[at]))} holds integers up to {largest[at]:.17g}; from 2^{digits} on "
                f"{dtype} cannot tell neighbouring integers apart. Subtract an offset, or name the column in "
                "categorical_features"
            )


def _spans(measured: ColumnRanges, least: int) -> BoolArray:
    """Return which columns have a range of at least ``least``. A range that overflows counts as larger."""
    with np.errstate(over="ignore"):
        wide: BoolArray = measured.high - measured.low >= least
    return wide


def _broken(X: Any, j: int) -> tuple[float, int]:
    """Return the first number of column ``j`` that is not whole, and its row."""
    values = X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]
    row = int(np.flatnonzero((values != np.rint(values)) & ~np.isnan(values))[0])
    return float(values[row]), row


def _ordered(X: Any, categorical_features: Any) -> dict[int, AnyArray]:
    """Return the columns of ordered categories, each with its categories in order.

    Return no columns unless ``categorical_features`` is "from_dtype" and ``X`` is a DataFrame.
    """
    import pandas as pd

    by_type = isinstance(categorical_features, str) and categorical_features == "from_dtype"
    if not by_type or not hasattr(X, "iloc") or not hasattr(X, "dtypes"):
        return {}
    return {
        j: np.asarray(dtype.categories, dtype=object)
        for j, dtype in enumerate(X.dtypes)
        if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered
    }
