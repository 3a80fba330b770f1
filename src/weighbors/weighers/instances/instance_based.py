"""IB2 and IB3: rows are visited one by one, and only those that are needed join the stored rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..._random import generators
from ..._typing import BoolArray, FloatArray, IndexArray
from .rows import LabelledRows
from .selector import PlainSelector

_BLOCK = 256  # rows whose distances are computed together


def select_ib2(table: LabelledRows, order: IndexArray) -> BoolArray:
    """Return which rows IB2 keeps: the first one, and each one whose nearest kept row has another class.

    Parameters
    ----------
    table : LabelledRows
    order : int ndarray of shape (n,)
        The order in which rows are visited.

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [3.0], [4.0], [1.9]]), np.array([0, 0, 1, 1, 1]), 2)
    >>> select_ib2(table, np.arange(5))
    array([ True, False,  True, False, False])
    """
    kept = np.zeros(table.n, dtype=bool)
    kept[order[0]] = True
    for block in _blocks(order[1:]):
        ranked, nearest = (found[:, 0] for found in table.nearest(block, np.flatnonzero(kept), 1))
        between = _distances(table, block, block)
        for at, row in enumerate(block):
            if table.codes[nearest[at]] == table.codes[row]:
                continue
            kept[row] = True
            # Later rows of the block were compared with the rows that were kept before the block.
            distance = between[:, at]
            closer = (distance < ranked) | ((distance == ranked) & (row < nearest))
            ranked[closer], nearest[closer] = distance[closer], row
    return kept


def _blocks(order: IndexArray) -> Iterator[IndexArray]:
    """Cut the order of rows into blocks."""
    for begin in range(0, len(order), _BLOCK):
        yield order[begin : begin + _BLOCK]


def _distances(table: LabelledRows, rows: IndexArray, stored: IndexArray) -> FloatArray:
    """Return the distances (squared for p = 2) of ``rows`` to ``stored``, infinite from a row to itself."""
    ranked, row = table.nearest(rows, stored, len(stored))
    place = np.empty(table.n, dtype=np.int64)
    place[stored] = np.arange(len(stored))
    found = row >= 0
    distance = np.full((len(rows), len(stored)), np.inf, dtype=ranked.dtype)
    query = np.broadcast_to(np.arange(len(rows))[:, None], row.shape)
    distance[query[found], place[row[found]]] = ranked[found]
    return distance


def success_interval(successes: Any, attempts: Any, z: float) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper end of the confidence interval of a rate (Wilson's score interval).

    Without attempts the interval is 0 to 1.

    Parameters
    ----------
    successes, attempts : array-like
        Numbers of successes and attempts.
    z : float
        Quantile of the normal distribution.

    Examples
    --------
    >>> low, high = success_interval([0, 9], [0, 10], 1.645)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.652]), array([1.   , 0.977]))
    """
    n = np.asarray(attempts, dtype=np.float64)
    rate = np.divide(successes, n, out=np.zeros(n.shape), where=n > 0)
    tried = np.maximum(n, 1)
    middle, width = rate + z * z / (2 * tried), z * np.sqrt(rate * (1 - rate) / tried + (z / (2 * tried)) ** 2)
    low, high = (middle - width) / (1 + z * z / tried), (middle + width) / (1 + z * z / tried)
    return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)


