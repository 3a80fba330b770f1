"""RELIEF with k neighbours, RelievedF, ReliefF and RReliefF: weigh features by differences to near rows.

Each method is a function from neighbours and target to signed coefficients, as its paper prints it. `score` finds the
neighbours, asks the method, and sums coefficient · |x − z|. A single fit is the case of one target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from .._random import draw_rows
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables.coded import CodedTable, takes_coded_tables
from .base import TIES, FeatureWeigher, code_table, warn_of_few_neighbors
from .neighbors import Neighbors, find_neighbors, rank_rows, share_slots
from .rows import LISTS, Instances, ListedPairs, open_rows

_MOST_TOGETHER = 16  # fits whose sums are computed together; more of them gain less than 5 %
_TOGETHER_BYTES = 64 * 2**20  # memory for them

#: A method: the coefficient of each neighbour, of shape (n, n_lists, width). A feature gains by differences to
#: neighbours whose coefficient is positive.
Rule = Callable[[Neighbors, CodedTable], FloatArray]


def relief(near: Neighbors, target: CodedTable) -> FloatArray:
    """Return RELIEF's coefficients (paper 001, algorithm 1).

    Σ_x Σ_{c ≠ l(x)} Σ_{z ∈ KNN(x, c)} |x − z| − Σ_{z ∈ KNN(x, l(x))} |x − z|.
    """
    own = target.codes[near.query]
    sign = np.where(np.arange(target.n_groups) == own[:, None], -1.0, 1.0)
    signed: FloatArray = sign[:, :, None] * near.share * target.sample_weight[near.query][:, None, None]
    return signed


def relievedf(near: Neighbors, target: CodedTable, k: int, ties: str) -> FloatArray:
    """Return RELIEF's coefficients with the k nearest misses of all other classes together (paper 000, section 2)."""
    own = target.codes[near.query]
    hit = np.arange(target.n_groups) == own[:, None]
    # A hit must not take the slot of a miss: at an infinite distance it comes last.
    distance = np.where(hit[:, :, None], np.inf, near.distance).reshape(len(own), -1)
    row = np.where(np.isfinite(distance), near.row.reshape(len(own), -1), np.iinfo(np.int64).max)
    # Misses of all classes are merged by distance and row, and then share the slots as those of one class do.
    order = np.lexsort((row, distance), axis=-1)
    share = np.empty(distance.shape)
    # Shares go back to the places of the neighbours before the sort, where the kernel expects them.
    slots = share_slots(np.take_along_axis(distance, order, axis=-1), k, ties)
    np.put_along_axis(share, order, slots, axis=-1)
    signed: FloatArray = np.where(hit[:, :, None], -near.share, share.reshape(near.share.shape))
    return signed * target.sample_weight[near.query][:, None, None]


def prior_ratios(codes: IndexArray, n_classes: int) -> FloatArray:
    """Return how much a miss of each class counts for an instance of each class.

    The entry (own class, class of the miss) is P(miss) / (1 − P(own)), so that each row sums to 1; the diagonal is 0.
    """
    prior = np.bincount(codes, minlength=n_classes) / len(codes)
    ratio: FloatArray = prior[None, :] / (1.0 - prior[:, None])
    np.fill_diagonal(ratio, 0.0)
    return ratio


def relieff(near: Neighbors, target: CodedTable) -> FloatArray:
    """Return the coefficients of Kononenko's ReliefF.

    The mean difference to the k nearest misses of each class, weighed by the prior of the class, less the mean
    difference to the k nearest hits; the result is the mean over all instances.
    """
    own = target.codes[near.query]
    # Kononenko: misses of class c count P(c) / (1 − P(own class)), hits count −1.
    sign = prior_ratios(target.codes, target.n_groups)[own]
    sign[np.arange(len(own)), own] = -1.0
    filled = np.maximum(near.share.sum(axis=2), 1e-300)  # A class without neighbours adds 0, not 0 / 0.
    scale = sign / filled * target.sample_weight[near.query][:, None] / target.sample_weight.sum()
    signed: FloatArray = scale[:, :, None] * near.share
    return signed


