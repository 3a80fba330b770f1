"""Fits of a weigher to pairs of half samples: in parallel, with progress, and kept in a checkpoint."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..._archive import ArchiveKind
from ..._parallel.executors import Executor
from ..._random import integer_seed
from ..._status_line import StatusLine, draw_bar
from ..._typing import AnyArray, FloatArray, IndexArray
from ...exceptions import CheckpointError, InvalidDataError, WeighborsWarning
from ...weighers.scored_table import ScoredTable
from ..model_features import fit_feature_scores
from .halves import HalfPair, draw_halves

__all__ = ["FitKeeper", "HalfFits", "PairTask", "draw_tasks", "fit_pair"]

#: Labels, the two half samples, and a seed for each of the two fits.
PairTask = tuple[AnyArray, HalfPair, tuple[int, int]]

_KEEP_SECONDS = 10.0  # time between two writes of a checkpoint
_KIND = ArchiveKind(
    format="weighbors.StabilitySelection checkpoint",
    version=1,
    error=CheckpointError,
    unreadable="'{path}' is not a readable checkpoint ({reason}). Delete it or name another file",
    foreign="'{path}' is an npz file, but no stability selection wrote it. Name another file",
    other_version=(
        "'{path}' has version {found} of the format and this release reads {version}. "
        "Finish it with the release that wrote it"
    ),
    changed="'{path}' is damaged: its content is not what was written. Start anew",
)


def draw_tasks(
    y: AnyArray,
    strata: IndexArray,
    groups: IndexArray | None,
    n_pairs: int,
    seeds: np.random.SeedSequence,
) -> list[PairTask]:
    """Return the tasks of one set of labels: pairs of half samples, each with its own seeds.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels, or a numeric target.
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
        tasks.append((y, halves, (first, second)))
    return tasks


def fit_pair(y: AnyArray, halves: HalfPair, seeds: tuple[int, int], weigher: Any, X: Any) -> FloatArray:
    """Return the weights that the weigher learns from both half samples, of shape (2, n_features).

    ``X`` is the table, or a `ScoredTable` of it.
    """
    if isinstance(X, ScoredTable):
        return np.stack([X.score(rows, y[rows]) for rows in halves])
    return np.stack([fit_feature_scores(weigher, X, y, rows, seed) for rows, seed in zip(halves, seeds, strict=True)])


@dataclass
class FitKeeper:
    """A checkpoint file that keeps the weights of the fits that are done.

    Parameters
    ----------
    path : path-like
    data : str
        Digest of the rows, the target and the groups.
    settings : mapping
        All settings that change the weights, as plain values.
    entropy : object
        The seed, so that a continued run draws the same half samples also if ``random_state`` is None.
    """

    path: str | os.PathLike[str]
    data: str
    settings: Mapping[str, Any]
    entropy: Any
    _written: float = field(default_factory=time.monotonic)

    def open(self, *, resume: bool) -> tuple[dict[str, AnyArray], Any]:
        """Return the arrays of an earlier run and its seed, or an empty dict and the own seed for a new run."""
        place = Path(self.path)
        if not place.absolute().parent.is_dir():
            raise CheckpointError(f"the directory of the checkpoint '{place}' is not there: make it first")
        if not place.exists():
            return {}, self.entropy
        if not resume:
            raise CheckpointError(
                f"'{place}' is there already, and a new run would overwrite it. Continue it with resume=True, delete "
                "it, or name another file"
            )
        header, state = _KIND.read(place)
        if header["data"] != self.data:
            raise CheckpointError(
                f"'{place}' belongs to other data (its digest differs). Resume with the rows, labels and groups it was "
                "made from, or name another checkpoint"
            )
        then, now = header["settings"], json.loads(json.dumps(dict(self.settings)))
        differing = [key for key in sorted({*then, *now}) if then.get(key) != now.get(key)]
        if differing:
            raise CheckpointError(
                f"'{place}' belongs to other settings ({', '.join(differing)} differ). Use those of the checkpoint, or "
                "name another one"
            )
        return state, header["entropy"]

    def write(self, state: Mapping[str, AnyArray], *, now: bool = False) -> None:
        """Write the arrays if the last write was some time ago, or at once if ``now``."""
        if now or time.monotonic() - self._written >= _KEEP_SECONDS:
            _KIND.write(self.path, state, data=self.data, settings=dict(self.settings), entropy=self.entropy)
            self._written = time.monotonic()