class _Records:
    """How often each stored row was right, and how often each class occurred so far.

    A row is acceptable if the interval of its accuracy lies above the interval of the frequency of its class, and
    poor if it lies below. The two intervals have levels of their own.
    """

    def __init__(self, table: LabelledRows, acceptance: float, removal: float) -> None:
        from scipy.special import ndtri

        self.codes, self.n_classes = table.codes, table.n_classes
        self.z_accept, self.z_remove = (float(ndtri((1 + level) / 2)) for level in (acceptance, removal))
        self.attempts, self.successes = np.zeros(table.n), np.zeros(table.n)
        self.seen = np.zeros(table.n_classes)
        # The lower end of the first interval and the upper end of the second, kept for every row.
        self.low, self.high = np.zeros(table.n), np.ones(table.n)

    def acceptable(self, rows: IndexArray) -> BoolArray:
        """Return which of ``rows`` are acceptable."""
        _, frequent = success_interval(self.seen, np.full(self.n_classes, self.seen.sum()), self.z_accept)
        mask: BoolArray = self.low[rows] > frequent[self.codes[rows]]
        return mask

    def poor(self, rows: IndexArray) -> BoolArray:
        """Return which of ``rows`` are significantly poor."""
        rare, _ = success_interval(self.seen, np.full(self.n_classes, self.seen.sum()), self.z_remove)
        mask: BoolArray = self.high[rows] < rare[self.codes[rows]]
        return mask

    def count(self, rows: IndexArray, code: int) -> None:
        """Count one attempt of each of ``rows`` to classify a row of class ``code``."""
        self.attempts[rows] += 1
        self.successes[rows] += self.codes[rows] == code
        self.low[rows] = success_interval(self.successes[rows], self.attempts[rows], self.z_accept)[0]
        self.high[rows] = success_interval(self.successes[rows], self.attempts[rows], self.z_remove)[1]


def select_ib3(
    table: LabelledRows, order: IndexArray, acceptance: float, removal: float, rng: np.random.Generator
) -> BoolArray:
    """Return which rows IB3 keeps.

    Each visited row x is classified by the nearest acceptable stored row. If no stored row is acceptable, a random
    one of them takes its place. If the class is wrong, x is stored. All stored rows that are at least as near to x as
    that row count an attempt, and those that are significantly poor then are removed. At the end only acceptable rows
    are kept.

    Parameters
    ----------
    table : LabelledRows
    order : int ndarray of shape (n,)
        The order in which rows are visited.
    acceptance, removal : float
        Confidence levels of the two intervals.
    rng : numpy Generator
        It draws the rank of the random row.
    """
    records, stored = _Records(table, acceptance, removal), np.zeros(table.n, dtype=bool)
    for block in _blocks(order):
        columns = np.union1d(np.flatnonzero(stored), block)
        distances = _distances(table, block, columns)
        for x, all_distances in zip(block, distances, strict=True):
            active = stored[columns]
            _visit(x, columns[active], all_distances[active], records, stored, rng)
    kept = np.flatnonzero(stored)
    stored[kept[~records.acceptable(kept)]] = False
    return stored


def _visit(
    x: int, rows: IndexArray, distance: FloatArray, records: _Records, stored: BoolArray, rng: np.random.Generator
) -> None:
    """Take one step of IB3.

    Parameters
    ----------
    x : int
        The visited row.
    rows, distance : ndarrays
        The stored rows, ascending, and their distances to x.
    records : _Records
    stored : bool ndarray of shape (n,)
        Changed in place, like the records.
    rng : numpy Generator
    """
    code = records.codes[x]
    if not len(rows):
        stored[x] = True
        records.seen[code] += 1
        return
    acceptable = np.flatnonzero(records.acceptable(rows))
    if len(acceptable):  # argmin returns the first, and rows ascend
        chosen = acceptable[distance[acceptable].argmin()]
    else:
        chosen = np.argsort(distance, kind="stable")[rng.integers(len(rows))]
    records.seen[code] += 1
    near = rows[distance <= distance[chosen]]
    records.count(near, int(code))
    stored[near[records.poor(near)]] = False
    if records.codes[rows[chosen]] != code:
        stored[x] = True


