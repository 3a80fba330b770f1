"""Any score function or estimator with importances as a weigher: the anchor that other weighers are compared with."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context, clone
from sklearn.feature_selection import (
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
    r_regression,
)
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables.coded import CodedTable, takes_coded_tables
from ..tables.targets import TARGET_TYPES, expect_target, wanted_target
from .base import FeatureWeigher, code_table, require_scores
from .f_scores import f_of_classes, f_of_numbers, moderated_f, on_one_scale

#: The quantile that ``offset="auto"`` takes. It was chosen on tables other than those of the guide.
AUTO_OFFSET = 0.75

_COLUMNS = 64  # columns of categories whose indicators are in memory at once

#: What the score functions of scikit-learn score features for.
_TARGETS = {
    chi2: "classes",
    f_classif: "classes",
    mutual_info_classif: "classes",
    f_regression: "numeric",
    mutual_info_regression: "numeric",
    r_regression: "numeric",
}

#: Functions that give the same scores for all columns at once if values are missing. One call of scikit-learn per
#: column with missing values takes a thousand times as long.
_WITH_MISSING: dict[Any, Callable[[FloatArray, AnyArray], FloatArray]] = {
    f_classif: f_of_classes,
    f_regression: f_of_numbers,
}


def univariate_scores(score: Callable[..., Any], X: Any, y: AnyArray, discrete: BoolArray | None = None) -> FloatArray:
    """Return the score of each column by a score function of scikit-learn.

    A column with missing values is scored on the rows in which its value is known. A score that is not defined, such as
    that of a constant column, is 0. An infinite score becomes twice the largest finite one. Correlations count by
    their absolute values.

    Parameters
    ----------
    score : callable
        A function of ``X, y`` that returns scores, or scores and p-values.
    X : array or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    discrete : bool ndarray of shape (n_features,), optional
        Argument ``discrete_features`` of the function, if it has one.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> univariate_scores(f_classif, X, np.array([0, 0, 1, 1]))
    array([5., 0.])
    """
    found = np.zeros(X.shape[1])
    if score in _WITH_MISSING and not sparse.issparse(X) and np.isnan(X).any():
        return finite_scores(_WITH_MISSING[score](X, y))
    for columns, known in _columns_by_known_rows(X):
        rows = X if known.all() and len(columns) == X.shape[1] else _dense(X)[known][:, columns]
        options = {} if discrete is None else {"discrete_features": discrete[columns]}
        if len(np.unique(y[known])) > 1:
            found[columns] = _call(score, rows, y[known], options)
    return finite_scores(found)


def finite_scores(found: FloatArray) -> FloatArray:
    """Return the scores with 0 for those that are not defined, and twice the largest finite one for infinite ones."""
    finite = found[np.isfinite(found)]
    largest = 2 * float(finite.max(initial=0.0)) or 1.0
    return np.nan_to_num(found, nan=0.0, posinf=largest, neginf=0.0)


def _dense(X: Any) -> FloatArray:
    """Return the table as an array."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def _columns_by_known_rows(X: Any) -> Iterator[tuple[IndexArray, BoolArray]]:
    """Yield groups of columns whose values are known in the same rows, each with the mask of these rows."""
    n, p = X.shape
    values = X.data if sparse.issparse(X) else X
    if not np.isnan(values).any():
        yield np.arange(p), np.ones(n, dtype=bool)
        return
    known = ~np.isnan(_dense(X))
    # Columns with the same known rows are scored by one call, which is much faster than one call per column.
    patterns, place = np.unique(np.packbits(known, axis=0), axis=1, return_inverse=True)
    order = np.argsort(place.reshape(-1), kind="stable")
    for columns in np.split(order, np.cumsum(np.bincount(place.reshape(-1), minlength=patterns.shape[1]))[:-1]):
        yield columns, known[:, columns[0]]


def _call(score: Callable[..., Any], X: Any, y: AnyArray, options: dict[str, Any]) -> FloatArray:
    """Call a score function, and return one score per column."""
    name = getattr(score, "__name__", type(score).__name__)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # scikit-learn warns of constant columns, whose score is 0 here
        try:
            found = score(X, y, **options)
        except ValueError as error:
            raise InvalidDataError(f"{name} cannot score these features: {error}") from error
    scores = np.asarray(found[0] if isinstance(found, tuple) else found, dtype=np.float64)
    if scores.shape != (X.shape[1],):
        raise InvalidDataError(f"{name} gives scores of shape {scores.shape}; one per feature ({X.shape[1]}) is needed")
    return np.abs(scores) if score is r_regression else scores


