"""NPDR: nearest-neighbour projected-distance regression (Le, Dawkins & McKinney 2020)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.special import erf
from scipy.stats import false_discovery_control, norm
from scipy.stats import t as student
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._random import generators
from .._typing import AnyArray, FloatArray, IndexArray
from .._warnings import warn
from ..exceptions import InvalidDataError, SeparatedPairsWarning, UnusedCovariateWarning
from ..tables.coded import CodedTable, takes_coded_tables
from ..tables.covariates import Covariates, check_covariates, independent_columns
from ..tables.targets import TARGET_TYPES
from .base import TIES, FeatureWeigher, code_table, warn_of_few_neighbors
from .null_weights import null_p_values
from .pair_regression import NeighborPairs, PairModel, find_pairs, regress_pairs, score_statistics
from .permutations import choose_permuter
from .rows import Instances


def expected_neighbors(n: int, deviations: float = 0.5) -> int:
    """Return how many neighbours MultiSURF is expected to find for each of ``n`` rows.

    MultiSURF takes all rows that are nearer than the mean distance less half a standard deviation. If distances are
    normal, this is the share (1 − erf(½ / √2)) / 2 = 0.3085 of the other rows. The result is
    ⌊(n − 1)(1 − erf(deviations / √2)) / 2⌋, and at least 1 (Le, Dawkins & McKinney 2020).

    Examples
    --------
    >>> expected_neighbors(200), expected_neighbors(3)
    (61, 1)
    """
    return max(1, int((n - 1) * (1 - erf(deviations / np.sqrt(2))) / 2))


def pair_outcomes(y: AnyArray, first: IndexArray, second: IndexArray, *, numeric: bool) -> FloatArray:
    """Return the outcome of each pair: 1 for a miss and 0 for a hit, or |Δy| for a numeric target."""
    if numeric:
        return np.abs(y[first].astype(np.float64) - y[second])
    return (y[first] != y[second]).astype(np.float64)


@dataclass(eq=False, repr=False)
class NPDR(FeatureWeigher):
    """NPDR: weigh each feature by a regression over pairs of neighbours, adjusted for covariates.

    Each row and its k nearest rows make pairs. For each feature, a logistic regression says whether a pair is a miss
    (two classes) or a hit (one class), given the difference of the feature. For a numeric target, a linear
    regression says how much the targets of a pair differ. The differences of covariates, such as age, sex and
    batch, are in each regression, too, so that a feature that only follows a covariate gets no credit for it.

    Neighbours are found by city-block distance on range-scaled features, whatever their class is. Categories differ by
    0 or 1. In the search, a missing value is at full range; in the regression it counts by its expected difference to
    all known values of its column.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number k of neighbours. "auto": ⌊0.3085 (n_samples − 1)⌋, the number that MultiSURF is expected to find
        (`expected_neighbors`).
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    n_permutations : int, default=0
        0: ``p_values_`` are those of the regressions, as in the paper. They are too small, since pairs that share a row
        are not independent (see the notes). A positive number: ``p_values_`` come from so many permutations of the
        target, given the covariates, which is valid.
    null : {"pooled", "feature"}, default="pooled"
        What a feature is compared with under permutations, as in `permutation_test`.
    pairs : {"unique", "all"}, default="unique"
        "unique": a pair of rows that are neighbours of each other counts once. "all": it counts twice, as in the
        default of the authors' program, which makes the p-values of the regressions smaller still.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": floats are a numeric target if one of them is no whole number or if many differ; all
        else is classes.
    ties : {"share", "index"}, default="share"
        What happens to neighbours tied at the k-th distance. "share": they share its slots, so that their pairs count
        less than one, and the order of rows does not matter. "index": the rows with lower numbers are taken.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns that differ by 0 or 1.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.
    n_jobs : int, optional
        Threads. Results do not depend on it.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        Coefficients divided by their standard errors, which may be negative.
    coefficients_ : ndarray of shape (n_features,)
        Coefficients of the regressions, per range of a feature (for categories, from equal to different).
    p_values_ : ndarray of shape (n_features,)
        One-sided, as in the paper: only positive coefficients speak for a feature, since a relevant one differs more
        where the targets differ.
    q_values_ : ndarray of shape (n_features,)
        ``p_values_`` adjusted for the false discovery rate by Benjamini and Hochberg.
    regression_p_values_ : ndarray of shape (n_features,)
        The p-values of the regressions, also if ``p_values_`` come from permutations.
    permutation_scheme_ : str
        How the target was permuted. Only with permutations.
    separated_ : bool ndarray of shape (n_features,)
        Features that, with the covariates, tell hits from misses without error. Their likelihood has no maximum:
        coefficients are those of Firth's penalised likelihood, and weights are score statistics.
    n_neighbors_ : int
    n_pairs_ : int
        Number of different pairs of rows in the regressions.
    covariate_names_ : tuple of str
        The covariates that are in the regressions.
    weights_ : Weights
        Weights for a k-NN, in which negative weights are 0.
    support_ : bool ndarray of shape (n_features,)
    target_type_ : str
        What ``y`` was taken for: "classes" or "numeric".
    target_statement_ : str
        A sentence that says what ``y`` was taken for, why, and how to change that.
    classes_ : ndarray of shape (n_classes,)
        Only for classes.

    See Also
    --------
    MultiSURF : Scores from neighbours as many as NPDR expects, without covariates.
    weighbors.evaluation.permutation_test : p-values of any weigher, given covariates.

    Notes
    -----
    **Pairs are not independent.** A row is in many pairs, and a regression takes each pair for an observation of its
    own. So its p-values are wrong, in most tables far too small; the guide has the figures. Use them to rank, and
    ``n_permutations`` to test. Permutations leave the pairs and all differences as they are, so that many of them cost
    little: they compare score statistics, the slopes of the likelihood at a coefficient of 0.

    With covariates the target is permuted such that it depends on them as before; `permutation_test` says how. The
    covariates are in the regressions by their differences. These need not remove all of their effect: a target can
    depend on age otherwise than pairs depend on the difference of two ages. The p-values of permutations are valid
    nevertheless, if the model of the target given the covariates is.

    **Few features.** Neighbours are near in the sum of all differences. If there are only a few features, they are near
    in each of them, and a relevant feature differs most between rows at the rim, which are hits: its coefficient can
    be negative. Then take all rows, ``n_neighbors=n_samples - 1``.

    p-values of logistic regressions come from the normal distribution, those of linear ones from Student's. Neighbours
    that share a slot have pairs whose weights are below 1; these are taken for numbers of observations.

    References
    ----------
    .. [1] T. T. Le, B. A. Dawkins, B. A. McKinney, "Nearest-neighbor Projected-Distance Regression (NPDR) for detecting
       network interactions with adjustments for multiple tests and confounding", Bioinformatics 36, 2020.
    .. [2] D. Firth, "Bias reduction of maximum likelihood estimates", Biometrika 80, 1993.

    Examples
    --------
    Feature 0 follows age, and so do the classes. Feature 1 tells the classes apart at any age.

    >>> import numpy as np
    >>> from weighbors import NPDR
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 80, size=200)
    >>> y = rng.random(200) < 1 / (1 + np.exp((50 - age) / 6))
    >>> X = rng.normal(size=(200, 10))
    >>> X[:, 0] = age / 10 + rng.normal(size=200) / 2
    >>> X[:, 1] += 2 * y
    >>> np.flatnonzero(NPDR(n_permutations=200, random_state=0).fit(X, y).q_values_ < 0.05)
    array([0, 1])
    >>> adjusted = NPDR(n_permutations=200, random_state=0).fit(X, y, covariates=age)
    >>> np.flatnonzero(adjusted.q_values_ < 0.05)
    array([1])
    """

    n_neighbors: int | str = "auto"
    _: KW_ONLY
    n_permutations: int = 0
    null: str = "pooled"
    pairs: str = "unique"
    target_type: str = "auto"
    ties: str = "share"
    random_state: Any = None

    _takes_numeric_targets: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureWeigher._parameter_constraints,
        "n_neighbors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_permutations": [Interval(Integral, 0, None, closed="left")],
        "null": [StrOptions({"pooled", "feature"})],
        "pairs": [StrOptions({"all", "unique"})],
        "target_type": [TARGET_TYPES],
        "ties": [TIES],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, covariates: Any = None) -> NPDR:
        """Weigh the features.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        covariates : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_covariates), optional
            What the regressions are adjusted for. Columns of text or of a categorical dtype are categories, which
            differ by 0 or 1; all others are numbers, which differ by ``abs(a - b)``. A batch that is coded by numbers
            must be turned into text or categories first. No value may be missing.

        Returns
        -------
        self
        """
        table = code_table(self, X, y)
        self._publish(table.rows, self.fit_weights(table, covariates))
        return self

    def fit_weights(self, table: CodedTable, covariates: Any = None) -> FloatArray:
        """Learn the weights from pairs of neighbours. ``covariates`` are those of `fit`."""
        n, numeric = len(table.codes), table.numbers is not None
        y = table.codes if table.numbers is None else table.numbers
        known = None if covariates is None else check_covariates(covariates, n)
        if n < 2:
            raise InvalidDataError(f"NPDR needs pairs of rows; got {n} row")
        # One group of rows: neighbours and expected differences must not know the classes.
        together = table.without_classes()
        k = expected_neighbors(n) if self.n_neighbors == "auto" else int(self.n_neighbors)
        warn_of_few_neighbors(together.classes, together.codes, k, misses="each")
        self.n_neighbors_ = min(k, n - 1)
        rows = Instances(table.rows, table.nominal, scaled=True, p=1, n_jobs=self.n_jobs)
        pairs = find_pairs(rows, together, self.n_neighbors_, ties=self.ties, unique=self.pairs == "unique")
        self.n_pairs_ = len(pairs.first)
        model = self._model(pairs, pair_outcomes(y, pairs.first, pairs.second, numeric=numeric), not numeric, known)
        self.coefficients_, statistics, self.separated_ = regress_pairs(pairs, model)
        self._warn_of_separation(model)
        tail = norm.sf if model.logistic else student(model.residual_degrees).sf
        # A feature without any difference has the statistic 0, which is no evidence for it.
        self.regression_p_values_ = np.where(statistics == 0, 1.0, tail(statistics))
        self.p_values_ = self.regression_p_values_
        self.__dict__.pop("permutation_scheme_", None)  # an earlier fit may have had permutations
        if self.n_permutations:
            self.p_values_ = self._permute(pairs, model, y, known)
        self.q_values_ = np.asarray(false_discovery_control(self.p_values_))
        return statistics

    def _model(
        self, pairs: NeighborPairs, outcome: FloatArray, logistic: bool, covariates: Covariates | None
    ) -> PairModel:
        """Return outcomes and common columns of the regressions. Covariates that follow from others are left out."""
        design = np.ones((len(pairs.first), 1))
        self.covariate_names_: tuple[str, ...] = ()
        if covariates is not None and len(covariates):
            differences = covariates.pair_differences(pairs.first, pairs.second)
            keep = independent_columns(differences, pairs.weight)
            named = list(zip(covariates.names, keep, strict=True))
            if not keep.all():
                unused = ", ".join(repr(name) for name, kept in named if not kept)
                warn(
                    "the differences of these covariates follow from those of the covariates before them, or are all "
                    f"equal, and are left out of the regressions: {unused}",
                    UnusedCovariateWarning,
                )
            self.covariate_names_ = tuple(name for name, kept in named if kept)
            design = np.column_stack([design, differences[:, keep]])
        model = PairModel(outcome, design, pairs.weight, logistic)
        if model.residual_degrees < 1:
            raise InvalidDataError(
                f"{model.weight.sum():g} pairs of neighbours are too few for a regression with {design.shape[1] + 1} "
                "coefficients. Take a larger n_neighbors or more rows, or fewer covariates"
            )
        return model

    def _permute(
        self, pairs: NeighborPairs, model: PairModel, y: AnyArray, covariates: Covariates | None
    ) -> FloatArray:
        """Return p-values from permutations of the target ``y``."""
        numeric = not model.logistic
        first, *others = generators(self.random_state, self.n_permutations + 1)
        permuter = choose_permuter(y, numeric=numeric, covariates=covariates, random=first)
        self.permutation_scheme_ = permuter.scheme

        def outcome_of(number: int) -> FloatArray:
            """Return the outcomes of the original target, which is number 0, or of a permuted one."""
            target = permuter.draw(others[number - 1]) if number else y
            return pair_outcomes(target, pairs.first, pairs.second, numeric=numeric)

        statistics = score_statistics(pairs, model, outcome_of, self.n_permutations + 1)
        return null_p_values(statistics[0], statistics[1:], self.null)[0]

    def _warn_of_separation(self, model: PairModel) -> None:
        """Warn if no regression, or only Firth's, could be fitted for some features."""
        if model.has_one_outcome:
            what = "differ equally in their target"
            if model.logistic:
                what = "are misses" if model.outcome[0] else "are hits"
            warn(
                f"all pairs of neighbours {what}, so that there is nothing to explain, and no evidence for any "
                "feature. Take a larger n_neighbors",
                SeparatedPairsWarning,
            )
        elif self.separated_.any():
            with_covariates = " together with the covariates" if self.covariate_names_ else ""
            warn(
                f"{int(self.separated_.sum())} feature(s) tell hits from misses without error{with_covariates}, so "
                "that the likelihood has no maximum; their coefficients are Firth's, and their weights are score "
                "statistics (separated_ says which)",
                SeparatedPairsWarning,
            )
