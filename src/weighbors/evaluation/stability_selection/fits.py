"""Fits of a weigher to pairs of half samples: in parallel and with progress."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._display.status_line import StatusLine, draw_bar
from ..._parallel.executors import Executor
from ..._random import integer_seed
from ..._typing import FloatArray, IndexArray
from ...exceptions import InvalidDataError, WeighborsWarning
from ...tables.coded import CodedTable
from ...tables.targets import Target
from ..model_features import fit_feature_scores
from .halves import HalfPair, draw_halves

#: The target of all rows, the two half samples, and a seed for each of the two fits.
PairTask = tuple[Target, HalfPair, tuple[int, int]]


def draw_tasks(
    target: Target,
    strata: IndexArray,
    groups: IndexArray | None,
    n_pairs: int,
    seeds: np.random.SeedSequence,
) -> list[PairTask]:
    """Return the tasks of one set of labels: pairs of half samples, each with its own seeds.

    Parameters
    ----------
    target : Target
    strata : ndarray of int of shape (n,)
        The stratum of each row.
    groups : ndarray of int of shape (n,), or None
    n_pairs : int
    seeds : SeedSequence
        Each pair gets a child of it.
    """
    tasks = []
    for child in seeds.spawn(n_pairs):
        halves = draw_halves(strata, groups, np.random.default_rng(child))
        first, second = (integer_seed(one) for one in child.spawn(2))
        tasks.append((target, halves, (first, second)))
    return tasks


def fit_pair(target: Target, halves: HalfPair, seeds: tuple[int, int], weigher: Any, table: CodedTable) -> FloatArray:
    """Return the weights that the weigher learns from both half samples, of shape (2, n_features).

    ``target`` takes the place of the target of ``table``.
    """
    whole = replace(table, target=target)
    y = target.codes if target.numbers is None else target.numbers
    return np.stack(
        [fit_feature_scores(weigher, whole, y, rows, seed) for rows, seed in zip(halves, seeds, strict=True)]
    )


@dataclass
class HalfFits:
    """Runs the fits of all half samples, set of labels by set of labels.

    Parameters
    ----------
    weigher : estimator
    table : CodedTable
    executor : Executor
    n_blocks : int
        Number of sets of labels: the original ones and the permuted ones.
    verbose : bool
        Whether progress is shown on stderr.
    """

    weigher: Any
    table: CodedTable
    executor: Executor
    n_blocks: int
    verbose: bool

    def __post_init__(self) -> None:
        self._line = StatusLine()

    def run(
        self, blocks: Iterator[list[PairTask]], score: Callable[[FloatArray], FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weights of all half samples of the original labels, and the scores of each permuted set.

        ``blocks`` yields the tasks of each set of labels, the original ones first. ``score`` returns the scores of the
        features from the weights of a set of permuted labels, so that not all weights have to be kept.
        """
        try:
            weights = self._fit(0, next(blocks))
            if not np.isfinite(weights).any():
                raise InvalidDataError("the weigher gives no finite weight to any feature in any half sample")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WeighborsWarning)  # the fits to the original labels have warned already
                null_scores = [score(self._fit(number, tasks)) for number, tasks in enumerate(blocks, start=1)]
        finally:
            if self.verbose:
                self._line.end()
        return weights, np.stack(null_scores)

    def _fit(self, number: int, tasks: list[PairTask]) -> FloatArray:
        """Return the weights of one set of labels, of shape (2 · n_pairs, n_features)."""
        parts: list[FloatArray] = []
        # Without a status line, one call is enough: it sends the table to the workers once.
        step = max(2 * self.executor.n_workers, len(tasks) // 10) if self.verbose else len(tasks)
        for begin in range(0, len(tasks), step):
            parts += self.executor.map(fit_pair, tasks[begin : begin + step], self.weigher, self.table)
            if self.verbose:
                self._show(number, len(parts), len(tasks))
        return np.concatenate(parts)

    def _show(self, number: int, done: int, n_pairs: int) -> None:
        """Show the progress, if it is due."""
        total, so_far = self.n_blocks * n_pairs, number * n_pairs + done
        if self._line.due() or so_far == total:
            what = "original labels" if number == 0 else f"permutation {number} of {self.n_blocks - 1}"
            self._line.show(f"[{draw_bar(so_far, total)}] {so_far}/{total} pairs, {what}, {self._line.seconds:.0f} s")
