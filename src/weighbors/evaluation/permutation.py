"""Permutation test of feature weights: which weights are larger than the weights learned from permuted labels?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control
from sklearn.utils.validation import check_consistent_length, has_fit_parameter

from .._checks import whole_number
from .._display.results import Result, table_lines
from .._parallel.threads import effective_n_jobs
from .._random import integer_seed, seed_sequence
from .._typing import FloatArray
from .._warnings import warn
from ..exceptions import FewPermutationsWarning, InvalidDataError, WeighborsWarning
from ..tables.covariates import check_covariates
from ..tables.frames import as_pandas
from ..tables.groups import check_groups
from ..tables.labels import as_column
from ..weighers.base import FeatureWeigher, fit_targets
from ..weighers.null_weights import null_p_values, standardize
from ..weighers.permutations import TargetPermuter, choose_permuter
from .model_features import clone_with_seed, fit_feature_scores
from .targets import decide_target_type, expected_target, told_model


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


def _fit_to_permuted_labels(
    weigher: Any,
    X: Any,
    permuter: TargetPermuter,
    children: Sequence[np.random.SeedSequence],
    fit_params: dict[str, Any],
) -> list[FloatArray]:
    """Return the weights learned from permuted labels, for some permutations.

    Parameters
    ----------
    weigher : estimator or callable
    X : table
    permuter : TargetPermuter
    children : sequence of SeedSequence
        The seed of each permutation.
    fit_params : dict
        Further arguments of the weigher's ``fit``.
    """
    labels = [permuter.draw(np.random.default_rng(child)) for child in children]
    seeds = [integer_seed(child.spawn(1)[0]) for child in children]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeighborsWarning)  # the fit to the original labels has warned already
        # A permuted target changes no distance, so that rows are checked, coded and compared once.
        found = None
        if isinstance(weigher, FeatureWeigher) and not fit_params:
            found = fit_targets([clone_with_seed(weigher, seed) for seed in seeds], X, labels)
        if found is None:
            found = [
                fit_feature_scores(weigher, X, y, np.arange(len(y)), seed, fit_params)
                for y, seed in zip(labels, seeds, strict=True)
            ]
        return found


def permutation_test(
    weigher: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: int = 200,
    groups: Any = None,
    covariates: Any = None,
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
    covariates : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_covariates), optional
        What else is known of the rows, such as age, sex or batch. The null hypothesis is then that labels are unrelated
        to the features *given the covariates*: permuted labels depend on the covariates as the original ones do (see
        the notes). Columns of text or of a categorical dtype are categories, all others are numbers. A weigher whose
        ``fit`` takes ``covariates``, such as `NPDR`, gets them, too. Not together with ``groups``.
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

    Permuted labels change no distance. So the weighers of this library check the table once for all permutations, and
    those that look at k neighbours (`Relief`, `RelievedF`, `ReliefF`, `RReliefF` and `ClassRelief`) rank the neighbours
    of all rows once. The SURF family measures the distances of complete numbers once. Each permutation then costs only
    its sums of differences. The results have the same bits as separate fits.

    Pooled p-values are uniform on average over features. This is enough for the false discovery rate: the number of
    null weights above a limit, per permutation, estimates how many features exceed the limit by chance. For a single
    feature whose null distribution has an unusual shape, ``null="feature"`` is exact.

    The null hypothesis is that the labels are unrelated to all features. If some features are strong, a weigher that
    compares neighbours gives even noise columns other weights than with permuted labels, because it finds other
    neighbours. For example, ReliefF weights of six added noise columns were 0.8 standard deviations above their null
    mean on wine (13 columns), and 4.4 on breast-cancer-wisconsin (30 columns), so that the test found them. If most
    features are strong, add noise columns and check whether the test finds them. Scores that look at each feature alone
    do not have this effect.

    With covariates there are three schemes. If all covariates are categories, labels or numbers are exchanged within
    rows of equal covariates, which is exact. Otherwise, the residuals of a numeric target after a linear regression
    on the covariates are permuted, and the predictions are added again [5]_; this needs a linear effect of the
    covariates, and errors that do not depend on them. Labels of classes are exchanged with the probabilities of a
    logistic regression on the covariates, the conditional permutation test [6]_; this needs log odds that are linear
    in the covariates, and is conservative if the covariates are strong and the weigher does not adjust for them (in a
    simulation 5 % of the p-values of noise were up to .1). If an effect is curved, give its square as a further
    covariate.

    References
    ----------
    .. [1] B. Phipson, G. K. Smyth, "Permutation p-values should never be zero", SAGMB 9, 2010.
    .. [2] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995.
    .. [3] V. G. Tusher, R. Tibshirani, G. Chu, "Significance analysis of microarrays applied to the ionizing
       radiation response", PNAS 98, 2001.
    .. [4] P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley, 1993.
    .. [5] D. Freedman, D. Lane, "A nonstochastic interpretation of reported significance levels", J. Business &
       Economic Statistics 1, 1983.
    .. [6] T. B. Berrett, Y. Wang, R. F. Barber, R. J. Samworth, "The conditional permutation test for independence
       while controlling for confounders", JRSS B 82, 2020.

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

    Feature 3 follows age, and so does the label. Given age, it says nothing:

    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(size=200)
    >>> y = age + rng.logistic(size=200) / 2 > 0
    >>> X = rng.normal(size=(200, 8))
    >>> X[:, 3] = age + rng.normal(size=200) / 2
    >>> permutation_test(ReliefF(), X, y, n_permutations=99).discoveries()
    ['x3']
    >>> permutation_test(ReliefF(), X, y, n_permutations=99, covariates=age).discoveries()
    []
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
    if X.ndim != 2 or X.shape[1] == 0:
        raise InvalidDataError(f"X must be a table of rows and features; got shape {X.shape}")
    check_consistent_length(X, y)
    groups = None if groups is None else check_groups(groups, len(y))
    if groups is not None and covariates is not None:
        raise InvalidDataError(
            "permutation_test takes groups or covariates, not both: labels exchanged between groups would not depend "
            "on the covariates any more. If labels differ within groups, give the groups as a further covariate of text"
        )
    _warn_of_few(n_permutations, X.shape[1], fdr, null, float(level))
    kind = decide_target_type(y, target_type, expected_target(weigher))
    weigher = told_model(weigher, y, kind)
    known = None if covariates is None else check_covariates(covariates, len(y))
    # Each permutation has its own seed, so that results do not depend on the number of jobs.
    own, *children = seed_sequence(random_state).spawn(n_permutations + 1)
    permuter = choose_permuter(
        y, numeric=kind == "numeric", groups=groups, covariates=known, random=np.random.default_rng(own)
    )
    fit_params = {"covariates": covariates} if known is not None and has_fit_parameter(weigher, "covariates") else {}
    scores = fit_feature_scores(weigher, X, y, np.arange(len(y)), integer_seed(own), fit_params)
    # Weighers of this library compare the rows once per call, so each job gets as many permutations as it can have.
    size = -(-n_permutations // effective_n_jobs(n_jobs)) if isinstance(weigher, FeatureWeigher) else 1
    fits = Parallel(n_jobs=n_jobs)(
        delayed(_fit_to_permuted_labels)(weigher, X, permuter, children[begin : begin + size], fit_params)
        for begin in range(0, n_permutations, size)
    )
    permuted = np.stack([weights for some in fits for weights in some])
    p_values, familywise = null_p_values(scores, permuted, null)
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
        permuter.scheme,
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
