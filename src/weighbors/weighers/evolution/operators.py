"""Variation: differential evolution for weights, half-uniform crossover for bits (paper 004, section 3).

Pure functions of arrays and a generator; a whole generation per call.
"""

from __future__ import annotations

import numpy as np

from ... import _native
from ..._typing import BoolArray, FloatArray, IndexArray
from .genome import Population

__all__ = ["cataclysm", "differential", "flip_bits", "half_uniform", "pick_three", "reflect"]


def pick_three(n: int, rng: np.random.Generator) -> tuple[IndexArray, IndexArray, IndexArray]:
    """For each of ``n`` targets three other individuals, all different (paper 004, eq. 4)."""
    taken = np.arange(n)[:, None]
    picked = []
    for left in (n - 1, n - 2, n - 3):
        # the left individuals are numbered without gaps; put the gaps back, lowest first
        choice = rng.integers(0, left, size=n)
        for gap in np.sort(taken, axis=1).T:
            choice += choice >= gap
        picked.append(choice)
        taken = np.column_stack([taken, choice])
    return picked[0], picked[1], picked[2]


def reflect(weights: FloatArray) -> FloatArray:
    """Values outside [0, 1] mirrored back at its ends.

    Examples
    --------
    >>> reflect(np.array([-0.25, 0.5, 1.25, 2.5]))
    array([0.25, 0.5 , 0.75, 0.5 ])
    """
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
    """DE/rand/1/bin: ``first + factor · (second − third)``, crossed with the target (eqs. 4 and 5).

    Each component comes from the mutant with probability ``rate``, and one of them always does.
    """
    count, length = target.shape
    if length == 0:
        return target.copy()
    mutant = reflect(first + factor * (second - third))
    crossed = rng.random((count, length)) < rate
    crossed[np.arange(count), rng.integers(0, length, size=count)] = True
    return np.where(crossed, mutant, target)


def half_uniform(target: BoolArray, partner: BoolArray, rng: np.random.Generator) -> BoolArray:
    """HUX: half of the differing bits, rounded down, change sides; one of the two children.

    The children complement each other on the differing bits, so the child made from the target
    takes ⌊H/2⌋ bits of the partner, and the other one H − ⌊H/2⌋.
    """
    differ = target != partner
    half = differ.sum(axis=1) // 2
    swap = random_subset(differ, half, rng)
    other = rng.random(len(target)) < 0.5  # the child made from the partner
    return target ^ np.where(other[:, None], differ & ~swap, swap)


def random_subset(mask: BoolArray, size: IndexArray, rng: np.random.Generator) -> BoolArray:
    """For each row, ``size`` of the True places of ``mask``, each subset as likely as any other."""
    chosen = np.empty_like(mask)
    uniform = rng.random(int(np.count_nonzero(mask)) + 1)
    _native.random_subset(np.ascontiguousarray(mask), size.astype(np.int64), uniform, chosen)
    return chosen


def flip_bits(bits: BoolArray, number: int, rng: np.random.Generator) -> BoolArray:
    """Each row with exactly ``number`` random bits flipped."""
    everywhere = np.ones_like(bits)
    return bits ^ random_subset(everywhere, np.full(len(bits), number, dtype=np.int64), rng)


def cataclysm(best: Population, count: int, rng: np.random.Generator, *, share: float = 0.35) -> Population:
    """``count`` copies of the best with a share of the bits flipped and fresh weights."""
    length = best.bits.shape[1]
    copies = np.repeat(best.bits[:1], count, axis=0)
    number = max(1, round(share * length)) if length else 0
    return Population(rng.random((count, best.weights.shape[1])), flip_bits(copies, number, rng))
