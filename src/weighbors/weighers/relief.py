"""RELIEF with k neighbours, RelievedF, ReliefF and RReliefF: weigh features by differences to near rows.

Each method is a function from neighbours and target to signed coefficients, as its paper prints it. `score` finds the
neighbours, asks the method, and sums coefficient · |x − z|. A single fit is the case of one target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from .._random import draw_rows
from .._typing import FloatArray, IndexArray
from ..engine.listed import LISTS, ListedPairs
from ..exceptions import InvalidDataError
from .base import TIES, CodedTable, ContributionWeigher, warn_of_few_neighbors
from .neighbors import Neighbors, find_neighbors, rank_rows, share_slots, tolerance
from .rows import FitTarget, Instances, TrainingRows

_MOST_TOGETHER = 16  # fits whose sums are computed together; more of them gain less than 5 %
_TOGETHER_BYTES = 64 * 2**20  # memory for them

#: A method: the coefficient of each neighbour, of shape (n, n_lists, width). A feature gains by differences to
#: neighbours whose coefficient is positive.
Rule = Callable[[Neighbors, TrainingRows], FloatArray]


def relief(near: Neighbors, rows: TrainingRows) -> FloatArray:
    """Return RELIEF's coefficients (paper 001, algorithm 1).

    Σ_x Σ_{c ≠ l(x)} Σ_{z ∈ KNN(x, c)} |x − z| − Σ_{z ∈ KNN(x, l(x))} |x − z|.
    """
    own = rows.codes[near.query]
    sign = np.where(np.arange(near.row.shape[1])[None, :] == own[:, None], -1.0, 1.0)
    signed: FloatArray = sign[:, :, None] * near.share * rows.weight[near.query][:, None, None]
    return signed


def relievedf(near: Neighbors, rows: TrainingRows, k: int, ties: str) -> FloatArray:
    """Return RELIEF's coefficients with the k nearest misses of all other classes together (paper 000, section 2)."""
    own = rows.codes[near.query]
    hit = np.arange(near.row.shape[1])[None, :] == own[:, None]
    # A hit must not take the slot of a miss: at an infinite distance it comes last.
    distance = np.where(hit[:, :, None], np.inf, near.distance).reshape(len(own), -1)
    row = np.where(np.isfinite(distance), near.row.reshape(len(own), -1), np.iinfo(np.int64).max)
    # Misses of all classes are merged by distance and row, and then share the slots as those of one class do.
    order = np.lexsort((row, distance), axis=-1)
    ranked = np.take_along_axis(distance, order, axis=-1)
    share = np.empty_like(ranked, dtype=np.float64)
    slots = share_slots(ranked, k, ties=ties, tol=tolerance(rows.dtype))
    # Shares go back to the places of the neighbours before the sort, where the kernel expects them.
    np.put_along_axis(share, order, slots, axis=-1)
    signed: FloatArray = np.where(hit[:, :, None], -near.share, share.reshape(near.share.shape))
    return signed * rows.weight[near.query][:, None, None]


def prior_ratios(codes: IndexArray, n_classes: int) -> FloatArray:
    """Return how much a miss of each class counts for an instance of each class.

    The entry (own class, class of the miss) is P(miss) / (1 − P(own)), so that each row sums to 1; the diagonal is 0.
    """
    prior = np.bincount(codes, minlength=n_classes) / len(codes)
    ratio: FloatArray = prior[None, :] / (1.0 - prior[:, None])
    np.fill_diagonal(ratio, 0.0)
    return ratio


def relieff(near: Neighbors, rows: TrainingRows) -> FloatArray:
    """Return the coefficients of Kononenko's ReliefF.

    The mean difference to the k nearest misses of each class, weighed by the prior of the class, less the mean
    difference to the k nearest hits; the result is the mean over all instances.
    """
    own = rows.codes[near.query]
    # Kononenko: misses of class c count P(c) / (1 − P(own class)), hits count −1.
    sign = prior_ratios(rows.codes, rows.n_classes)[own]
    sign[np.arange(len(own)), own] = -1.0
    filled = np.maximum(near.share.sum(axis=2), 1e-300)  # A class without neighbours adds 0, not 0 / 0.
    scale = sign / filled * rows.weight[near.query][:, None] / rows.weight.sum()
    signed: FloatArray = scale[:, :, None] * near.share
    return signed