@dataclass(eq=False, repr=False)
class ScoreWeigher(FeatureWeigher):
    """Weights by a score function of scikit-learn, or by the importances of an estimator.

    The t-statistic (F-statistic) of each feature is hard to beat for short lists from microarrays [1]_. With this
    weigher it stands in every comparison, study and report beside the other weighers, and so do forests and linear
    models.

    Parameters
    ----------
    score_func : callable, estimator or None, default=None
        A function of ``X, y`` that returns one score per feature, or scores and p-values: `f_classif`, `f_regression`,
        `r_regression` (correlation), `mutual_info_classif`, `chi2` and others. Or an estimator that has
        ``feature_importances_`` or ``coef_`` after ``fit``. None: the F-statistic, which for two classes is the square
        of the t-statistic.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": what the score or the estimator is made for, if this is known; else floats with many
        values are numbers.
    offset : None, "auto" or float between 0 and 1, default=None
        Only for the F-statistic. A number is a quantile: that of the deviations of all columns (within classes) is
        added to the deviation of each column, so that a small difference in a column that hardly varies does not get a
        large score. This makes lists of genes more stable at no more error (:doc:`/guide/lists`), and has a meaning
        only if all columns are on one scale. "auto": 0.75 if they are (at least 100 columns of numbers, whose standard
        deviations differ by at most a hundredfold from the 10th to the 90th percentile), and no offset otherwise.
    n_jobs : int or None, default=None
        Passed to an estimator whose own ``n_jobs`` is None.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        The scores. Scores that are not defined, such as that of a constant feature, are 0.
    estimator_ : estimator
        The fitted estimator, if ``score_func`` is one.
    offset_ : float or None
        The quantile that was used as the offset. None: no offset.
    target_type_ : str
    weights_, support_, classes_
        As in `Relief`.

    Notes
    -----
    Score functions look at each feature alone, so a feature with missing values is scored on the rows in which it is
    known. Estimators get missing values as they are. A function that knows of categories (``discrete_features``, as in
    `mutual_info_classif`) scores them itself; for other functions the score of a feature with categories is the largest
    one of its 0/1 indicator columns. An estimator gets the codes of categories as numbers, unless it has the parameter
    ``categorical_features``.

    The score with an offset is B / s² · (c / (c + s₀))², where B is the variance between classes, s² that within them,
    s₀ the offset, and c is s, but not outside the 5th and 95th percentile of all s, so that a single column in another
    unit cannot be far ahead or behind. For two classes and without these limits it is the square of the statistic of
    SAM [2]_. For a numeric target, B and s² are the variances that the regression on the target explains and leaves. If
    all columns are standardised, the order of the features is that of the F-statistic.

    References
    ----------
    .. [1] A.-C. Haury, P. Gestraud, J.-P. Vert, "The influence of feature selection methods on accuracy, stability and
       interpretability of molecular signatures", PLoS ONE 6, 2011.
    .. [2] V. G. Tusher, R. Tibshirani, G. Chu, "Significance analysis of microarrays applied to the ionizing radiation
       response", PNAS 98, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.feature_selection import f_classif
    >>> from weighbors import ScoreWeigher
    >>> X, y = load_iris(return_X_y=True)
    >>> ScoreWeigher(f_classif).fit(X, y).feature_weights_.round()
    array([ 119.,   49., 1180.,  960.])
    """

    score_func: Any = None
    _: KW_ONLY
    target_type: str = "auto"
    offset: float | str | None = None

    _takes_numeric_targets: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureWeigher._parameter_constraints,
        "score_func": [None, callable, HasMethods(["fit", "get_params"])],
        "target_type": [TARGET_TYPES],
        "offset": [None, StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
    }

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any) -> Any:
        """Score the features.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        table = code_table(self, X, y)
        return self._publish(table.rows, self.fit_weights(table))

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Return the scores of the features."""
        y = table.classes[table.codes] if table.numbers is None else table.numbers
        self.offset_ = self._choose_offset(table)
        if self.offset_ is not None:
            rows = _dense(table.rows)
            return finite_scores(moderated_f(rows, y, numeric=table.numbers is not None, quantile=self.offset_))
        if hasattr(self.score_func, "fit"):
            return self._importances(table, y)
        score = self.score_func or (f_classif if table.numbers is None else f_regression)
        return mixed_scores(score, table.rows, y, table.nominal)

    def _choose_offset(self, table: CodedTable) -> float | None:
        """Return the quantile for the offset, or None. Raise InvalidDataError if it has no meaning."""
        if self.offset is None:
            return None
        if self.score_func not in (None, f_classif, f_regression):
            raise InvalidDataError(
                f"offset={self.offset!r} is for the F-statistic; use score_func=None, or offset=None with "
                f"{self.score_func!r}"
            )
        if self.offset == "auto":
            return AUTO_OFFSET if on_one_scale(table.rows, table.nominal) else None
        if table.nominal.any():
            raise InvalidDataError(
                f"offset={self.offset!r} needs columns on one scale, and {np.count_nonzero(table.nominal)} columns "
                "hold categories; use offset=None"
            )
        return float(self.offset)

    def _importances(self, table: CodedTable, y: AnyArray) -> FloatArray:
        """Fit the estimator, and return the importances of its features."""
        model = clone(self.score_func)
        expect_target(model, numeric=table.numbers is not None)
        known = model.get_params(deep=False)
        if "categorical_features" in known and table.nominal.any():
            model.set_params(categorical_features=table.nominal)
        if self.n_jobs is not None and known.get("n_jobs", 0) is None:
            model.set_params(n_jobs=self.n_jobs)
        self.estimator_ = model.fit(table.rows, y)
        return require_scores(self.estimator_, table.rows.shape[1], "ScoreWeigher")

    @property
    def _target_type(self) -> str:
        """What ``y`` holds, as the user says or as the score must have it; "auto" if neither decides."""
        if self.target_type != "auto" or self.score_func is None:
            return self.target_type
        if not hasattr(self.score_func, "fit"):
            return _TARGETS.get(self.score_func, "auto")
        return wanted_target(self.score_func)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.score_func, "fit"):
            inner = get_tags(self.score_func).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        tags.input_tags.positive_only = self.score_func is chi2
        return tags