def rrelieff(near: Neighbors, target: CodedTable) -> FloatArray:
    """Return the coefficients of RReliefF's two sums (Robnik-Šikonja & Kononenko 2003, figure 3).

    They are u |Δy| and u (1 − |Δy|), where Δy is the difference of the target, divided by its range, and the u of one
    row sum to its share in all rows.
    """
    assert target.numbers is not None
    y = (target.numbers - target.numbers.min()) / np.ptp(target.numbers)
    share = target.sample_weight[near.query] / target.sample_weight.sum()
    u = near.share * (share[:, None] / near.share.sum(axis=2))[:, :, None]
    dy = np.abs(y[near.query][:, None, None] - y[near.row])
    return np.concatenate([u * dy, u * (1.0 - dy)], axis=1)


def score(
    rows: Instances,
    targets: Sequence[CodedTable],
    rule: Rule,
    k: int,
    *,
    output_row: Callable[[Neighbors, CodedTable], IndexArray] | None = None,
    n_outputs: int = 1,
    **search: Any,
) -> list[tuple[FloatArray, FloatArray]]:
    """Find the neighbours of rows, ask a method for their coefficients, and return its sums, for each target.

    Distances are measured once for all targets. Each target gets the same bits as alone.

    Parameters
    ----------
    rows : Instances
        In memory or in blocks. With several targets, they must be in memory.
    targets : sequence of CodedTable
        Their ``rows`` are not used.
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

    Returns
    -------
    list of (ndarray of shape (n_outputs, n_features), ndarray of shape (n_lists,))
        For each target, Σ coefficient · |x − z| and Σ coefficient over all rows and their neighbours.
    """
    ranked = rank_rows(rows, targets[0], k) if len(targets) > 1 else None
    differences = [np.zeros((n_outputs, rows.n_features)) for _ in targets]
    coefficients: list[Any] = [0.0] * len(targets)
    waiting: list[tuple[int, ListedPairs]] = []

    def add_waiting() -> None:
        """Add the sums of all lists that wait."""
        sums = rows.sum_complete([lists for _, lists in waiting])
        for (number, lists), total in zip(waiting, sums, strict=True):
            differences[number] += total if rows.plain else rows.add_incomplete(total, lists, targets[number])
        waiting.clear()

    for number, target in enumerate(targets):
        if not target.sample_weight.any():
            raise InvalidDataError("at least one of the rows that count must have a positive sample weight")
        for near in find_neighbors(rows, target, k, ranked=ranked, **search):
            coefficient = rule(near, target)
            coefficients[number] += np.array([part.sum() for part in coefficient.swapaxes(0, 1)])
            to = np.zeros(1, dtype=np.int64) if output_row is None else output_row(near, target)
            # If there are more lists than classes, each has the same neighbours.
            row, to = (np.broadcast_to(part, coefficient.shape).reshape(len(near.query), -1) for part in (near.row, to))
            # Places without a neighbour must not add anything, whatever coefficient they have.
            known = np.where(row >= 0, coefficient.reshape(row.shape), 0.0)
            waiting.append((number, ListedPairs(near.query, row, known, to, n_outputs)))
            if len(targets) == 1 or len(waiting) == _MOST_TOGETHER or _bytes_of(waiting, rows) > _TOGETHER_BYTES:
                add_waiting()
    if waiting:
        add_waiting()
    return list(zip(differences, coefficients, strict=True))


