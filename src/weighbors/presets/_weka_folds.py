"""Weka's stratified folds: which rows are tested together, for a given seed.

To reproduce a published result of Weka's cross-validation exactly, the same rows must be tested together. The folds
depend on the order of the rows, on the classes, and on the seed of Java's random number generator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._typing import IndexArray

_MASK = (1 << 48) - 1
_MULTIPLIER = 0x5DEECE66D


class JavaRandom:
    """The random number generator of ``java.util.Random``: a linear congruential generator modulo 2^48.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def _bits(self) -> int:
        """Return the next 31 random bits."""
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK
        return self._state >> 17

    def below(self, bound: int) -> int:
        """Return a random integer from 0 to ``bound`` − 1, as Java's ``nextInt(bound)`` does."""
        # Java takes the high bits for powers of two, since the low bits of such generators are less random.
        if bound & (bound - 1) == 0:
            return (bound * self._bits()) >> 31
        while True:
            bits = self._bits()
            value = bits % bound
            if bits - value + bound - 1 < 1 << 31:  # otherwise the largest values would be drawn less often
                return value

    def shuffle(self, rows: list[int]) -> None:
        """Shuffle ``rows`` in place, as Weka's ``Instances.randomize`` does.

        From the last position to the second, the row is swapped with a random row at the same or an earlier position.
        """
        for last in range(len(rows) - 1, 0, -1):
            other = self.below(last + 1)
            rows[last], rows[other] = rows[other], rows[last]


def _gather_classes(rows: list[int], codes: list[int]) -> None:
    """Sort ``rows`` in place by swaps, so that the rows of each class are together.

    ``codes`` are the class numbers of all rows. The order of the swaps is that of Weka's ``Instances.stratify``.
    """
    place = 1
    while place < len(rows):
        for later in range(place, len(rows)):
            # These swaps must be in the order of Weka's Instances.stratify. Another order would give other folds.
            if codes[rows[later]] == codes[rows[place - 1]]:
                rows[place], rows[later] = rows[later], rows[place]
                place += 1
        place += 1


class WekaFolds:
    """Repeated stratified folds, as in Weka's Experimenter. The seed of run r is r.

    Parameters
    ----------
    n_splits : int, default=10
    n_repeats : int, default=10
        Number of runs. Their seeds are 1, 2, and so on.
    mixed : bool, default=False
        Whether training rows are in the shuffled order that Weka uses. By default they are in ascending order. The
        order can change results only if there are ties.
    """

    def __init__(self, n_splits: int = 10, n_repeats: int = 10, *, mixed: bool = False) -> None:
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.mixed = mixed

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Yield the training rows and the test rows of each fold, run by run. Test rows are in Weka's order."""
        codes = np.unique(np.asarray(y), return_inverse=True)[1].tolist()
        for seed in range(1, self.n_repeats + 1):
            yield from self._run(seed, codes)

    def _run(self, seed: int, codes: list[int]) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Yield the folds of the run with this seed. ``codes`` are the class numbers of the rows."""
        random = JavaRandom(seed)
        rows = list(range(len(codes)))
        random.shuffle(rows)
        _gather_classes(rows, codes)
        # Weka distributes the rows, sorted by class, to the folds in turn, which stratifies the folds. Then it cuts
        # the new order into consecutive parts.
        dealt = [rows[fold :: self.n_splits] for fold in range(self.n_splits)]
        rows = [row for part in dealt for row in part]
        # The first folds have one row more, if the rows cannot be divided evenly.
        size, larger = divmod(len(rows), self.n_splits)
        begin = 0
        for fold in range(self.n_splits):
            end = begin + size + (fold < larger)
            train = rows[:begin] + rows[end:]
            random.shuffle(train)  # Weka uses the same generator for all folds of a run
            yield np.array(train if self.mixed else sorted(train)), np.array(rows[begin:end])
            begin = end

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds in all runs together."""
        return self.n_splits * self.n_repeats
