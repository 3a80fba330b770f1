"""Permutation test of feature weights: which weights are larger than the weights learned from permuted labels?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control
from sklearn.utils.validation import check_consistent_length

from .._checks import whole_number
from .._frames import as_pandas
from .._labels import as_column
from .._random import integer_seed, seed_sequence
from .._results import Result, table_lines
from .._typing import AnyArray, BoolArray, FloatArray
from .._warnings import warn
from ..exceptions import FewPermutationsWarning, InvalidDataError, WeighborsWarning
from .model_features import fit_feature_scores
from .targets import decide_target_type, expected_target, told_model

__all__ = ["PermutationResult", "permutation_test"]

_ROUNDING = 1e-10  # relative differences below this are rounding errors


@dataclass(frozen=True, eq=False, repr=False)
class PermutationResult(Result):
    """Feature weights, and how often weights from permuted labels are at least as large.

    Attributes
    ----------
    scores : ndarray of shape (n_features,)
        Weights learned from the original labels.
    p_values : ndarray of shape (n_features,)
        Share of the null weights that are at least as large as the observed weight. The observed weight counts as one
        of the null weights. With ``null="pooled"`` the standardised weights of all features are compared. The p-value
        is 1 if the weight of a feature never changes or is NaN.
    adjusted : ndarray of shape (n_features,)
        p-values adjusted for the false discovery rate.
    familywise : ndarray of shape (n_features,)
        p-values against the largest standardised weight of each permutation (Westfall and Young's single-step
        maxT). They control the probability of one or more false findings.
    null_mean, null_deviation : ndarray of shape (n_features,)
        Mean and standard deviation of the weight of each feature over the permutations.
    n_permutations : int
    fdr : {"bh", "by"}
    null : {"pooled", "feature"}
    scheme : str
        Description of how labels were permuted.
    feature_names : tuple of str
    standardized : ndarray of shape (n_features,)
        (weight − mean of the permuted weights of the feature) / (their standard deviation). It is infinite if all
        permuted weights are equal and the observed weight differs from them.
    level : float
        The default level of `discoveries` and `familywise_discoveries`.
    """

    scores: FloatArray
    p_values: FloatArray
    adjusted: FloatArray
    familywise: FloatArray
    null_mean: FloatArray
    null_deviation: FloatArray
    n_permutations: int
    fdr: str
    null: str
    scheme: str
    feature_names: tuple[str, ...]
    standardized: FloatArray
    level: float

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row per feature, the most significant first."""
        frame = pd.DataFrame(
            {
                "score": self.scores,
                "p_value": self.p_values,
                "adjusted": self.adjusted,
                "familywise": self.familywise,
                "standardized": self.standardized,
                "null_mean": self.null_mean,
                "null_deviation": self.null_deviation,
            },
            index=pd.Index(self.feature_names, name="feature"),
        )
        return frame.sort_values(["p_value", "standardized"], ascending=[True, False], kind="stable")

    def discoveries(self, rate: float | None = None) -> list[str]:
        """Return the names of the features found at this false discovery rate, the most significant first.

        On average, at most the share ``rate`` of these features is false. None means the ``level`` of the test.
        """
        return self._features_up_to("adjusted", rate)

    def familywise_discoveries(self, level: float | None = None) -> list[str]:
        """Return the names of the features found at this family-wise error, the most significant first.

        The probability that one or more of these features are false is at most ``level``. None means the ``level`` of
        the test.
        """
        return self._features_up_to("familywise", level)

    def _features_up_to(self, column: str, level: float | None) -> list[str]:
        """Return the features whose p-value in ``column`` is at most ``level``, the most significant first."""
        frame = self.frame()
        return [str(name) for name in frame.index[frame[column] <= (self.level if level is None else level)]]

    def _lines(self) -> list[str]:
        rule = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}[self.fdr]
        shown = ["score", "standardized", "p_value", "adjusted", "familywise"]
        return [
            f"Permutation test of {len(self.scores)} features: {len(self.discoveries())} found at a false discovery "
            f"rate of {100 * self.level:g} % ({rule}), {len(self.familywise_discoveries())} at a family-wise error "
            f"of {100 * self.level:g} %",
            f"  {self.n_permutations} permutations, {self.scheme}; null: {self.null}; smallest possible p "
            f"{_smallest_p(self.n_permutations, len(self.scores), self.null):.2g}",
            *table_lines(self.frame().head(10)[shown]),
        ]


