"""Weka's stratified folds: which rows are tested together when its seed is known.

A published figure of Weka's cross-validation can be had again to the digit only on the rows that were
tested together then. They follow from the order of the rows, the classes, and the seed of Java's
generator of random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._typing import IndexArray

__all__ = ["JavaRandom", "WekaFolds"]

_MASK = (1 << 48) - 1
_MULTIPLIER = 0x5DEECE66D


class JavaRandom:
    """The generator of ``java.util.Random``: linear congruences modulo 2^48, as its documentation gives them.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def _bits(self) -> int:
        """The next 31 bits."""
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK
        return self._state >> 17

    def below(self, bound: int) -> int:
        """A whole number from 0 to ``bound`` − 1: ``nextInt(bound)``."""
        if bound & (bound - 1) == 0:
            return (bound * self._bits()) >> 31
        while True:
            bits = self._bits()
            value = bits % bound
            if bits - value + bound - 1 < 1 << 31:  # else the last values would come less often
                return value

    def shuffle(self, rows: list[int]) -> None:
        """Weka's ``Instances.randomize``: from the last row on, each changes places with one up to it."""
        for last in range(len(rows) - 1, 0, -1):
            other = self.below(last + 1)
            rows[last], rows[other] = rows[other], rows[last]


def _gather_classes(rows: list[int], codes: list[int]) -> None:
    """Bring the rows of each class together, by exchanges, classes in the order they are met."""
    place = 1
    while place < len(rows):
        for later in range(place, len(rows)):
            if codes[rows[later]] == codes[rows[place - 1]]:
                rows[place], rows[later] = rows[later], rows[place]
                place += 1
        place += 1


class WekaFolds:
    """Repeated stratified folds as Weka's Experimenter makes them: run r has the seed r.

    Parameters
    ----------
    n_splits : int, default=10
    n_repeats : int, default=10
        Runs, with the seeds 1, 2, and so on.
    mixed : bool, default=False
        Whether training rows come in the order Weka trains in; by default in their own. Only what
        falls by the order of rows, ties, can differ.
    """

    def __init__(self, n_splits: int = 10, n_repeats: int = 10, *, mixed: bool = False) -> None:
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.mixed = mixed

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Training and test rows of each fold, run by run; test rows in Weka's order."""
        codes = np.unique(np.asarray(y), return_inverse=True)[1].tolist()
        for seed in range(1, self.n_repeats + 1):
            yield from self._run(seed, codes)

    def _run(self, seed: int, codes: list[int]) -> Iterator[tuple[IndexArray, IndexArray]]:
        random = JavaRandom(seed)
        rows = list(range(len(codes)))
        random.shuffle(rows)
        _gather_classes(rows, codes)
        dealt = [rows[fold :: self.n_splits] for fold in range(self.n_splits)]
        rows = [row for part in dealt for row in part]
        size, larger = divmod(len(rows), self.n_splits)
        begin = 0
        for fold in range(self.n_splits):
            end = begin + size + (fold < larger)
            train = rows[:begin] + rows[end:]
            random.shuffle(train)  # the same generator goes on from fold to fold
            yield np.array(train if self.mixed else sorted(train)), np.array(rows[begin:end])
            begin = end

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Folds of all runs."""
        return self.n_splits * self.n_repeats
