"""Representative intervals: a weight for each class, feature and run of integers (WIB-K, paper 002)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..._typing import AnyArray
from ..._warnings import warn
from ...blocks import BlockTable, is_blocks, read_blocks
from ...exceptions import NoPositiveWeightWarning
from ...tables.coded import CodedTable
from ...tables.labels import check_labels, require_labels
from ...tables.validation import TakesTables, check_sample_weight
from ...weights import IntervalTable, Weights
from .block_runs import IntegerCoding, find_block_runs
from .discretize import IntegerCoder
from .runs import LEVELS, Runs, find_runs

if TYPE_CHECKING:
    import pandas as pd

#: Parameter constraints that `RepresentativeIntervals` and `WIBK` share.
INTERVAL_CONSTRAINTS: dict[str, list[Any]] = {
    "normalize": [StrOptions({"instance"}), None],
    "smoothing": [Interval(Real, 0, None, closed="left")],
    "weight": [StrOptions({"nonoverlap", "overlap"})],
    "overlap": [StrOptions({"values", "length"})],
    "discretize": [StrOptions({"mdlp", "frequency"}), None],
    "n_bins": [Interval(Integral, 2, None, closed="left")],
    "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
}


def interval_frame(weigher: RepresentativeIntervals, *outer: IntegerCoder) -> pd.DataFrame:
    """Return the runs of a fitted weigher as a table with one row per run, with values and categories of the data.

    If other coders made the table on which the weigher was fitted, they are given as ``outer``. The values and
    categories are then those of the table before these coders.
    """
    import pandas as pd

    runs = weigher._runs
    names = weigher._coder.table.names or [f"x{j}" for j in range(weigher.n_features_in_)]
    ends = [_label_ends(runs, [weigher._coder, *outer], upper) for upper in (False, True)]
    frame = pd.DataFrame(
        {
            "class": weigher.classes_[runs.code],
            "feature": np.asarray(names, dtype=object)[runs.feature],
            "low": ends[0],
            "high": ends[1],
            "magnitude": runs.magnitude,
            "amplitude": runs.amplitude,
            "level": pd.Categorical.from_codes(runs.level, categories=pd.Index(LEVELS), ordered=True),
            "weight": runs.weight if weigher.weight == "nonoverlap" else 1.0 - runs.weight,
            "kept": runs.kept,
        }
    )
    order = np.lexsort((np.arange(len(frame)), runs.feature, runs.code))
    return frame.iloc[order].reset_index(drop=True)


def _label_ends(runs: Runs, coders: list[IntegerCoder], upper: bool) -> AnyArray:
    """Return one end of every run as a value or category of the data: the high end if ``upper``, else the low end."""
    integers = runs.high if upper else runs.low
    if not any(coder.ends or coder.ranks or coder.table.categories for coder in coders):
        return integers
    parts = np.split(integers, np.flatnonzero(np.diff(runs.feature)) + 1)  # runs come feature by feature
    labels: list[Any] = []
    for j, part in zip(np.unique(runs.feature).tolist(), parts, strict=True):
        for coder in coders:
            part = coder.label_values(j, part.astype(np.int64), upper=upper)
        labels += part.tolist()
    # Values and categories can stand in one column only as objects.
    text = any(not isinstance(value, (int, float)) for value in labels)
    return np.array(labels, dtype=object if text else None)


@dataclass(eq=False, repr=False)
class RepresentativeIntervals(TakesTables, BaseEstimator):
    """Weigh intervals of values by how much of them belongs to one class alone.

    For each class and feature, the distinct values, which are integers, are cut into runs of consecutive
    integers. A run with few instances, compared with the largest run of the same number of values, is noise
    and is dropped. The other runs are the representative intervals. The weight of an interval is the share of
    its integers that are in no representative interval of another class. A stored value gets the weight of its
    interval, or of the closest interval (the lower one if two are equally close).

    Parameters
    ----------
    normalize : "instance" or None, default="instance"
        How weights are normalised, which the paper does not say. "instance": the weights of a stored instance sum to
        1. None: weights are not normalised.
    smoothing : float, default=0.02
        Number that is added to every weight before it is normalised. With 0, an instance whose intervals
        all overlap completely has distance 0 to every row.
    weight : {"nonoverlap", "overlap"}, default="nonoverlap"
        The weight as described above, or 1 minus this weight.
    overlap : {"values", "length"}, default="values"
        Whether the overlap of intervals counts integers, or measures lengths as in figure 1 of the paper.
    discretize : {"mdlp", "frequency"} or None, default=None
        How to cut a column into bins if its numbers are not whole, or if it has more than ``n_bins``
        different integers. "mdlp": by the minimum description length principle. "frequency": bins with
        equally many values. None: integers stay as they are, as in the paper, and other numbers are an error.
    n_bins : int, default=10
        Number of bins per column for "frequency".
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns of categories, in which each category is a run. "from_dtype": columns of a DataFrame that
        hold categories or text. Ordered categories are then used as integers, by rank.

    Attributes
    ----------
    intervals_ : DataFrame
        One row per run: class, feature, low, high, magnitude (number of instances), amplitude (number of
        distinct values), level of confidence, weight (before smoothing, NaN for dropped runs), and kept.
    weights_ : Weights
        Weights with the table of kept intervals, for the k-NN.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Notes
    -----
    A missing value belongs to no run. Its weight is the mean weight of its class and feature. For columns with
    bins, the intervals are in the units of the column, and a k-NN measures distances between the original
    values. :class:`~weighbors.WIBK` measures distances between bin numbers instead.

    References
    ----------
    .. [1] O. Gómez, E. F. Morales, J. A. González, "Weighted instance-based learning using
       representative intervals", MICAI 2007.

    Examples
    --------
    >>> from weighbors import RepresentativeIntervals
    >>> X = [[1], [2], [3], [3], [5], [6], [7], [5], [6]]
    >>> y = ["a", "a", "a", "a", "a", "a", "a", "b", "b"]
    >>> RepresentativeIntervals().fit(X, y).intervals_
      class feature  low  high  magnitude  amplitude level    weight  kept
    0     a      x0    1     3          4          3  high  1.000000  True
    1     a      x0    5     7          3          3  high  0.333333  True
    2     b      x0    5     6          2          2  high  0.000000  True
    """

    normalize: str | None = "instance"
    smoothing: float = 0.02
    _: KW_ONLY
    weight: str = "nonoverlap"
    overlap: str = "values"
    discretize: str | None = None
    n_bins: int = 10
    categorical_features: Any = "from_dtype"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = INTERVAL_CONSTRAINTS
    _takes_blocks: ClassVar[bool] = True

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RepresentativeIntervals:
        """Find the representative intervals and compute their weights.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Or a table that is read in blocks: a Dask collection, the path of a parquet folder or an npy file, or a
            mapped array. Then ``intervals_`` is the same.
        y : array-like of shape (n_samples,)
            Or the name of a column of a table in blocks.
        sample_weight : array-like of shape (n_samples,), optional
            Repetition weight of each row.

        Returns
        -------
        self
        """
        if is_blocks(X) or isinstance(X, CodedTable):
            return self._fit_blocks(X, y, sample_weight)
        require_labels(self, y)
        coder = IntegerCoder(self.discretize, self.n_bins, self.categorical_features)
        X = coder.open(self, X)
        self.classes_, codes = check_labels(y, who=type(self).__name__)
        check_consistent_length(X, codes)
        weight = check_sample_weight(sample_weight, X)
        # A row of weight 0 must not create an interval.
        if weight is not None:
            X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
        coder.learn(X, codes, len(self.classes_), weight)
        nominal = coder.table.nominal
        runs = find_runs(
            coder.integers(X), codes, len(self.classes_), nominal, overlap=self.overlap, sample_weight=weight
        )
        self._runs, self._coder = runs, coder
        self.weights_ = self._weights(X.shape[1])
        return self

    def _fit_blocks(self, X: Any, y: Any, sample_weight: Any) -> RepresentativeIntervals:
        """Find the intervals of a table in blocks. The parameters are those of ``fit``."""
        X, categories = X.rows if isinstance(X, CodedTable) else X, self.categorical_features
        if isinstance(X, BlockTable) and isinstance(categories, str) and X.nominal.any():
            categories = X.nominal
        coding = IntegerCoding(IntegerCoder(self.discretize, self.n_bins, categories))
        if isinstance(X, BlockTable):  # Another estimator has read it. Here, ordered categories become ranks.
            table = X.read_again(self, coding, whole=True)
        else:
            table = read_blocks(self, X, y, coding, whole=True)
        self._runs = find_block_runs(table, self.overlap, table.check_weights(sample_weight))
        self._coder = table.coder
        self.weights_ = self._weights(table.header.width)
        return self

    def _weights(self, M: int) -> Weights:
        """Return the `Weights` of the runs, for M features."""
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(names)
        table = self._interval_table(M)
        if table is None:
            warn(
                "no interval got a positive weight; a k-NN with these weights treats all features alike",
                NoPositiveWeightWarning,
            )
            return Weights(feature_weights=np.ones(M), feature_names=names)
        return Weights(intervals=table, classes=self.classes_, feature_names=names)

    def _interval_table(self, M: int) -> IntervalTable | None:
        """Return the table of the kept runs, or None if all weights are 0 after smoothing.

        Categories have no closest interval. So a category that a class dropped as noise or does not have gets the mean
        weight of the categories that this class keeps. If a class has only missing values in a feature, it gets one
        interval of weight 0 for this feature, so that smoothing applies to it.
        """
        runs, kept, n_groups = self._runs, np.flatnonzero(self._runs.kept), len(self.classes_) * M
        low, high = runs.low.astype(np.float64), runs.high.astype(np.float64)
        for j, (least, largest) in self._coder.ends.items():  # in the units of the column
            mine = runs.feature == j
            low[mine], high[mine] = least[runs.low[mine]], largest[runs.high[mine]]
        # Each class and feature is one group of intervals. Groups are numbered class by class, as `IntervalTable`
        # stores them.
        group, low, high = (runs.code * M + runs.feature)[kept], low[kept], high[kept]
        value = runs.weight[kept] if self.weight == "nonoverlap" else 1.0 - runs.weight[kept]
        categories = {j: len(labels) for j, labels in self._coder.table.categories.items() if len(labels)}
        nominal = np.isin(runs.feature[kept], list(categories))
        # Numeric runs are taken as they are.
        parts = [(group[~nominal], low[~nominal], high[~nominal], value[~nominal])]
        for j, number in categories.items():
            codes = np.arange(number + 1.0)
            for g in range(j, n_groups, M):
                mine = group == g
                weight = np.full(number + 1, value[mine].mean() if mine.any() else 0.0)
                weight[low[mine].astype(np.int64)] = value[mine]
                # The last interval holds every code that is not known yet. Codes are exact floats up to 2**53.
                parts.append((np.full(number + 1, g), codes, np.append(codes[:-1], 2.0**53), weight))
        # A group without any interval gets one of weight 0, so that smoothing applies to it as well.
        empty = np.setdiff1d(np.arange(n_groups), np.concatenate([part[0] for part in parts]))
        nothing = np.zeros(len(empty))
        parts.append((empty, nothing, nothing, nothing))
        group, low, high, value = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        if not (value + self.smoothing > 0).any():
            return None
        # Within a group the intervals already ascend, and a stable sort keeps them so.
        order = np.argsort(group, kind="stable")
        return IntervalTable(
            start=np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))]),
            low=low[order],
            high=high[order],
            weight=value[order],
            n_features=M,
            normalize=self.normalize or "none",
            smoothing=float(self.smoothing),
        )

    @property
    def intervals_(self) -> pd.DataFrame:
        """All runs, kept and dropped, with the values and categories of the data. One row per run."""
        check_is_fitted(self, "weights_")
        return interval_frame(self)
