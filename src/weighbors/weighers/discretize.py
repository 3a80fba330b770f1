"""Tables to integers: what WIB-K, which knows integers only, makes of other features.

Numbers that are not whole, or many, fall into bins, ordered categories become their rank, other
categories a code each. The paper names this as future work; `docs/guide/intervals.md` says what was
decided, and `docs/wibk.md` measures it.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from .._names import require_text
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import TableCoder
from .._warnings import warn
from ..engine.references import Extent, extent, integral
from ..exceptions import InvalidDataError, NoCutWarning, UnknownCategoryError
from ._instances import densified

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "IntegerCoder", "frequency_cuts", "mdlp_cuts"]


def _entropy(counts: FloatArray) -> FloatArray:
    """Entropy in bits of rows of class counts; 0 for an empty row."""
    total = counts.sum(axis=1, keepdims=True)
    share = counts / np.maximum(total, np.finfo(np.float64).tiny)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    entropy: FloatArray = -(share * logs).sum(axis=1)
    return entropy


def _best_cut(below: FloatArray) -> int | None:
    """Where to cut a segment, or None where the description would get no shorter.

    ``below[i]``: instances of each class among the first i distinct values. Fayyad and Irani's
    criterion: gain > (log2(N − 1) + Δ) / N, Δ = log2(3^k − 2) − (k·E − k1·E1 − k2·E2).
    """
    whole = below[-1:]
    N = float(whole.sum())
    left = below[1:-1]
    if N <= 1 or not len(left):
        return None
    right = whole - left
    e_left, e_right, e = _entropy(left), _entropy(right), float(_entropy(whole)[0])
    after = (left.sum(axis=1) * e_left + right.sum(axis=1) * e_right) / N
    at = int(np.argmin(after))
    k, k1, k2 = (int((part > 0).sum()) for part in (whole[0], left[at], right[at]))
    delta = k * np.log2(3) + np.log2(1 - 2 / 3.0**k) - (k * e - k1 * e_left[at] - k2 * e_right[at])
    return at + 1 if e - after[at] > (np.log2(N - 1) + delta) / N else None


def mdlp_cuts(
    values: FloatArray, codes: IndexArray, n_classes: int, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Cuts of one feature by the minimum description length principle.

    Parameters
    ----------
    values : ndarray of shape (n,)
        None of them missing.
    codes : ndarray of shape (n,)
        Classes.
    sample_weight : ndarray of shape (n,), optional
        Repetitions.

    Returns
    -------
    ndarray of shape (n_cuts,)
        Ascending, midway between values; empty where no cut pays.

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
    counts = np.bincount(at * n_classes + codes, weights=sample_weight, minlength=len(distinct) * n_classes)
    below = np.concatenate([np.zeros((1, n_classes)), np.cumsum(counts.reshape(-1, n_classes), axis=0)])
    found, todo = [], [(0, len(distinct))]
    while todo:
        begin, end = todo.pop()
        cut = _best_cut(below[begin : end + 1] - below[begin])
        if cut is not None:
            found.append(begin + cut)
            todo += [(begin, begin + cut), (begin + cut, end)]
    first = np.sort(np.array(found, dtype=np.int64))  # the first value of each bin but the lowest
    middle = distinct[first - 1] / 2 + distinct[first] / 2
    cuts: FloatArray = np.where(middle > distinct[first - 1], middle, distinct[first])
    return cuts


def frequency_cuts(values: FloatArray, n_bins: int, sample_weight: FloatArray | None = None) -> FloatArray:
    """Cuts of one feature into bins of about equally many values: scikit-learn's quantile strategy.

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
        warnings.simplefilter("ignore")  # fewer bins where values repeat
        binner = KBinsDiscretizer(n_bins, **options).fit(values[:, None], sample_weight=sample_weight)
    cuts: FloatArray = binner.bin_edges_[0][1:-1]
    return cuts


class Column(NamedTuple):
    """The known values of a column, with classes and repetitions."""

    values: FloatArray
    codes: IndexArray
    weight: FloatArray | None


