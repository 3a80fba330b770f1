"""Operators: differential evolution for weights, half-uniform crossover for bits (paper 004, section 3).

The functions take arrays and a random generator. Each call treats a whole generation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import _native
from ..._typing import BoolArray, FloatArray, IndexArray
from .genome import Population

__all__ = [
    "ClassGuard",
    "cataclysm",
    "count_differing",
    "differential",
    "flip_bits",
    "half_uniform",
    "pick_three",
    "reflect",
]

_FIRST = 64  # rows of a class that are looked at before all others


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
    target: FloatArray,
    first: FloatArray,
    second: FloatArray,
    third: FloatArray,
    rng: np.random.Generator,
    *,
    factor: float = 0.8,
    rate: float = 0.9,
) -> FloatArray:
    """Cross targets with mutants: DE/rand/1/bin (paper 004, eqs. 4 and 5).

    The mutant is ``first + factor · (second − third)``. Each component comes from the mutant with probability
    ``rate``. At least one component always comes from the mutant.

    Parameters
    ----------
    target, first, second, third : ndarrays of shape (P, R)
        Weights of the targets, and of three other individuals for each target.
    rng : numpy Generator
    factor, rate : float
        F and CR of differential evolution.
    """
    count, length = target.shape
    if length == 0:
        return target.copy()
    mutant = reflect(first + factor * (second - third))
    crossed = rng.random((count, length)) < rate
    # At least one component comes from the mutant, so that a trial is not a copy by chance (eq. 5).
    crossed[np.arange(count), rng.integers(0, length, size=count)] = True
    return np.where(crossed, mutant, target)


def half_uniform(target: BoolArray, partner: BoolArray, rng: np.random.Generator) -> BoolArray:
    """Cross bits by half-uniform crossover (HUX), and return one of the two children at random.

    Target and partner differ in H bits. The child of the target takes ⌊H/2⌋ of these bits, chosen at random,
    from the partner. The other child takes the other H − ⌊H/2⌋ of these bits from the partner.
    """
    child = np.empty_like(target)
    # One number more than there are differing bits, as in `random_subset`.
    uniform = rng.random(int(count_differing(target, partner).sum()) + 1)
    other = rng.random(len(target)) < 0.5  # return the child of the partner
    _native.cross_halves(target=target, partner=partner, other=other, uniform=uniform, child=child)
    return child


def count_differing(one: BoolArray, other: BoolArray) -> IndexArray:
    """Return in how many bits each individual of ``one`` differs from that in the same row of ``other``."""
    counts = np.empty(len(one), dtype=np.int64)
    _native.count_differences(one=one, other=other, counts=counts)
    return counts


def random_subset(mask: BoolArray, size: IndexArray, rng: np.random.Generator) -> BoolArray:
    """Draw for each row a random subset of the True positions of ``mask``. ``size`` has the size of each subset."""
    chosen = np.empty_like(mask)
    uniform = rng.random(int(np.count_nonzero(mask)) + 1)
    _native.draw_subsets(mask=np.ascontiguousarray(mask), size=size.astype(np.int64), uniform=uniform, chosen=chosen)
    return chosen


def flip_bits(bits: BoolArray, number: int, rng: np.random.Generator) -> BoolArray:
    """Flip exactly ``number`` random bits of each row."""
    everywhere = np.ones_like(bits)
    return bits ^ random_subset(everywhere, np.full(len(bits), number, dtype=np.int64), rng)


def cataclysm(best: Population, count: int, rng: np.random.Generator, *, share: float = 0.35) -> Population:
    """Make ``count`` copies of the individual ``best``, with some bits flipped and with new random weights.

    Parameters
    ----------
    best : Population
        One individual.
    count : int
    rng : numpy Generator
    share : float
        Share of the bits that are flipped in each copy.
    """
    length = best.bits.shape[1]
    copies = np.repeat(best.bits[:1], count, axis=0)
    number = max(1, round(share * length)) if length else 0
    return Population(rng.random((count, best.weights.shape[1])), flip_bits(copies, number, rng))


@dataclass(frozen=True)
class ClassGuard:
    """Keeps at least one selected row of every class in every individual.

    Parameters
    ----------
    members : tuple of ndarray
        Rows of each class. Row i belongs to bit i, since the bits of the instances come first.

    Examples
    --------
    >>> guard = ClassGuard.of_codes(np.array([0, 0, 1]))
    >>> parents = np.array([[True, True, True]])
    >>> guard.repair(np.array([[True, False, False]]), parents, np.random.default_rng(0))
    array([[ True, False,  True]])
    """

    members: tuple[IndexArray, ...]

    @classmethod
    def of_codes(cls, codes: IndexArray) -> ClassGuard:
        """Return a guard for the classes ``codes`` of the rows."""
        return cls(tuple(np.flatnonzero(codes == c) for c in np.unique(codes)))

    def repair(self, bits: BoolArray, before: BoolArray | None, rng: np.random.Generator) -> BoolArray:
        """Return the bits, with rows of every class that an individual has lost selected again.

        Parameters
        ----------
        bits : bool ndarray of shape (P, L)
            Bits of the individuals.
        before : bool ndarray of shape (P, L) or None
            Bits of the individual that each one was made from. If a class is lost, its rows get the bits of
            ``before``, so that crossover is undone for this class only. None: one row of the class is
            selected at random.
        rng : numpy Generator

        Returns
        -------
        bool ndarray of shape (P, L)
        """
        repaired = bits.copy()
        for rows in self.members:
            # The first rows of a class nearly always tell that it is not lost.
            for i in np.flatnonzero(~bits[:, rows[:_FIRST]].any(axis=1)):
                if bits[i, rows].any():
                    continue
                if before is not None:
                    repaired[i, rows] = before[i, rows]
                else:
                    repaired[i, rng.choice(rows)] = True
        return repaired
