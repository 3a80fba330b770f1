"""Folds of a cross-validation: repetitions of pairs of training and test rows, checked for leaks."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from .._checks import whole_number
from .._random import integer_seed
from .._typing import AnyArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables.groups import check_groups

#: Row numbers of the training part and of the test part of one fold.
Split: TypeAlias = tuple[IndexArray, IndexArray]
#: Folds of a numeric target are stratified by at most this many bins of its values.
MOST_BINS = 10


def make_folds(
    cv: Any,
    X: Any,
    y: AnyArray,
    groups: Any = None,
    *,
    n_repeats: int = 1,
    seeds: np.random.SeedSequence,
    numeric: bool = False,
) -> list[list[Split]]:
    """Return a list of repetitions. Each repetition is a list of folds, and a fold is (training rows, test rows).

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number of stratified folds, a scikit-learn splitter (the repetitions of a repeated splitter are recognised),
        or pairs of row numbers.
    X, y, groups
        The table, its target, and the group of each row. Rows of one group stay together in stratified folds.
    n_repeats : int
        How often stratified folds are repeated.
    seeds : SeedSequence
    numeric : bool
        Whether ``y`` is a numeric target. Folds are then stratified by `quantile_bins` of its values.
    """
    n_repeats = whole_number(n_repeats, "n_repeats")
    groups = None if groups is None else check_groups(groups, len(y))
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        with warnings.catch_warnings():
            if numeric:  # scikit-learn warns of small strata; those of bins with many ties are no matter
                warnings.simplefilter("ignore", UserWarning)
            repetitions = _stratified_folds(int(cv), _strata(y, int(cv), numeric), groups, n_repeats, seeds)
    elif n_repeats != 1:
        raise InvalidDataError("n_repeats goes with a number of folds; a splitter or given folds bring their own")
    elif hasattr(cv, "split") and not isinstance(cv, str):
        repetitions = _splitter_folds(cv, X, y, groups, seeds)
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        repetitions = [[(np.asarray(train), np.asarray(test)) for train, test in cv]]
    else:
        raise InvalidDataError(f"cv must be a number of folds, a splitter, or pairs of row numbers; got {cv!r}")
    for fold in (fold for repetition in repetitions for fold in repetition):
        _check_fold(fold, len(y), groups)
    if not sum(map(len, repetitions)):
        raise InvalidDataError("cv gives no folds")
    return repetitions


def quantile_bins(values: AnyArray, n_bins: int) -> IndexArray:
    """Return the number of the bin of each value. Bins hold about as many rows each, and equal values share a bin.

    At most ``n_bins`` different values are bins of their own.

    Examples
    --------
    >>> quantile_bins(np.array([0.1, 9.0, 0.3, 0.2, 2.0, 5.0]), 3)
    array([0, 2, 1, 0, 1, 2])
    >>> quantile_bins(np.array([4.0, 1.0, 4.0, 4.0]), 3)
    array([1, 0, 1, 1])
    """
    distinct = np.unique(values)
    if len(distinct) <= n_bins:
        return np.searchsorted(distinct, values)
    # The rank of the first of all equal values: ties cannot be split between bins.
    rank = np.searchsorted(np.sort(values), values, side="left")
    return np.asarray(rank * n_bins // len(values))


def _strata(y: AnyArray, n_folds: int, numeric: bool) -> AnyArray:
    """Return the stratum of each row: its label, or the bin of its number if the target is ``numeric``."""
    if not numeric:
        return y
    if len(y) < n_folds:
        raise InvalidDataError(f"cv={n_folds} folds need at least as many rows; got {len(y)}")
    # A bin has as many rows as there are folds, on average, so that every fold gets one of them.
    return quantile_bins(np.asarray(y, dtype=np.float64), max(1, min(MOST_BINS, len(y) // max(n_folds, 1))))


def _stratified_folds(
    n_folds: int, y: AnyArray, groups: Any, n_repeats: int, seeds: np.random.SeedSequence
) -> list[list[Split]]:
    """Return repetitions of shuffled stratified folds. With ``groups``, all rows of a group stay together.

    Each of the ``n_repeats`` repetitions has ``n_folds`` folds and takes a child of ``seeds``. ``y`` has the strata.
    """
    if n_folds < 2:
        raise InvalidDataError(f"at least 2 folds are needed; got cv={n_folds}")
    counts = Counter(y.tolist())
    largest = max(counts.values(), default=0)
    if largest < n_folds:
        raise InvalidDataError(
            f"cv={n_folds} stratified folds need a class of at least {n_folds} rows; the largest of {len(counts)} "
            f"classes has {largest}. Use fewer folds, or target_type='numeric' if y is a number to predict"
        )
    if groups is not None and len(np.unique(groups)) < n_folds:
        raise InvalidDataError(
            f"cv={n_folds} folds that keep groups together need at least {n_folds} groups; got {len(np.unique(groups))}"
        )
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    rows = np.zeros(len(y))
    return [
        list(kind(n_folds, shuffle=True, random_state=integer_seed(child)).split(rows, y, groups))
        for child in seeds.spawn(n_repeats)
    ]


def _splitter_folds(cv: Any, X: Any, y: AnyArray, groups: Any, seeds: np.random.SeedSequence) -> list[list[Split]]:
    """Return the folds of a scikit-learn splitter, grouped by repetition.

    The parameters are those of `make_folds`. ``seeds`` is used only if the ``random_state`` of the splitter is None.
    """
    if getattr(cv, "random_state", 0) is None:  # not set: take the seed of the study, so that a run can be repeated
        # A copy is changed, because the splitter belongs to the user.
        cv = copy.deepcopy(cv)
        cv.random_state = integer_seed(seeds.spawn(1)[0])
        # scikit-learn raises an error for a splitter that has a random_state and does not shuffle.
        if getattr(cv, "shuffle", None) is False:
            cv.random_state = None
    folds = list(cv.split(X, y, groups))
    # RepeatedStratifiedKFold yields all repetitions one after the other.
    repeats = int(getattr(cv, "n_repeats", 1))
    size = len(folds) // repeats
    return [folds[begin : begin + size] for begin in range(0, len(folds), size)] if size else [folds]


def _check_fold(fold: Split, n: int, groups: Any) -> None:
    """Raise InvalidDataError if a fold has unknown rows, or if a row or group is in both of its parts.

    ``n`` is the number of rows of the table.
    """
    train, test = fold
    for rows in fold:
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows) or rows.min() < 0 or rows.max() >= n:
            raise InvalidDataError(f"a fold must name rows from 0 to {n - 1}, at least one on either side")
    both = np.intersect1d(train, test)
    if len(both):
        raise InvalidDataError(
            f"row {both[0]} is in the training and in the test part of a fold: nothing learned so can be trusted"
        )
    if groups is not None:
        labels = np.asarray(groups)
        shared: Sequence[Any] = np.intersect1d(labels[train], labels[test]).tolist()
        if len(shared):
            raise InvalidDataError(
                f"group {shared[0]!r} is in the training and in the test part of a fold. "
                "Use a number of folds, or a splitter that keeps groups together (StratifiedGroupKFold)"
            )