@dataclass
class HalfFits:
    """Runs the fits of all half samples, set of labels by set of labels.

    Parameters
    ----------
    weigher, X
        The weigher, and the table or a `ScoredTable` of it.
    executor : Executor
    keeper : FitKeeper or None
    state : dict of arrays
        What the checkpoint has: ``weights`` of the original labels, ``null_scores`` of the sets of permuted labels that
        are done, and ``part``, the weights of the set that is not done.
    n_blocks : int
        Number of sets of labels: the original ones and the permuted ones.
    verbose : bool
        Whether progress is shown on stderr.
    """

    weigher: Any
    X: Any
    executor: Executor
    keeper: FitKeeper | None
    state: dict[str, AnyArray]
    n_blocks: int
    verbose: bool

    def __post_init__(self) -> None:
        self._line = StatusLine()

    def run(self, blocks: Iterator[list[PairTask]], summarize: Callable[[FloatArray], FloatArray]) -> None:
        """Fit all half samples of all sets of labels, and leave the results in ``state``.

        ``blocks`` yields the tasks of each set of labels, the original ones first. ``summarize`` returns the scores of
        the features from the weights of a set of permuted labels, so that not all weights have to be kept.
        """
        done = 0 if "weights" not in self.state else 1 + len(self.state["null_scores"])
        try:
            with warnings.catch_warnings():
                for number, tasks in enumerate(blocks):
                    if number < done:
                        continue
                    if number:  # the fits to the original labels have warned already
                        warnings.simplefilter("ignore", WeighborsWarning)
                    self._finish(number, self._fit(number, tasks), summarize)
        finally:
            # What is done is kept, also if a fit fails or the user interrupts.
            if self.keeper is not None:
                self.keeper.write(self.state, now=True)
            if self.verbose:
                self._line.end()

    def _finish(self, number: int, weights: FloatArray, summarize: Callable[[FloatArray], FloatArray]) -> None:
        """Store the weights of the original labels, or the scores of a set of permuted ones."""
        if number == 0:
            if not np.isfinite(weights).any():
                raise InvalidDataError("the weigher gives no finite weight to any feature in any half sample")
            self.state |= {"weights": weights, "null_scores": np.zeros((0, weights.shape[1]))}
        else:
            self.state["null_scores"] = np.vstack([self.state["null_scores"], summarize(weights)])
        self.state.pop("part", None)

    def _fit(self, number: int, tasks: list[PairTask]) -> FloatArray:
        """Return the weights of one set of labels, of shape (2 · n_pairs, n_features)."""
        parts = [self.state["part"]] if "part" in self.state else []
        done = sum(len(part) for part in parts) // 2
        # Without a checkpoint or a status line, one call is enough: it sends the table to the workers once.
        watched = self.keeper is not None or self.verbose
        step = max(2 * self.executor.n_workers, len(tasks) // 10) if watched else len(tasks)
        while done < len(tasks):
            found = self.executor.map(fit_pair, tasks[done : done + step], self.weigher, self.X)
            parts.append(np.concatenate(found))
            done += len(found)
            self._watch(number, done, len(tasks), parts)
        return np.concatenate(parts)

    def _watch(self, number: int, done: int, n_pairs: int, parts: list[FloatArray]) -> None:
        """Show the progress and write the checkpoint, if they are wanted and due."""
        if self.keeper is not None:
            self.state["part"] = np.concatenate(parts)
            self.keeper.write(self.state)
        total, so_far = self.n_blocks * n_pairs, number * n_pairs + done
        if self.verbose and (self._line.due() or so_far == total):
            what = "original labels" if number == 0 else f"permutation {number} of {self.n_blocks - 1}"
            self._line.show(f"[{draw_bar(so_far, total)}] {so_far}/{total} pairs, {what}, {self._line.seconds:.0f} s")
