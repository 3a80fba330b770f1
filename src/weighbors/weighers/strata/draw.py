"""Draw strata: parts of a table with the class shares of the table.

Of a numeric target, strata have the same shares of its low, middle and high values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._random import draw_from_groups, integer_seed
from ..._typing import AnyArray, IndexArray
from ..._warnings import warn
from ...exceptions import InvalidDataError, RareClassWarning
from ...tables.targets import Target

STRATUM_SIZE = 1000  # rows of a stratum with n_strata="auto"
N_BINS = 10  # groups of a numeric target


class Stratum(NamedTuple):
    """A stratum: number of its round, its number in the round, the seed of its fit, and its rows, ascending."""

    round: int
    number: int
    seed: int
    rows: IndexArray


def group_rows(target: Target) -> IndexArray:
    """Return the group of each row, of which every stratum gets its share: its class, or a bin of its number.

    Bins hold equally many rows, in the order of the numbers. Equal numbers are ordered by their row.

    Examples
    --------
    >>> numbers = np.array([5.0, 1.0, 9.0, 3.0])
    >>> group_rows(Target(np.zeros(4, dtype=int), np.zeros(0), numbers))
    array([2, 0, 3, 1])
    """
    if target.numbers is None:
        return target.codes
    n = len(target.numbers)
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(target.numbers, kind="stable")] = np.arange(n)
    return rank * min(N_BINS, n) // n


def count_strata(n_strata: Any, target: Target, where: str = "") -> int:
    """Return the number of strata, such that every stratum can have rows of every class.

    With a numeric target, every stratum has at least two rows, since one number says nothing of how numbers differ.

    Parameters
    ----------
    n_strata : int or "auto"
        What the user asked for. With "auto", strata have about `STRATUM_SIZE` rows. If the smallest class then has
        fewer than two rows per stratum, there are fewer and larger strata, and a warning if there are less than half
        as many.
    target : Target
    where : str
        Name of the part of the table in messages.

    Examples
    --------
    >>> count_strata("auto", Target(np.repeat([0, 1], [3000, 2000]), np.array(["a", "b"])))
    5
    """
    n = len(target.codes)
    wanted = max(1, round(n / STRATUM_SIZE))
    if target.numbers is not None:
        if n_strata != "auto" and n < 2 * n_strata:
            raise InvalidDataError(
                f"n_strata={n_strata}{where} is more than half of the {n} rows, and every stratum needs two. Use at "
                f"most {n // 2}{where}"
            )
        return max(1, min(wanted, n // 2)) if n_strata == "auto" else int(n_strata)
    counts = np.bincount(target.codes, minlength=len(target.classes))
    rarest = int(np.argmin(counts))
    name, few = repr(target.classes.tolist()[rarest]), int(counts[rarest])
    if n_strata != "auto":
        if few < n_strata:
            raise InvalidDataError(
                f"n_strata={n_strata}{where} is more than the {few} instances of class {name}, and every "
                f"stratum needs one of each class. Use at most {few}{where}, or drop or join rare classes"
            )
        return int(n_strata)
    # Two rows of the rarest class per stratum, so that each of them has a nearest hit.
    number = max(1, min(wanted, few // 2))
    if 2 * number < wanted:
        warn(
            f"class {name} has {few} instances{where}, so there are {number} strata of about {n // number} rows "
            f"instead of {wanted} of {STRATUM_SIZE}: a fit takes longer. Drop or join rare classes",
            RareClassWarning,
        )
    return number


def cut_round(
    groups: IndexArray, n_strata: int, seeds: np.random.SeedSequence, *, of_round: int, first: int, start: int = 0
) -> list[Stratum]:
    """Cut some neighbouring rows of a table into the strata of one round.

    The rows of each group are shuffled and given to the strata in turn (Cano et al. 2005: disjoint strata of equal size
    that keep the class shares). The sizes of strata, and their rows of each group, differ by at most 1.

    Parameters
    ----------
    groups : int ndarray of shape (n,)
        Group of each row, of which every stratum gets its share (see `group_rows`).
    n_strata : int
    seeds : SeedSequence
        Seeds for drawing the strata and for the fits.
    of_round : int
        Number of the round.
    first, start : int
        Number that the first stratum gets, and number of the first row.
    """
    # Seeds belong to the round and the stratum, so that results do not depend on the order of the fits.
    draw, *fits = seeds.spawn(1 + n_strata)
    rng = np.random.default_rng(draw)
    shuffled = np.concatenate([rng.permutation(np.flatnonzero(groups == g)) for g in range(int(groups.max()) + 1)])
    # Each group goes on where the one before stopped, so that strata differ by at most one row in all.
    return [
        Stratum(of_round, first + number, integer_seed(child), start + np.sort(shuffled[number::n_strata]))
        for number, child in enumerate(fits)
    ]


def draw_queries(groups: IndexArray, number: int, rng: np.random.Generator) -> IndexArray:
    """Draw about ``number`` rows without replacement, with the shares of the groups and at least one row of each."""
    if number >= len(groups):
        return np.arange(len(groups))
    shares = np.rint(number * np.bincount(groups) / len(groups)).astype(np.int64)
    return draw_from_groups(groups, np.maximum(1, shares), rng)


def share_out(number: int, sizes: AnyArray) -> IndexArray:
    """Divide ``number`` into parts in proportion to ``sizes``. Each part is at least 1.

    The parts with the largest remainders are rounded up.

    Examples
    --------
    >>> share_out(5, np.array([100, 300]))
    array([1, 4])
    """
    exact = number * sizes / sizes.sum()
    out = np.maximum(1, np.floor(exact)).astype(np.int64)
    while out.sum() < number:
        # Largest remainders first, so that the shares come as close as whole numbers allow.
        out[np.argmax(exact - out)] += 1
    while out.sum() > number and (out > 1).any():
        out[np.argmin(np.where(out > 1, exact - out, np.inf))] -= 1
    return out