def _permutation_scheme(y: AnyArray, groups: Any, target_type: str) -> tuple[str, AnyArray | None, bool]:
    """Decide how labels or numbers are exchanged: between rows, between whole groups, or within groups.

    Return a description, the group number of each row (None without groups), and whether whole groups
    are exchanged. ``target_type`` is "classes" or "numeric", for the description.
    """
    what = "labels" if target_type == "classes" else "targets"
    if groups is None:
        return f"{what} exchanged between rows", None, False
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    # If labels never differ within groups, only whole groups can be exchanged under the null hypothesis.
    labels_of = pd.Series(y).groupby(codes).nunique()
    if (labels_of == 1).all():
        return f"{what} exchanged between whole groups", codes, True
    return f"{what} exchanged within groups", codes, False


def _permute_labels(y: AnyArray, codes: AnyArray | None, whole: bool, random: np.random.Generator) -> AnyArray:
    """Return permuted labels. ``codes`` and ``whole`` are the second and third result of `_permutation_scheme`."""
    if codes is None:
        return np.asarray(random.permutation(y))
    if whole:
        # Any row of a group gives its label.
        first = np.unique(codes, return_index=True)[1]
        return np.asarray(random.permutation(y[first]))[codes]
    out = y.copy()
    for group in range(codes.max() + 1):
        rows = np.flatnonzero(codes == group)
        out[rows] = random.permutation(y[rows])
    return out


def _fit_to_permuted_labels(
    weigher: Any, X: Any, y: AnyArray, codes: AnyArray | None, whole: bool, child: np.random.SeedSequence
) -> FloatArray:
    """Return the weights learned from permuted labels.

    ``codes`` and ``whole`` are as in `_permute_labels`. ``child`` is the seed of this permutation.
    """
    labels = _permute_labels(y, codes, whole, np.random.default_rng(child))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeighborsWarning)  # the fit to the original labels has warned already
        return fit_feature_scores(weigher, X, labels, np.arange(len(y)), integer_seed(child.spawn(1)[0]))