def mixed_scores(score: Callable[..., Any], X: Any, y: AnyArray, nominal: BoolArray) -> FloatArray:
    """Return the scores of a table in which the columns ``nominal`` hold codes of categories.

    A function with the parameter ``discrete_features`` scores categories itself. For other functions, the score of such
    a column is the largest score of its indicator columns, one for each category.
    """
    if not nominal.any():
        return univariate_scores(score, X, y)
    try:
        knows_categories = "discrete_features" in inspect.signature(score).parameters
    except (TypeError, ValueError):  # a compiled function may have no signature
        knows_categories = False
    if knows_categories:
        return univariate_scores(score, X, y, nominal)
    rows, found = _dense(X), np.zeros(X.shape[1])
    if not nominal.all():
        found[~nominal] = univariate_scores(score, rows[:, ~nominal], y)
    for j, of_categories in _category_scores(score, rows, y, np.flatnonzero(nominal)):
        found[j] = finite_scores(of_categories).max(initial=0.0)
    return found


def _category_scores(
    score: Callable[..., Any], rows: FloatArray, y: AnyArray, places: IndexArray
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the number of each column of categories, and the scores of its indicators, one for each category.

    ``places`` are the columns of ``rows`` that hold categories. An indicator is 1 if a row has the category, 0 if not,
    and NaN if the cell is missing.
    """
    at_once = _WITH_MISSING.get(score)
    for begin in range(0, len(places), _COLUMNS):
        columns = places[begin : begin + _COLUMNS]
        kinds = [np.unique(rows[~np.isnan(rows[:, j]), j]) for j in columns]
        parts = [
            np.where(np.isnan(rows[:, j, None]), np.nan, rows[:, j, None] == kind)
            for j, kind in zip(columns, kinds, strict=True)
        ]
        if at_once is None:
            found = [univariate_scores(score, part, y) for part in parts]
        else:  # one call for several columns: tables of thousands of categories would take very long otherwise
            ends = np.cumsum([len(kind) for kind in kinds])[:-1]
            found = np.split(at_once(np.concatenate(parts, axis=1), y), ends)
        yield from zip(columns.tolist(), found, strict=True)