class IB2(PlainSelector):
    """Keep the rows that the rows kept before them classify wrongly.

    Rows are visited once, in the order of the table. The first row is kept. Each later row is kept if its nearest kept
    row has another class. This stores few rows in one pass, but keeps mislabelled ones and depends on the order.
    Shuffle a table that is sorted, for example by class.

    Parameters
    ----------
    weigher : weigher, Weights or None, default=None
        Weights of the distance. A weigher is cloned and fitted first. None: no weights.
    p : {1, 2}, default=2
        1 for the city-block distance, 2 for the Euclidean distance.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        As in `WeightedKNeighborsClassifier`.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    sample_indices_ : ndarray
        Row numbers of the rows that are kept, ascending.
    instance_support_ : bool ndarray of shape (n_samples,)
        Rows that are kept.
    reduction_ : float
        Share of the rows that is removed.
    weights_ : Weights
        The weights of the distance with the kept rows as instance mask, for `WeightedKNeighborsClassifier`.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Equal distances go to the lower row number. The result is one pass of the growing
    step of IB2, so a row that is left out can be classified wrongly by rows that were kept after it. `FCNN` has no such
    rows.

    References
    ----------
    .. [1] D. W. Aha, D. Kibler, M. K. Albert, "Instance-based learning algorithms", Machine Learning 6, 1991.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.utils import shuffle
    >>> from weighbors import IB2
    >>> X, y = shuffle(*load_wine(return_X_y=True), random_state=0)
    >>> selector = IB2().fit(scale(X), y)
    >>> len(selector.sample_indices_)
    14
    """

    def select_rows(self, table: LabelledRows) -> BoolArray:
        """Return which rows IB2 keeps."""
        return select_ib2(table, np.arange(table.n))


@dataclass(eq=False, repr=False, kw_only=True)
class IB3(PlainSelector):
    """Keep the rows that classify the rows after them better than chance.

    As `IB2`, but with a record for each stored row of how often it was right. Only acceptable rows classify: the
    confidence interval of their accuracy lies above that of the frequency of their class. Rows whose interval lies
    below are removed, so mislabelled rows do not stay. The method needs many rows: a row becomes acceptable after
    several attempts only.

    Parameters
    ----------
    weigher : weigher, Weights or None, default=None
        Weights of the distance. A weigher is cloned and fitted first. None: no weights.
    acceptance : float, default=0.9
        Confidence level of the intervals that decide whether a row is acceptable.
    removal : float, default=0.75
        Confidence level of the intervals that decide whether a row is removed.
    p : {1, 2}, default=2
        1 for the city-block distance, 2 for the Euclidean distance.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        As in `WeightedKNeighborsClassifier`.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    sample_indices_ : ndarray
        Row numbers of the rows that are kept, ascending.
    instance_support_ : bool ndarray of shape (n_samples,)
        Rows that are kept.
    reduction_ : float
        Share of the rows that is removed.
    weights_ : Weights
        The weights of the distance with the kept rows as instance mask, for `WeightedKNeighborsClassifier`.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Rows are visited once, in the order of the table: shuffle a table that is sorted, for example by class. While no
    stored row is acceptable, a random one classifies, drawn with a fixed seed. Intervals are Wilson's, two-sided: z is
    1.645 for the level 0.9 and 1.150 for 0.75. The paper names these levels; some programs use 0.9 and 0.7 as z itself.
    The frequency of a class is counted over the rows visited so far. It includes the present row when rows are
    removed, and does not when acceptable rows are sought, since the class of the present row is unknown then. The
    present row counts no attempt of its own. Rows that are not acceptable at the end are left out. Equal distances go
    to the lower row number.

    References
    ----------
    .. [1] D. W. Aha, D. Kibler, M. K. Albert, "Instance-based learning algorithms", Machine Learning 6, 1991.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from weighbors import IB3
    >>> X, y = make_blobs(1000, centers=3, cluster_std=2.0, random_state=0)
    >>> selector = IB3().fit(X, y)
    >>> len(selector.sample_indices_) < 100
    True
    """

    acceptance: float = 0.9
    removal: float = 0.75

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PlainSelector._parameter_constraints,
        "acceptance": [Interval(Real, 0, 1, closed="neither")],
        "removal": [Interval(Real, 0, 1, closed="neither")],
    }

    def select_rows(self, table: LabelledRows) -> BoolArray:
        """Return which rows IB3 keeps."""
        (rng,) = generators(0, 1)
        return select_ib3(table, np.arange(table.n), float(self.acceptance), float(self.removal), rng)
