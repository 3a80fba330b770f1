"""Pairs of disjoint half samples, drawn inside strata, with the rows of a group together."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ..._typing import AnyArray, IndexArray
from ..._warnings import warn
from ...exceptions import InvalidDataError, LonelyClassWarning
from ...tables.groups import check_groups
from ..folds import quantile_bins

#: Row numbers of two disjoint half samples.
HalfPair: TypeAlias = tuple[IndexArray, IndexArray]

MOST_BINS = 5  # strata of a numeric target
_ATTEMPTS = 100  # how often a draw of groups is repeated until both halves have every class


def strata_of_target(y: AnyArray, *, numeric: bool) -> IndexArray:
    """Return the stratum of each row: the number of its class, or of its quantile bin for a numeric target."""
    if numeric:
        return quantile_bins(np.asarray(y, dtype=np.float64), max(1, min(MOST_BINS, len(y) // 8)))
    return np.unique(y, return_inverse=True)[1]


def group_codes(groups: Any, n: int) -> IndexArray:
    """Return the group of each row as a number. Raise InvalidDataError if the groups are no vector of ``n`` groups."""
    return np.asarray(pd.factorize(check_groups(groups, n))[0])


def usable_rows(y: AnyArray, groups: IndexArray | None, *, numeric: bool) -> IndexArray:
    """Return the numbers of the rows that half samples are drawn from.

    Rows of a class that has one row only, or that one group alone has, are left out with a warning, since the class
    would vanish in one of two half samples.

    Raises
    ------
    InvalidDataError
        If there are too few rows, groups or classes for two half samples.
    """
    if len(y) < 4:
        raise InvalidDataError(f"two half samples need at least 4 rows; got n_samples={len(y)}")
    n_groups = None if groups is None else len(np.unique(groups))
    if n_groups is not None and n_groups < 4:
        raise InvalidDataError(
            f"two half samples need at least 4 groups, since rows of a group stay together; got {n_groups}. Leave "
            "groups out if rows are independent"
        )
    used = np.arange(len(y))
    if not numeric:
        classes, codes = np.unique(y, return_inverse=True)
        units = np.bincount(codes)
        if groups is not None:
            units = np.bincount(np.unique(np.stack([codes, groups]), axis=1)[0], minlength=len(classes))
        few = np.flatnonzero(units < 2)
        used = np.flatnonzero(~np.isin(codes, few))
        what = "row" if groups is None else "group"
        named = ", ".join(repr(value) for value in classes[few[:5]].tolist())
        if len(classes) - len(few) < 2:
            raise InvalidDataError(
                f"two half samples need at least 2 classes with 2 {what}s each; {len(few)} of {len(classes)} classes "
                f"have one {what} only ({named})"
            )
        if len(few):
            warn(
                f"{len(few)} class(es) have one {what} only ({named}) and would vanish in one of two half samples; "
                f"their {len(y) - len(used)} rows are left out",
                LonelyClassWarning,
            )
    return used


def draw_halves(strata: IndexArray, groups: IndexArray | None, rng: np.random.Generator) -> HalfPair:
    """Draw two disjoint half samples. Both have the shares of the strata.

    Each stratum is cut into halves at random. The odd rows of all strata go to the two halves in turn, so that the
    halves differ by one row at most, and one row too many is left out. With groups, whole groups are drawn instead,
    each in the stratum that most of its rows have.

    Examples
    --------
    >>> first, second = draw_halves(np.array([0, 0, 0, 0, 1, 1]), None, np.random.default_rng(0))
    >>> len(first), len(second), np.intersect1d(first, second)
    (3, 3, array([], dtype=int64))
    """
    if groups is None:
        first, second = _halve(strata, rng)
        return (np.sort(first), np.sort(second))
    majority = _majority_strata(strata, groups)
    wanted = len(np.unique(strata))
    for _ in range(_ATTEMPTS):
        halves = [np.flatnonzero(np.isin(groups, part)) for part in _halve(majority, rng)]
        # Groups may hold several classes, so a half can lack one by chance.
        if all(len(np.unique(strata[half])) == wanted for half in halves):
            return halves[0], halves[1]
    raise InvalidDataError(
        f"no two half samples of whole groups have every class, in {_ATTEMPTS} draws of {len(majority)} groups. Leave "
        "out or join classes that only few groups have"
    )


def _halve(strata: IndexArray, rng: np.random.Generator) -> HalfPair:
    """Cut units (rows or groups) into two halves of the same length, stratum by stratum."""
    parts: tuple[list[int], list[int]] = ([], [])
    odd: list[int] = []
    for stratum in range(int(strata.max()) + 1):
        units = rng.permutation(np.flatnonzero(strata == stratum)).tolist()
        half = len(units) // 2
        parts[0].extend(units[:half])
        parts[1].extend(units[half : 2 * half])
        odd.extend(units[2 * half :])
    odd = rng.permutation(np.array(odd, dtype=np.int64)).tolist()
    for number in range(len(odd) // 2):
        parts[0].append(odd[2 * number])
        parts[1].append(odd[2 * number + 1])
    return np.array(parts[0], dtype=np.int64), np.array(parts[1], dtype=np.int64)


def _majority_strata(strata: IndexArray, groups: IndexArray) -> IndexArray:
    """Return the stratum of each group: the one that most of its rows have, the lower one of equals."""
    counts = np.zeros((int(groups.max()) + 1, int(strata.max()) + 1), dtype=np.int64)
    np.add.at(counts, (groups, strata), 1)
    return counts.argmax(axis=1)
