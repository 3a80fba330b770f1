"""Driving a search: limits, history, progress, checkpoints, and Ctrl-C."""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ..._warnings import warn
from ...exceptions import InterruptedSearchWarning
from .checkpoint import Checkpoint
from .genome import Population
from .search import EvolutionSearch, read_generator, write_generator

__all__ = ["Limits", "Progress", "ProgressBar", "Run"]


@dataclass(frozen=True)
class Limits:
    """When a search ends: evaluations, seconds, or generations without a better best."""

    evaluations: int
    seconds: float | None = None
    no_change: int | None = None


@dataclass(frozen=True)
class Progress:
    """What a callback is told after every generation."""

    generation: int
    evaluations: int
    max_evaluations: int
    best: float  # fitness; with several goals, minus the smallest first goal
    reduction: float  # of the best individual
    seconds: float  # since this fit began
    seconds_left: float  # by evaluations or time limit, whichever is sooner


class ProgressBar:
    """A line on stderr: rewritten on a terminal, a new one every ten seconds elsewhere."""

    def __init__(self) -> None:
        self._told = -np.inf
        self._last: Progress | None = None  # not shown yet
        self._begun = False  # a line that has no end yet

    def __call__(self, p: Progress) -> None:
        """Show how far the search is."""
        self._last = p
        if p.seconds - self._told >= (0.1 if sys.stderr.isatty() else 10.0):
            self._show(p)

    def close(self) -> None:
        """Show where the search ended, and end the line."""
        if self._last is not None:
            self._show(self._last)
        if self._begun:
            sys.stderr.write("\n")
            self._begun = False

    def _show(self, p: Progress) -> None:
        self._told, self._last = p.seconds, None
        filled = 20 * min(p.evaluations, p.max_evaluations) // p.max_evaluations
        line = (
            f"{'#' * filled}{'.' * (20 - filled)} {p.evaluations}/{p.max_evaluations} evaluations  best {p.best:.4f}  "
            f"reduction {p.reduction:.1%}  {p.seconds:.0f} s, about {p.seconds_left:.0f} s left"
        )
        self._begun = sys.stderr.isatty()
        sys.stderr.write(f"\r{line}\x1b[K" if self._begun else f"{line}\n")
        sys.stderr.flush()


@dataclass
class Run:
    """A search under way.

    ``judge`` gives the figures of individuals, ``describe`` what a row of history says of the search:
    at least ``best`` (larger is better) and ``reduction``.
    """

    search: EvolutionSearch
    judge: Callable[[Population], FloatArray]
    describe: Callable[[EvolutionSearch], dict[str, float]]
    limits: Limits
    history: list[dict[str, Any]] = field(default_factory=list)
    checkpoint: Checkpoint | None = None
    checkpoint_seconds: float = 5.0
    watchers: tuple[Callable[[Progress], Any], ...] = ()
    begun: float = field(default_factory=time.perf_counter)
    reason: str = ""  # why it ended
    _before: float = 0.0  # seconds of the run that this one continues
    _whole: tuple[EvolutionSearch, str, int] | None = None  # after the last whole generation; rows of history
    _saved: float = -np.inf

    def drive(self) -> None:
        """Run until a limit; leaves the search after its last whole generation, and why it ended.

        An error, of a callback for example, is raised after what was found has gone to the checkpoint.
        """
        first = self.search.evaluations
        self._before = float(self.history[-1]["seconds"]) if self.history else 0.0
        if len(self.search.fitness):
            self._keep()
        try:
            self.reason = self._loop(first)
            self._end()
        except KeyboardInterrupt:
            if self._whole is None:
                raise
            self.reason = "interrupted"
            self._end()
            warn(
                f"interrupted after {self.search.evaluations} evaluations: the answer is the best found so far",
                InterruptedSearchWarning,
            )
        except Exception:
            if self._whole is not None:
                with suppress(OSError):  # the error may be that of the disk
                    self._end()
            raise
        finally:
            for watcher in self.watchers:
                if isinstance(watcher, ProgressBar):
                    watcher.close()

    def _end(self) -> None:
        assert self._whole is not None
        search = copy.copy(self._whole[0])
        search.rng, search._asked = read_generator(self._whole[1]), None
        self.search = search
        del self.history[self._whole[2] :]
        self._save(force=True)

    def _loop(self, first: int) -> str:
        while True:
            reason = self._reason_to_stop()
            if reason:
                return reason
            asked = self.search.ask(self.limits.evaluations - self.search.evaluations)
            self.search.tell(self.judge(asked))
            self._record()
            self._keep()
            self._save(force=False)
            progress = self._progress(first)
            answers = [watcher(progress) for watcher in self.watchers]
            if any(answers):
                return "callback"

    def _keep(self) -> None:
        """Remember search and history as they are now, in one step: arrays are replaced, never changed."""
        self._whole = copy.copy(self.search), write_generator(self.search.rng), len(self.history)

    def _reason_to_stop(self) -> str | None:
        limits = self.limits
        if self.search.evaluations >= limits.evaluations:
            return "max_evaluations"
        if limits.seconds is not None and len(self.search.fitness) and self._seconds() >= limits.seconds:
            return "time_limit"
        if self.search.exhausted:
            return "converged"
        if limits.no_change is not None and self.search.stagnant >= limits.no_change:
            return "n_iter_no_change"
        return None

    def _seconds(self) -> float:
        return time.perf_counter() - self.begun

    def _record(self) -> None:
        s = self.search
        row = {"generation": s.generation, "evaluations": s.evaluations, **self.describe(s)}
        row.update(accepted=s.accepted, restarts=s.restarts, threshold=s.threshold)
        row["seconds"] = self._before + self._seconds()
        self.history.append(row)

    def _progress(self, first: int) -> Progress:
        s, row, seconds = self.search, self.history[-1], self._seconds()
        left = (self.limits.evaluations - s.evaluations) * seconds / max(1, s.evaluations - first)
        if self.limits.seconds is not None:
            left = min(left, max(0.0, self.limits.seconds - seconds))
        return Progress(
            s.generation, s.evaluations, self.limits.evaluations, row["best"], row["reduction"], seconds, left
        )

    def _save(self, *, force: bool) -> None:
        if self.checkpoint is None or (not force and self._seconds() - self._saved < self.checkpoint_seconds):
            return
        self.checkpoint.write(self.search.state(), self.history)
        self._saved = self._seconds()