def permutation_test(
    weigher: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: int = 200,
    groups: Any = None,
    fdr: str = "bh",
    null: str = "pooled",
    level: float = 0.05,
    target_type: str = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> PermutationResult:
    """Find the features whose weights are larger than weights learned from permuted labels.

    The weigher is fitted once to the original labels and then to permuted labels. The weight of each feature is
    compared with the weights from permuted labels. The p-values are adjusted for the number of features in two ways:
    for the false discovery rate, and for the probability of one or more false findings. The numbers of a numeric target
    are permuted in the same way as labels.

    Parameters
    ----------
    weigher : estimator or callable
        As in `stability_curve`.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_permutations : int, default=200
        Number of permutations.
    groups : array-like of shape (n_samples,), optional
        Rows that belong together, for example the samples of one patient. If all rows of each group have the same
        label, labels are exchanged between whole groups, otherwise within groups.
    fdr : {"bh", "by"}, default="bh"
        "bh" is the adjustment of Benjamini and Hochberg. "by" is the adjustment of Benjamini and Yekutieli, which holds
        for any dependence between features.
    null : {"pooled", "feature"}, default="pooled"
        "pooled": the weights of each feature are standardised by its permuted weights and compared with those of all
        features. The smallest p-value is 1 / (n_permutations · n_features + 1). "feature": a weight is compared with
        the permuted weights of the same feature only. Features need not be alike, but many permutations are needed: the
        smallest p-value is 1 / (n_permutations + 1).
    level : float, default=0.05
        The false discovery rate and the family-wise error at which findings are counted. A `FewPermutationsWarning` is
        given if there are too few permutations to reach this level.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        As in `stability_curve`.
    random_state : int, RandomState or None, default=0
    n_jobs : int or None, default=None
        Number of permutations that are fitted at the same time. Results do not depend on it.

    Returns
    -------
    PermutationResult

    Notes
    -----
    Each permuted weight is standardised by the mean and standard deviation of the other permuted weights of its
    feature. The observed weight is standardised by those of all permuted weights of its feature.

    Pooled p-values are uniform on average over features. This is enough for the false discovery rate: the number of
    null weights above a limit, per permutation, estimates how many features exceed the limit by chance. For a single
    feature whose null distribution has an unusual shape, ``null="feature"`` is exact.

    The null hypothesis is that the labels are unrelated to all features. If some features are strong, a weigher that
    compares neighbours gives even noise columns other weights than with permuted labels, because it finds other
    neighbours. For example, ReliefF weights of six added noise columns were 0.8 standard deviations above their null
    mean on wine (13 columns), and 4.4 on breast-cancer-wisconsin (30 columns), so that the test found them. If most
    features are strong, add noise columns and check whether the test finds them. Scores that look at each feature alone
    do not have this effect.

    References
    ----------
    .. [1] B. Phipson, G. K. Smyth, "Permutation p-values should never be zero", SAGMB 9, 2010.
    .. [2] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995.
    .. [3] V. G. Tusher, R. Tibshirani, G. Chu, "Significance analysis of microarrays applied to the ionizing
       radiation response", PNAS 98, 2001.
    .. [4] P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley, 1993.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from weighbors import ReliefF
    >>> from weighbors.evaluation import permutation_test
    >>> X, y = make_classification(
    ...     120, 8, n_informative=2, n_redundant=0, n_clusters_per_class=1, shuffle=False, random_state=0
    ... )
    >>> permutation_test(ReliefF(), X, y, n_permutations=99).discoveries()
    ['x1', 'x0']
    """
    from joblib import Parallel, delayed

    n_permutations = whole_number(n_permutations, "n_permutations")
    if fdr not in ("bh", "by"):
        raise InvalidDataError(f"fdr must be 'bh' or 'by'; got {fdr!r}")
    if null not in ("pooled", "feature"):
        raise InvalidDataError(f"null must be 'pooled' or 'feature'; got {null!r}")
    if not isinstance(level, Real) or isinstance(level, bool) or not 0 < level < 1:
        raise InvalidDataError(f"level must be a number between 0 and 1; got {level!r}")
    X, y = as_pandas(X), as_column(y)
    names = tuple(str(name) for name in X.columns) if hasattr(X, "columns") else None
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_consistent_length(X, y, groups)
    _warn_of_few(n_permutations, X.shape[1], fdr, null, float(level))
    kind = decide_target_type(y, target_type, expected_target(weigher))
    weigher = told_model(weigher, y, kind)
    scheme, codes, whole = _permutation_scheme(y, groups, kind)
    # Each permutation has its own seed, so that results do not depend on the number of jobs.
    own, *children = seed_sequence(random_state).spawn(n_permutations + 1)
    scores = fit_feature_scores(weigher, X, y, np.arange(len(y)), integer_seed(own))
    permuted = np.array(
        Parallel(n_jobs=n_jobs)(
            delayed(_fit_to_permuted_labels)(weigher, X, y, codes, whole, child) for child in children
        )
    )
    p_values, familywise = _p_values(scores, permuted, null)
    adjusted = np.asarray(false_discovery_control(p_values, method=fdr))
    names = names or tuple(f"x{j}" for j in range(len(scores)))
    centre, spread = permuted.mean(axis=0), permuted.std(axis=0)
    return PermutationResult(
        scores,
        p_values,
        adjusted,
        familywise,
        centre,
        spread,
        n_permutations,
        fdr,
        null,
        scheme,
        names,
        standardize(scores, centre, spread),
        float(level),
    )


def _smallest_p(n_permutations: int, n_features: int, null: str) -> float:
    """Return the smallest possible p-value: that of a weight larger than all null weights."""
    return 1 / (n_permutations * (n_features if null == "pooled" else 1) + 1)


def _warn_of_few(n_permutations: int, n_features: int, fdr: str, null: str, level: float) -> None:
    """Warn if there are too few permutations to find a single relevant feature at this level.

    ``fdr`` and ``null`` are the parameters of `permutation_test`.
    """
    # the smallest p-value times this is the adjusted p-value of a feature that is found alone
    factor = n_features * (1.0 if fdr == "bh" else float(np.sum(1 / np.arange(1, n_features + 1))))
    alone = factor * _smallest_p(n_permutations, n_features, null)
    # Each permutation has one largest weight, so pooling does not make family-wise p-values smaller.
    family = 1 / (n_permutations + 1)
    if max(alone, family) <= level * (1 + 1e-9):
        return
    per_permutation = n_features if null == "pooled" else 1
    # The number of permutations from which both smallest p-values are below the level.
    needed = max(np.ceil((factor / level - 1) / per_permutation - 1e-9), np.ceil(1 / level - 1 - 1e-9))
    pooling = " or null='pooled'" if null == "feature" and n_features > 1 else ""
    warn(
        f"{n_permutations} permutations are too few for level={level:g}: a feature that is found alone has an adjusted "
        f"p-value of {min(alone, 1.0):.2g} and a family-wise one of {family:.2g} at best. Take n_permutations of at "
        f"least {needed:.0f}{pooling}",
        FewPermutationsWarning,
    )


def _p_values(scores: FloatArray, permuted: FloatArray, null: str) -> tuple[FloatArray, FloatArray]:
    """Return the p-values of the features, and family-wise p-values against the largest weight of each permutation."""
    if np.isinf(scores).any() or np.isinf(permuted).any():
        raise InvalidDataError(
            "the weigher gives infinite weights, which have no mean to be compared with. Return finite ones, for "
            "example by numpy.nan_to_num"
        )
    alone, familywise = np.ones(len(scores)), np.ones(len(scores))
    # A weight that never changes tells nothing, whatever labels there are.
    tested = _changing_features(np.vstack([scores, permuted]))
    if not tested.any():
        return alone, familywise
    scores, permuted = scores[tested], permuted[:, tested]
    observed = _lower_by_rounding(standardize(scores, permuted.mean(axis=0), permuted.std(axis=0)))
    z = _standardize_leave_one_out(permuted)
    # The observed weight counts as one of the permutations (the 1 in both sums), so that p is never 0.
    familywise[tested] = (1 + (z.max(axis=1)[:, None] >= observed).sum(axis=0)) / (1 + len(z))
    if null == "feature" or len(scores) == 1:  # the pool of one feature is its own null, which is exact unstandardised
        alone[tested] = (1 + (permuted >= _lower_by_rounding(scores)).sum(axis=0)) / (1 + len(z))
    else:
        # One sorted pool of all null weights: a binary search counts the larger ones of each feature.
        pool = np.sort(z, axis=None)
        alone[tested] = (1 + len(pool) - np.searchsorted(pool, observed, side="left")) / (1 + len(pool))
    return alone, familywise


def _changing_features(weights: FloatArray) -> BoolArray:
    """Return a mask of the features whose weights differ between rows of ``weights`` by more than rounding.

    The other features are not tested, and they do not enter the pool or the largest weights. Features with a NaN, such
    as the F value of a constant column, are not in the mask.
    """
    # A column with NaN compares as False, so that it is not tested.
    with np.errstate(invalid="ignore"):
        changing: BoolArray = np.ptp(weights, axis=0) > _ROUNDING * np.abs(weights).max(axis=0)
    return changing


def _lower_by_rounding(values: FloatArray) -> FloatArray:
    """Return the values minus a rounding error, so that values that differ only by rounding count as equal."""
    return np.asarray(values - _ROUNDING * np.abs(np.where(np.isfinite(values), values, 0.0)))


def standardize(values: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return (value − mean) / deviation. If the deviation is 0, return 0 for a value at the mean, else ±infinity.

    Examples
    --------
    >>> standardize(np.array([3.0, 3.0, 1.0]), np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, 0.0]))
    array([ 1., inf,  0.])
    """
    distance = np.where(np.abs(values - mean) > _ROUNDING * np.abs(mean), values - mean, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(distance == 0, 0.0, distance / np.where(deviation > _ROUNDING * np.abs(mean), deviation, 0.0))


def _standardize_leave_one_out(permuted: FloatArray) -> FloatArray:
    """Standardise each permuted weight by the other permuted weights of its feature.

    The observed weight is not used here. The weight of a relevant feature is so large that it would make the
    standardised permuted weights, and so the p-values of all features, too small. A permuted weight is standardised by
    one weight less than the observed weight. So the tails of the pool are heavier, and p-values are rather too large.
    """
    n = len(permuted)
    if n == 1:
        return np.zeros_like(permuted)
    centred = permuted - permuted.mean(axis=0)  # to keep precision in the squares below
    square = np.square(centred).sum(axis=0)
    mean = -centred / (n - 1)  # mean of the other weights, because all centred weights sum to 0
    variance = (square - np.square(centred)) / (n - 1) - np.square(mean)
    # a variance that is only a rounding error of the squares counts as 0
    variance = np.where(variance > _ROUNDING * square / n, variance, 0.0)
    return standardize(centred, mean, np.sqrt(variance))
