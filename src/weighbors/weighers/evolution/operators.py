"""Operators: differential evolution for weights, half-uniform crossover for bits (paper 004, section 3).

The functions take arrays and a random generator. Each call treats a whole generation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import _native
from ..._typing import BoolArray, FloatArray, IndexArray

FACTOR, RATE = 0.8, 0.9  # F and CR of differential evolution (paper 004, section 4.1)


def pick_three(n: int, rng: np.random.Generator) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Choose at random, for each of ``n`` targets, three different other individuals (paper 004, eq. 4)."""
    taken = np.arange(n)[:, None]
    picked = []
    for left in (n - 1, n - 2, n - 3):
        # Draw a position among the individuals that are left. For each individual already taken, lowest first, the
        # position moves up by 1 if it is not below that individual. So each individual left is equally likely.
        choice = rng.integers(0, left, size=n)
        for one in np.sort(taken, axis=1).T:
            choice += choice >= one
        picked.append(choice)
        taken = np.column_stack([taken, choice])
    return picked[0], picked[1], picked[2]


def reflect(weights: FloatArray) -> FloatArray:
    """Reflect values outside [0, 1] at 0 and 1, so that all values are in [0, 1].

    Examples
    --------
    >>> reflect(np.array([-0.25, 0.5, 1.25, 2.5]))
    array([0.25, 0.5 , 0.75, 0.5 ])
    """
    # With period 2, the values from 1 to 2 run backwards.
    turned = np.mod(weights, 2.0)
    return np.where(turned > 1.0, 2.0 - turned, turned)


def differential(
    target: FloatArray, first: FloatArray, second: FloatArray, third: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Cross targets with mutants: DE/rand/1/bin (paper 004, eqs. 4 and 5).

    The mutant is ``first + F · (second − third)``. Each component comes from the mutant with probability CR. At least
    one component always comes from the mutant.

    Parameters
    ----------
    target, first, second, third : ndarrays of shape (P, R)
        Weights of the targets, and of three other individuals for each target.
    rng : numpy Generator
    """
    count, length = target.shape
    if length == 0:
        return target.copy()
    mutant = reflect(first + FACTOR * (second - third))
    crossed = rng.random((count, length)) < RATE
    # At least one component comes from the mutant, so that a trial is not a copy by chance (eq. 5).
    crossed[np.arange(count), rng.integers(0, length, size=count)] = True
    return np.where(crossed, mutant, target)


def half_uniform(target: BoolArray, partner: BoolArray, rng: np.random.Generator) -> BoolArray:
    """Cross bits by half-uniform crossover (HUX), and return one of the two children at random.

    Target and partner differ in H bits. The child of the target takes ⌊H/2⌋ of these bits, chosen at random,
    from the partner. The other child takes the other H − ⌊H/2⌋ of these bits from the partner.
    """
    child = np.empty_like(target)
    # The kernel reads one number per differing bit, and may look at the one after the last.
    uniform = rng.random(int(np.count_nonzero(target != partner)) + 1)
    other = rng.random(len(target)) < 0.5  # return the child of the partner
    _native.cross_halves(target=target, partner=partner, other=other, uniform=uniform, child=child)
    return child


def restore_classes(
    bits: BoolArray, before: BoolArray | None, members: Sequence[IndexArray], rng: np.random.Generator
) -> BoolArray:
    """Return the bits, with rows of every class that an individual has lost selected again.

    Parameters
    ----------
    bits : bool ndarray of shape (P, L)
        Bits of the individuals. Row i belongs to bit i, since the bits of the instances come first.
    before : bool ndarray of shape (P, L) or None
        Bits of the individual that each one was made from. If a class is lost, its rows get the bits of
        ``before``, so that crossover is undone for this class only. None: one row of the class is
        selected at random.
    members : sequence of ndarray
        Rows of each class.
    rng : numpy Generator

    Examples
    --------
    >>> parents, members = np.array([[True, True, True]]), [np.array([0, 1]), np.array([2])]
    >>> restore_classes(np.array([[True, False, False]]), parents, members, np.random.default_rng(0))
    array([[ True, False,  True]])
    """
    repaired = bits.copy()
    for rows in members:
        for i in np.flatnonzero(~bits[:, rows].any(axis=1)):
            if before is not None:
                repaired[i, rows] = before[i, rows]
            else:
                repaired[i, rng.choice(rows)] = True
    return repaired