def rrelieff(near: Neighbors, rows: TrainingRows) -> FloatArray:
    """Return the coefficients of RReliefF's two sums (Robnik-Šikonja & Kononenko 2003, figure 3).

    They are u |Δy| and u (1 − |Δy|), where Δy is the difference of the target, divided by its range, and the u of one
    row sum to its share in all rows.
    """
    assert rows.target is not None
    target = (rows.target - rows.target.min()) / np.ptp(rows.target)
    share = rows.weight[near.query] / rows.weight.sum()
    u = near.share * (share[:, None] / near.share.sum(axis=2))[:, :, None]
    dy = np.abs(target[near.query][:, None, None] - target[near.row])
    return np.concatenate([u * dy, u * (1.0 - dy)], axis=1)


@dataclass(frozen=True)
class FitSums:
    """Sums of one fit over all rows and their neighbours."""

    differences: FloatArray  # (n_outputs, n_features), Σ coefficient · |x − z|
    coefficients: FloatArray  # (n_lists,), Σ coefficient


def score(
    rows: TrainingRows,
    targets: Sequence[FitTarget],
    rule: Rule,
    k: int,
    *,
    output_row: Callable[[Neighbors, TrainingRows], IndexArray] | None = None,
    n_outputs: int = 1,
    **search: Any,
) -> list[FitSums]:
    """Find the neighbours of rows, ask a method for their coefficients, and return its sums, for each target.

    Distances are measured once for all targets. Each target gets the same bits as alone.

    Parameters
    ----------
    rows : TrainingRows
        In memory or in blocks. With several targets, they must be in memory.
    targets : sequence of FitTarget
    rule : callable
        The method.
    k : int
        Number of neighbours.
    output_row : callable or None
        Function of the same arguments as ``rule`` that returns the row of the result to which each term is added.
        None: terms are added to the row 0.
    n_outputs : int
        Number of rows of the result.
    **search
        Further arguments of `find_neighbors`.
    """
    ranked = rank_rows(rows, targets[0], k) if len(targets) > 1 else None
    differences = [np.zeros((n_outputs, rows.n_features)) for _ in targets]
    coefficients: list[Any] = [0.0] * len(targets)
    waiting: list[tuple[int, TrainingRows, ListedPairs]] = []

    def add_waiting() -> None:
        """Add the sums of all lists that wait."""
        sums = rows.sum_complete([lists for _, _, lists in waiting])
        for (number, fit, lists), total in zip(waiting, sums, strict=True):
            differences[number] += total if rows.plain else fit.add_incomplete(lists, total)
        waiting.clear()

    for number, target in enumerate(targets):
        fit = rows.with_target(target)
        for near in find_neighbors(fit, k, ranked=ranked, **search):
            coefficient = rule(near, fit)
            coefficients[number] += np.array([part.sum() for part in coefficient.swapaxes(0, 1)])
            to = np.zeros(1, dtype=np.int64) if output_row is None else output_row(near, fit)
            waiting.append((number, fit, near.list_pairs(coefficient, to, n_outputs)))
            alone = len(targets) == 1 or len(waiting) == _MOST_TOGETHER
            if alone or _bytes_of(waiting, rows.n_features) > _TOGETHER_BYTES:
                add_waiting()
    if waiting:
        add_waiting()
    return [FitSums(one, other) for one, other in zip(differences, coefficients, strict=True)]


