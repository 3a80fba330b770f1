"""How much a report computes: rows, repetitions, permutations and folds. It follows from the size of the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import IndexArray
from ._data import ReportData

#: Sets of permuted labels for the list. With fewer, no list of a single feature could have a q-value of 0.1.
LIST_PERMUTATIONS = 10
#: Numbers of pairs of half samples for the list, on all rows and in the training part of each fold.
PAIRS, FOLD_PAIRS = (50, 25, 10, 5), (10, 5, 3)
LIST_SECONDS = 5.0
#: Largest number of rows that are used of a table with a numeric target.
MOST_NUMBERS = 1500
#: Largest number of training rows from which votes are learned for classes, since they are solved for all at once.
MOST_VOTERS = 1500


@dataclass(frozen=True)
class Effort:
    """How much is computed.

    ``rows`` is the largest number of rows that are used. ``repeats`` is how often the folds are repeated.
    ``permutations`` is the number of permutations, and 0 means that there is no permutation test. ``folds`` is the
    number of folds. ``shuffles`` is how often the folds are repeated with shuffled labels. ``pairs`` is the number of
    pairs of half samples from which the list of features is made, and ``fold_pairs`` that in the training part of each
    fold. With 0 pairs there is no list. ``list_permutations`` is the number of sets of permuted labels for the list.
    """

    rows: int
    repeats: int
    permutations: int
    folds: int
    shuffles: int = 1
    pairs: int = 0
    fold_pairs: int = 0
    list_permutations: int = LIST_PERMUTATIONS

    @property
    def steps(self) -> int:
        """Number of steps: all folds, those with shuffled labels, the permutation test, the list, and all rows."""
        # The test fits the weigher once to the real labels and once per permutation.
        tested = self.permutations + 1 if self.permutations else 0
        listed = self.folds + 1 if self.pairs else 0
        return (self.repeats + self.shuffles) * self.folds + tested + listed + 1


def effort_for(table: ReportData) -> Effort:
    """Return an effort that takes less than a minute on two cores.

    It depends only on the table, so that it is the same on every computer. There are at most 5 folds, and not more
    folds than the second largest class has rows (or groups), so that every training part contains two classes.
    """
    # Learned votes solve for all rows at once, so that a numeric target has fewer.
    rows = MOST_NUMBERS if table.numeric else 3000 if len(table.classes) <= 10 else 2000
    n, M = min(table.n, rows), table.n_features
    holes, nominal = int(np.isnan(table.rows).any(axis=0).sum()), int(table.nominal.sum())
    # approximate time of one step in seconds, fitted to measured times
    cost = 1e-10 * n * n * M + 1.5e-7 * n * M + 5e-5 * holes * max(1, len(table.classes)) + 1.5e-3 * nominal
    repeats = 5 if cost < 0.3 else 3 if cost < 0.8 else 2
    # With fewer than 20 permutations, no feature could be significant at 5 %. A fit of ReliefF takes up to half a step.
    permutations = 100 if cost < 0.1 else 50 if cost < 0.3 else 30 if cost < 0.8 else 0
    units = _splittable_units(table)
    folds = min(5, int(np.sort(units)[-2] if len(units) > 1 else units[0]))
    if table.numeric:
        repeats = 5 if n <= 400 else 3 if n <= 800 else 2
    # One set of shuffled labels can give an unusual stability by chance, so the mean of several is better.
    shuffles = 3 if cost < 0.3 else 2
    # approximate time of one fit of the F-statistic to a half sample, in seconds
    fit = 1.3e-3 + 1e-8 * n * M + 1.2e-3 * nominal
    sets = 2 * (1 + LIST_PERMUTATIONS)
    pairs = _affordable(PAIRS, sets * fit)
    fold_pairs = _affordable(FOLD_PAIRS, sets * fit * folds)
    return Effort(rows, repeats, permutations, folds, shuffles, pairs, fold_pairs)


def _affordable(numbers: tuple[int, ...], cost: float) -> int:
    """Return the first of the numbers of pairs that takes at most `LIST_SECONDS`, or the last. ``cost`` is of one."""
    return next((number for number in numbers if number * cost <= LIST_SECONDS), numbers[-1])


def _splittable_units(table: ReportData) -> IndexArray:
    """Return for each class how many units folds can split: its rows, or the groups in which it occurs.

    A numeric target counts as one class.
    """
    if table.numeric:
        return np.array([table.n if table.groups is None else len(np.unique(table.groups))])
    if table.groups is None:
        return table.counts
    return np.array([len(np.unique(table.groups[table.codes == c])) for c in range(len(table.classes))])


def sample_rows(table: ReportData, most: int, rng: np.random.Generator) -> tuple[ReportData, IndexArray]:
    """Return a table and its row numbers. If it has more than ``most`` rows, a random sample of about ``most`` rows.

    In the sample, the classes keep their shares. Every class keeps at least two rows, if it has two.
    """
    if table.n <= most:
        return table, np.arange(table.n)
    if table.numeric:
        rows = np.sort(rng.choice(table.n, size=most, replace=False))
        return table.take(rows), rows
    # Rounding down could leave a rare class without rows. It could then not be learned and tested.
    wanted = np.maximum(np.minimum(table.counts, 2), np.floor(table.counts * most / table.n).astype(np.int64))
    drawn = [
        rng.choice(np.flatnonzero(table.codes == c), size=int(number), replace=False) for c, number in enumerate(wanted)
    ]
    rows = np.sort(np.concatenate(drawn))
    return table.take(rows), rows