def _bytes_of(waiting: Sequence[tuple[int, ListedPairs]], rows: Instances) -> int:
    """Return the memory that lists take in several arrays, and the sums of their chunks."""
    total = 0
    for _, lists in waiting:
        total += 64 * lists.neighbor.size + 8 * lists.n_output_rows * rows.n_features * -(-len(lists.query) // LISTS)
    return total


@dataclass(eq=False, repr=False)
class NeighborWeigher(FeatureWeigher):
    """Base class of the weighers that look at the k nearest hits and misses: a subclass brings `score_targets`."""

    n_neighbors: int = 10
    _: KW_ONLY
    ties: str = "share"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureWeigher._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "ties": [TIES],
    }
    _takes_blocks: ClassVar[bool] = True
    _scaled: ClassVar[bool] = False
    _p: ClassVar[int] = 2
    _misses: ClassVar[str] = "each"  # k misses are sought in each other class

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Weigh the features by differences to the k nearest hits and misses.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Or a table that is read in blocks: a Dask collection, the path of a parquet folder or an npy file, or a
            mapped array. The weights are the same to the bit.
        y : array-like of shape (n_samples,)
            Or the name of a column of a table in blocks.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies what an instance contributes.

        Returns
        -------
        self
        """
        table = self.choose_rows(code_table(self, X, y, sample_weight))
        rows = open_rows(table, scaled=self._scaled, p=self._p, n_jobs=self.n_jobs)
        return self._publish(table.rows, self.score_targets(rows, [table])[0])

    @classmethod
    def fit_tables(cls, weighers: Sequence[Any], tables: Sequence[CodedTable]) -> list[FloatArray]:
        """Learn the weights of several fits to the same rows, whose distances are measured once."""
        first, table = weighers[0], tables[0]
        rows = open_rows(table, scaled=first._scaled, p=first._p, n_jobs=first.n_jobs)
        targets = [weigher.choose_rows(table) for weigher, table in zip(weighers, tables, strict=True)]
        weights: list[FloatArray] = first.score_targets(rows, targets)
        return weights

    def choose_rows(self, table: CodedTable) -> CodedTable:
        """Return the table with the rows that contribute: here all. Warn if a class has too few neighbours."""
        warn_of_few_neighbors(table.classes, table.codes, self.n_neighbors, misses=self._misses)
        return table

    def score_targets(self, rows: Instances, targets: Sequence[CodedTable]) -> list[FloatArray]:
        """Return the published weights for each target."""
        raise NotImplementedError


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

    def score_targets(self, rows: Instances, targets: Sequence[CodedTable]) -> list[FloatArray]:
        """Return the weights for each target."""
        sums = score(rows, targets, relief, self.n_neighbors, ties=self.ties)
        return [differences[0] for differences, _ in sums]


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

    def score_targets(self, rows: Instances, targets: Sequence[CodedTable]) -> list[FloatArray]:
        """Return the weights for each target."""
        rule = partial(relievedf, k=self.n_neighbors, ties=self.ties)
        sums = score(rows, targets, rule, self.n_neighbors, ties=self.ties)
        return [differences[0] for differences, _ in sums]


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

    def choose_rows(self, table: CodedTable) -> CodedTable:
        """Return the table with the rows that are drawn, whose neighbours may be any rows. Set ``sample_indices_``."""
        n = len(table.codes)
        warn_of_few_neighbors(table.classes, table.codes, self.n_neighbors, misses=self._misses)
        self.sample_indices_ = np.arange(n)
        if self.n_samples is None:
            return table
        self.sample_indices_ = draw_rows(n, self.n_samples, self.random_state)
        weight = np.zeros(n)
        weight[self.sample_indices_] = table.sample_weight[self.sample_indices_]
        return replace(table, given_weight=weight, drawn=self.sample_indices_)


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

    def score_targets(self, rows: Instances, targets: Sequence[CodedTable]) -> list[FloatArray]:
        """Return the weights for each target."""
        sums = score(rows, targets, relieff, self.n_neighbors, ties=self.ties, sigma=self.sigma)
        return [differences[0] for differences, _ in sums]


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

    def score_targets(self, rows: Instances, targets: Sequence[CodedTable]) -> list[FloatArray]:
        """Return the mean difference where the target differs, less that where it does not, for each target."""
        weights = []
        for total, number in score(
            rows,
            targets,
            rrelieff,
            self.n_neighbors,
            ties=self.ties,
            sigma=self.sigma,
            output_row=lambda near, target: np.array([[0], [1]]),
            n_outputs=2,
        ):
            mean = np.divide(total, number[:, None], out=np.zeros_like(total), where=number[:, None] > 0)
            weights.append(mean[0] - mean[1])
        return weights
