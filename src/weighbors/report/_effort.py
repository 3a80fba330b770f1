"""How much a report computes: rows, repetitions, permutations and folds. It follows from the size of the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import IndexArray
from ._data import ReportData

__all__ = ["Effort", "effort_for", "sample_rows"]

#: Largest number of rows that are used of a table with a numeric target.
MOST_NUMBERS = 1500


@dataclass(frozen=True)
class Effort:
    """How much is computed.

    ``rows`` is the largest number of rows that are used. ``repeats`` is how often the folds are repeated.
    ``permutations`` is the number of permutations, and 0 means that there is no permutation test. ``folds`` is the
    number of folds.
    """

    rows: int
    repeats: int
    permutations: int
    folds: int

    @property
    def steps(self) -> int:
        """Number of steps: all folds, one repetition with shuffled labels, the permutation test, and all rows."""
        # The test fits the weigher once to the real labels and once per permutation.
        tested = self.permutations + 1 if self.permutations else 0
        return self.repeats * self.folds + self.folds + tested + 1


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
    return Effort(rows, repeats, permutations, folds)


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