@dataclass
class IntegerCoder:
    """How each column of a table becomes integers, as learned in fit.

    Parameters
    ----------
    discretize : {"mdlp", "frequency"} or None
        How to bin columns of numbers that are not whole, or of many integers; None: refuse the former
        and leave the latter.
    n_bins : int
        Bins per column, for "frequency"; for both, up to so many different integers stay as they are.
    categorical_features, handle_unknown
        As in `TableCoder`. An ordered category that was not there in fit counts as missing.
    """

    discretize: str | None = None
    n_bins: int = 10
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "different"
    table: TableCoder = field(default_factory=TableCoder)
    ranks: dict[int, pd.Index] = field(default_factory=dict)
    cuts: dict[int, FloatArray] = field(default_factory=dict)
    ends: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    def open(self, estimator: Any, X: Any) -> Any:
        """Learn the columns of a training table: float rows, categories as codes or ranks."""
        self.table = TableCoder(self.categorical_features, self.handle_unknown)
        self.ranks = _ordered(X, self.categorical_features)
        for j, order in self.ranks.items():
            require_text(order, f"column {str(X.columns[j])!a}: the category")
        return self.table.fit_transform(estimator, self._ranked(X))

    def learn(self, X: Any, codes: IndexArray, n_classes: int, sample_weight: FloatArray | None = None) -> None:
        """Learn the bins of the columns that need them, from rows that `open` gave.

        Those are the columns of numbers that are not whole and, since bin numbers and large integers
        have no common scale, those of more than ``n_bins`` different integers.

        Raises
        ------
        InvalidDataError
            Where a column is not whole and ``discretize`` is None, or has integers too large to count by ones.
        """
        numeric, measured = ~self.table.nominal_of(X), extent(X)
        real = numeric & ~integral(X)
        wide = numeric & ~real & (measured.high - measured.low >= self.n_bins)
        if self.discretize is not None and (real.any() or wide.any()):
            X = densified(X, "discretize")

        def column(j: int) -> Column:
            known = ~np.isnan(X[:, j])
            weight = None if sample_weight is None else sample_weight[known]
            return Column(X[known, j].astype(np.float64), codes[known], weight)

        self.learn_columns(measured, numeric, real, X.dtype, n_classes, column, lambda j: _broken(X, j))

    def learn_columns(
        self,
        measured: Extent,
        numeric: BoolArray,
        real: BoolArray,
        dtype: Any,
        n_classes: int,
        column: Callable[[int], Column],
        example: Callable[[int], tuple[float, int]],
    ) -> None:
        """As `learn`, of columns that are somewhere else.

        ``column`` gives the known values of one of them, ``example`` a number that is not whole and its
        row; ``real``: the columns that have such.
        """
        self.cuts, self.ends = {}, {}
        low, high, _ = measured
        if self.discretize is None:
            if real.any():
                self._refuse_real(int(np.argmax(real)), int(real.sum()), example)
            self._refuse_large(low, high, np.flatnonzero(numeric), dtype)
            return
        wide = np.flatnonzero(numeric & ~real & (high - low >= self.n_bins))
        many = [j for j in wide.tolist() if len(np.unique(column(j).values)) > self.n_bins]
        binned = np.sort(np.concatenate([np.flatnonzero(real), np.array(many, dtype=np.int64)]))
        self._learn_bins(binned, n_classes, column, self.discretize)
        left = np.setdiff1d(np.flatnonzero(numeric), binned)
        self._refuse_large(low, high, left, dtype)
        varied = (high > low)[left].any() or not numeric.all() or any(map(len, self.cuts.values()))
        if len(binned) and self.discretize == "mdlp" and not varied:
            warn(
                "MDLP found no cut that pays in any column; bins of equal frequency are used instead",
                NoCutWarning,
            )
            self._learn_bins(binned, n_classes, column, "frequency")

    def _learn_bins(self, columns: IndexArray, n_classes: int, column: Callable[[int], Column], how: str) -> None:
        for j in columns.tolist():
            values, codes, weight = column(j)
            if how == "mdlp":
                cuts = mdlp_cuts(values, codes, n_classes, weight)
            else:
                cuts = frequency_cuts(values, self.n_bins, weight)
            self._store(j, cuts, values)

    def _store(self, j: int, cuts: FloatArray, values: FloatArray) -> None:
        """Keep the cuts of a column, and the least and largest value of each bin."""
        bins = np.searchsorted(cuts, values, side="right")
        least, largest = np.full(len(cuts) + 1, np.inf), np.full(len(cuts) + 1, -np.inf)
        np.minimum.at(least, bins, values)
        np.maximum.at(largest, bins, values)
        self.cuts[j], self.ends[j] = cuts, (least, largest)

    def integers(self, X: Any) -> Any:
        """Rows with bin numbers in the columns that have bins; missing stays missing."""
        if not self.cuts:
            return X
        out: FloatArray = X.toarray() if sparse.issparse(X) else X.copy()
        for j, cuts in self.cuts.items():
            bins = np.searchsorted(cuts, out[:, j], side="right")
            out[:, j] = np.where(np.isnan(out[:, j]), np.nan, bins)
        return out

    def transform(self, estimator: Any, X: Any) -> Any:
        """Integers of new rows, with the columns learned in fit."""
        return self.integers(self.coded(estimator, X))

    def coded(self, estimator: Any, X: Any) -> Any:
        """Rows with the columns learned in fit, as `open` gives them: not binned yet."""
        return self.table.transform(estimator, self._ranked(X))

    def extend(self, estimator: Any, X: Any) -> Any:
        """Further training rows, as `open` gives them; new categories get the next codes."""
        return self.table.extend(estimator, self._ranked(X))

    def check_whole(self, X: Any) -> None:
        """Refuse further rows whose columns are not whole where those of fit were."""
        real = np.flatnonzero(~self.table.nominal_of(X) & ~integral(X))
        strange = [j for j in real.tolist() if j not in self.cuts]
        if strange:
            self._refuse_real(strange[0], len(strange), lambda j: _broken(X, j))

    def told(self, j: int, integers: IndexArray, *, upper: bool) -> AnyArray:
        """Integers of column ``j`` as the table has them: numbers, categories, or the end of a bin."""
        if j in self.ends:
            return self.ends[j][upper][integers]
        labels = self.ranks.get(j, self.table.categories.get(j))
        return integers if labels is None else np.asarray(labels, dtype=object)[integers]

    def _ranked(self, X: Any) -> Any:
        """The table with the ranks of ordered categories in their place."""
        if not self.ranks or not hasattr(X, "iloc") or X.shape[1] <= max(self.ranks):
            return X
        import pandas as pd

        columns = {}
        for j, order in self.ranks.items():
            values = pd.Index(X.iloc[:, j].astype(object), dtype=object)
            rank = order.get_indexer(values).astype(np.float64)
            strange = (rank < 0) & ~values.isna()
            if strange.any() and self.handle_unknown == "error":
                raise UnknownCategoryError(
                    f"column '{X.columns[j]}' has categories that were not there in fit: "
                    f"{values[strange].unique().tolist()[:5]} (known: {order.tolist()[:10]})"
                )
            columns[j] = np.where(rank < 0, np.nan, rank)
        X = X.copy(deep=False)
        for j, rank in columns.items():
            X.isetitem(j, rank)
        return X

    def _name(self, j: int) -> str:
        return f"'{self.table.names[j]}'" if self.table.names else str(j)

    def _refuse_real(self, j: int, count: int, example: Callable[[int], tuple[float, int]]) -> None:
        value, row = example(j)
        others = f" (and {count - 1} more columns)" if count > 1 else ""
        raise InvalidDataError(
            f"column {self._name(j)}{others} holds numbers that are not integers ({value:g} in row {row}), and "
            "representative intervals are runs of consecutive integers. Use discretize='mdlp' or 'frequency', or bin "
            "the column first (sklearn.preprocessing.KBinsDiscretizer)"
        )

    def _refuse_large(self, low: FloatArray, high: FloatArray, columns: IndexArray, dtype: Any) -> None:
        digits = np.finfo(dtype).nmant + 1
        largest = np.maximum(np.abs(low), np.abs(high))[columns]
        if (largest >= 2.0**digits).any():
            at = int(np.argmax(largest))
            raise InvalidDataError(
                f"column {self._name(int(columns[at]))} holds integers up to {largest[at]:.17g}; from 2^{digits} on "
                f"{dtype} cannot tell neighbouring integers apart. Subtract an offset, or name the column in "
                "categorical_features"
            )


def _broken(X: Any, j: int) -> tuple[float, int]:
    """The first number of a column that is not whole, and its row."""
    values = X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]
    row = int(np.flatnonzero((values != np.rint(values)) & ~np.isnan(values))[0])
    return float(values[row]), row


def _ordered(X: Any, categorical_features: Any) -> dict[int, Any]:
    """Columns of ordered categories and their order; none where the categorical columns are named."""
    import pandas as pd

    by_type = isinstance(categorical_features, str) and categorical_features == "from_dtype"
    if not by_type or not hasattr(X, "iloc") or not hasattr(X, "dtypes"):
        return {}
    return {
        j: pd.Index(dtype.categories, dtype=object)
        for j, dtype in enumerate(X.dtypes)
        if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered
    }