def _bytes_of(waiting: Sequence[tuple[int, TrainingRows, ListedPairs]], n_features: int) -> int:
    """Return the memory that lists take in several arrays, and the sums of their chunks."""
    total = 0
    for _, _, lists in waiting:
        total += 64 * lists.neighbor.size + 8 * lists.n_output_rows * n_features * -(-len(lists.query) // LISTS)
    return total


@dataclass(eq=False, repr=False)
class NeighborWeigher(ContributionWeigher):
    """Base class of the weighers that look at the k nearest hits and misses: a subclass brings its rule."""

    n_neighbors: int = 10
    _: KW_ONLY
    ties: str = "share"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ContributionWeigher._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "ties": [TIES],
    }
    _scaled: ClassVar[bool] = False
    _p: ClassVar[int] = 2
    _misses: ClassVar[str] = "each"  # k misses are sought in each other class

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the weights from the k nearest hits and misses."""
        target, rows = self._target(table), Instances.of(table, scaled=self._scaled, p=self._p, n_jobs=self.n_jobs)
        return self._finish(score(rows, [target], self._rule, self.n_neighbors, **self._search())[0])

    @classmethod
    def fit_tables(cls, weighers: Sequence[Any], tables: Sequence[CodedTable]) -> list[FloatArray]:
        """Learn the weights of several fits to the same rows, whose distances are measured once."""
        if cls.fit_weights is not NeighborWeigher.fit_weights:  # a subclass learns in a way of its own
            return super().fit_tables(weighers, tables)
        targets = [weigher._target(table) for weigher, table in zip(weighers, tables, strict=True)]
        one = weighers[0]
        rows = Instances.of(tables[0], scaled=cls._scaled, p=cls._p, n_jobs=one.n_jobs)
        sums = score(rows, targets, one._rule, one.n_neighbors, **one._search())
        return [weigher._finish(found) for weigher, found in zip(weighers, sums, strict=True)]

    def _target(self, table: CodedTable) -> FitTarget:
        """Return what `score` needs to know of a table beside its rows. Warn if a class has too few neighbours."""
        warn_of_few_neighbors(table.classes, table.codes, self.n_neighbors, misses=self._misses)
        if not table.sample_weight.any():
            raise InvalidDataError("at least one of the rows that count must have a positive sample weight")
        return FitTarget(table.codes, table.n_groups, table.sample_weight, np.arange(len(table.codes)), table.target)

    def _search(self) -> dict[str, Any]:
        """Return further arguments of `score`."""
        return {"ties": self.ties}

    def _rule(self, near: Neighbors, rows: TrainingRows) -> FloatArray:
        """Return the coefficients of the neighbours."""
        raise NotImplementedError

    def _finish(self, sums: FitSums) -> FloatArray:
        """Return the published weights."""
        weights: FloatArray = sums.differences[0]
        return weights


@dataclass(eq=False, repr=False)
class Relief(NeighborWeigher):
    """RELIEF over all instances, with k neighbours in every class.

    Each instance adds its differences to the k nearest rows of every other class, and subtracts those to the k
    nearest rows of its own class. Neighbours are Euclidean, features are not scaled, and classes have no priors
    (paper 001, algorithm 1).

    Parameters
    ----------
    n_neighbors : int, default=1
        Neighbours per class.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    ties : {"share", "index"}, default="share"
        What happens to neighbours tied at the k-th distance. "share": they share its slots, so that the order of rows
        does not matter (distances within a relative 1e-10 of each other are tied; 1e-5 for float32). "index": the
        rows with lower numbers are taken.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns that differ by 0 or 1.
    n_jobs : int, optional
        Threads. Results do not depend on it.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        The weights as the paper prints them, which may be negative. ``feature_importances_`` has 0 for these.
    weights_ : Weights
        Weights for a k-NN, in which negative weights are 0.
    support_ : bool ndarray of shape (n_features,)
    classes_ : ndarray of shape (n_classes,)

    References
    ----------
    .. [1] E. Marchiori, "Class dependent feature weighting and K-nearest neighbor classification",
       PRIB 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import Relief
    >>> X, y = load_iris(return_X_y=True)
    >>> Relief(n_neighbors=1).fit(X, y).feature_weights_.argsort()[::-1]
    array([2, 3, 1, 0])
    """

    n_neighbors: int = 1

    def _rule(self, near: Neighbors, rows: TrainingRows) -> FloatArray:
        """Return the coefficients of the neighbours."""
        return relief(near, rows)


@dataclass(eq=False, repr=False)
class RelievedF(NeighborWeigher):
    """Deterministic RELIEF with l nearest hits and l nearest misses (paper 000, section 2).

    Misses are taken over all other classes together, and every instance is used once. Neighbours are Euclidean, and
    features are not scaled.

    Parameters
    ----------
    n_neighbors : int, default=1
        Number l of hits and of misses.
    n_features_to_select, ties, categorical_features, n_jobs
        As in `Relief`.

    Attributes
    ----------
    feature_weights_, weights_, support_, classes_
        As in `Relief`.

    References
    ----------
    .. [1] G. Prat, L. A. Belanche, "Instance and feature weighted k-nearest-neighbours algorithm",
       ESANN 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import RelievedF
    >>> X, y = load_iris(return_X_y=True)
    >>> RelievedF(3, n_features_to_select=2).fit_transform(X, y).shape
    (150, 2)
    """

    n_neighbors: int = 1

    _misses = "together"

    def _rule(self, near: Neighbors, rows: TrainingRows) -> FloatArray:
        """Return the coefficients of the neighbours."""
        return relievedf(near, rows, self.n_neighbors, self.ties)


@dataclass(eq=False, repr=False)
class SampledWeigher(NeighborWeigher):
    """Base class of ReliefF and RReliefF, which can draw rows and weigh neighbours by rank."""

    _: KW_ONLY
    sigma: float | None = None
    n_samples: int | None = None
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborWeigher._parameter_constraints,
        "sigma": [None, Interval(Real, 0, None, closed="neither")],
        "n_samples": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    _scaled = True
    _p = 1

    def _target(self, table: CodedTable) -> FitTarget:
        """Return what `score` needs to know, for the rows that are drawn. Set ``sample_indices_``."""
        n = len(table.codes)
        self.sample_indices_ = np.arange(n)
        if self.n_samples is not None:
            self.sample_indices_ = draw_rows(n, self.n_samples, self.random_state)
            # Only the drawn rows contribute. Their neighbours may be any rows.
            drawn = np.zeros(n, dtype=bool)
            drawn[self.sample_indices_] = True
            table = replace(table, sample_weight=np.where(drawn, table.sample_weight, 0.0))
        return replace(super()._target(table), asked=self.sample_indices_)

    def _search(self) -> dict[str, Any]:
        """Return further arguments of `score`."""
        return {"ties": self.ties, "sigma": self.sigma}


@dataclass(eq=False, repr=False)
class ReliefF(SampledWeigher):
    """ReliefF: RELIEF with range-scaled differences, priors of the classes, and means over neighbours.

    Neighbours are found by city-block distance on range-scaled features; categories differ by 0 or 1. In the search,
    a missing value is at full range; in the score it counts by its expected difference. Scores lie between -1 and 1.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of hits, and of misses per class.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    sigma : float or None, default=None
        Width of the weights by rank, about the number of neighbours that count: the neighbour of rank r counts
        exp(−(r / sigma)²), and neighbours at equal distances share their ranks, so that each counts the mean of these
        (with ``ties="index"`` the lower row has the lower rank). None: all k neighbours count alike.
    n_samples : int or None, default=None
        Number of rows that are drawn at random and compared with all rows. None: all rows, which takes time that grows
        with the square of their number.
    ties : {"share", "index"}, default="share"
        What happens to neighbours tied at the k-th distance. "share": they share its slots, so that the order of rows
        does not matter (distances within a relative 1e-10 of each other are tied; 1e-5 for float32). "index": the
        rows with lower numbers are taken.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns that differ by 0 or 1.
    random_state : int, RandomState or None, default=None
        Seed for drawing the rows, if ``n_samples`` is given.
    n_jobs : int, optional
        Threads. Results do not depend on it.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        The weights as the paper prints them, which may be negative. ``feature_importances_`` has 0 for these.
    weights_ : Weights
        Weights for a k-NN, in which negative weights are 0.
    support_ : bool ndarray of shape (n_features,)
    sample_indices_ : ndarray of int
        The rows that were drawn, in ascending order; all rows if ``n_samples`` is None.
    classes_ : ndarray of shape (n_classes,)

    References
    ----------
    .. [1] M. Robnik-Šikonja, I. Kononenko, "Theoretical and empirical analysis of ReliefF and
       RReliefF", Machine Learning 53, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import ReliefF
    >>> X, y = load_iris(return_X_y=True)
    >>> ReliefF(n_neighbors=10, ties="index").fit(X, y).feature_weights_.round(3)
    array([0.14 , 0.123, 0.359, 0.375])
    """

    def _rule(self, near: Neighbors, rows: TrainingRows) -> FloatArray:
        """Return the coefficients of the neighbours."""
        return relieff(near, rows)


@dataclass(eq=False, repr=False)
class RReliefF(SampledWeigher):
    """RReliefF: ReliefF for a number to predict.

    A feature gains where it differs between near rows whose targets differ, and loses where it differs between near
    rows whose targets are alike. Neighbours are found by city-block distance on range-scaled features, categories
    differ by 0 or 1, and the differences of the target are divided by its range. Scores lie between -1 and 1.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours.
    n_features_to_select, sigma, n_samples, ties, categorical_features, random_state, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    feature_weights_, weights_, support_, sample_indices_
        As in `ReliefF`.
    target_type_ : str
        "numeric".

    See Also
    --------
    ReliefF : The same for classes.
    MultiSURF : Needs no number of neighbours; takes numeric targets, too.

    Notes
    -----
    With sums over every row x and its k nearest rows z, where the u of one x sum to its share in all rows, ::

        N_dC = Σ u |Δy|,   N_dA_j = Σ u |Δ_j|,   N_dC&dA_j = Σ u |Δy| |Δ_j|

    and Δy divided by the range of the target, the score is N_dC&dA_j / N_dC − (N_dA_j − N_dC&dA_j) / (1 − N_dC): the
    mean difference of the feature where the target differs, less that where it does not. A term without such pairs
    counts 0: the first one if no pair of neighbours differs in its target (as if all rows were doubled and
    ``n_neighbors=1``), the second one if all of them differ by the full range.

    In the search, a missing value is at full range, as in `ReliefF`. In the score it counts by its expected difference.
    `ReliefF` takes the mean over the known values of the class of the row that lacks the value; here all rows are of
    one group, so that it is the mean over all known values of the column.

    References
    ----------
    .. [1] M. Robnik-Šikonja, I. Kononenko, "Theoretical and empirical analysis of ReliefF and
       RReliefF", Machine Learning 53, 2003.

    Examples
    --------
    Two features that say something about the target only together:

    >>> import numpy as np
    >>> from weighbors import RReliefF
    >>> X = np.random.default_rng(0).normal(size=(300, 6))
    >>> weigher = RReliefF(n_neighbors=10, n_features_to_select=2).fit(X, X[:, 1] * X[:, 4])
    >>> weigher.get_support(indices=True)
    array([1, 4])
    """

    _takes_numeric_targets = True

    def _search(self) -> dict[str, Any]:
        """Return further arguments of `score`: each list of coefficients has a sum of its own."""
        return {**super()._search(), "output_row": lambda near, rows: np.array([[0], [1]]), "n_outputs": 2}

    def _rule(self, near: Neighbors, rows: TrainingRows) -> FloatArray:
        """Return the coefficients of the neighbours."""
        return rrelieff(near, rows)

    def _finish(self, sums: FitSums) -> FloatArray:
        """Return the mean difference where the target differs, less that where it does not."""
        total, number = sums.differences, sums.coefficients[:, None]
        mean = np.divide(total, number, out=np.zeros_like(total), where=number > 0)
        scores: FloatArray = mean[0] - mean[1]
        return scores
