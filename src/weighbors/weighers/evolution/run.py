"""Run a search: limits, history, progress, checkpoints, and Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._status_line import StatusLine, draw_bar
from ..._typing import FloatArray
from ..._warnings import warn
from ...exceptions import InterruptedSearchWarning
from .checkpoint import Checkpoint
from .genome import Population
from .search import EvolutionSearch

__all__ = ["Limits", "Progress", "SearchProgressBar", "Run"]


@dataclass(frozen=True)
class Limits:
    """Limits of a search: evaluations, seconds, and generations without an improvement. None means no limit."""

    evaluations: int
    seconds: float | None = None
    no_change: int | None = None


@dataclass(frozen=True)
class Progress:
    """Progress of a search, which a callback gets after every generation."""

    generation: int
    evaluations: int
    max_evaluations: int
    best: float  # best fitness, or with several goals minus the smallest first goal
    reduction: float  # of the best individual
    seconds: float  # since this fit began
    seconds_left: float  # estimated time until the limit of evaluations or the time limit, whichever comes first


class SearchProgressBar:
    """Progress bar of a search, on stderr."""

    def __init__(self) -> None:
        self._line = StatusLine()
        self._pending: Progress | None = None  # the last generation, if it is not shown yet

    def __call__(self, progress: Progress) -> None:
        """Show the progress, unless the line was updated a moment ago."""
        self._pending = progress
        if self._line.due():
            self._show(progress)

    def close(self) -> None:
        """Show the last progress, and end the line."""
        if self._pending is not None:
            self._show(self._pending)
        self._line.end()

    def _show(self, p: Progress) -> None:
        """Write the progress ``p`` as one line."""
        self._pending = None
        self._line.show(
            f"{draw_bar(p.evaluations, p.max_evaluations, width=20)} {p.evaluations}/{p.max_evaluations} evaluations  "
            f"best {p.best:.4f}  reduction {p.reduction:.1%}  {p.seconds:.0f} s, about {p.seconds_left:.0f} s left"
        )


@dataclass
class Run:
    """Run of a search, from its first generation or from a checkpoint until a limit.

    Parameters
    ----------
    search : EvolutionSearch
    judge : function of a population
        Returns the fitness or the goals that ``search.tell`` takes.
    describe : function of the search
        Returns one row of the history as a dict, with at least ``best`` (larger is better) and ``reduction``.
    limits : Limits
    history : list of dict
        History of the run that this run continues. New rows are added to it.
    checkpoint, checkpoint_seconds
        The checkpoint to write, or None, and the shortest time between two writes.
    watchers : tuple of functions of a `Progress`
        Called after every generation. If one of them returns a true value, the search ends.
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
    reason: str = ""  # why the search ended
    _before: float = 0.0  # seconds of the run that this run continues
    # Copy of the search after its last complete generation, and the number of rows of the history then.
    _complete: tuple[EvolutionSearch, int] | None = None
    _saved: float = -np.inf

    def drive(self) -> None:
        """Run the search until a limit.

        Afterwards ``search`` is the search after its last complete generation, and ``reason`` says why it
        ended. If an error occurs, for example in a callback, the last complete generation is written to the
        checkpoint before the error is raised.
        """
        first = self.search.evaluations
        self._before = float(self.history[-1]["seconds"]) if self.history else 0.0
        # A continued search has a complete generation already.
        if len(self.search.fitness):
            self._keep()
        try:
            self.reason = self._loop(first)
            self._end()
        except KeyboardInterrupt:
            if self._complete is None:
                raise
            self.reason = "interrupted"
            self._end()
            warn(
                f"interrupted after {self.search.evaluations} evaluations: the answer is the best found so far",
                InterruptedSearchWarning,
            )
        except Exception:
            if self._complete is not None:
                with suppress(OSError):  # the disk may be the cause of the first error
                    self._end()
            raise
        finally:
            for watcher in self.watchers:
                if isinstance(watcher, SearchProgressBar):
                    watcher.close()

    def _end(self) -> None:
        """Go back to the last complete generation, and write it to the checkpoint."""
        assert self._complete is not None
        self.search, rows = self._complete
        del self.history[rows:]
        self._save(force=True)

    def _loop(self, first: int) -> str:
        """Run generation after generation, and return why the search ended.

        ``first`` is the number of evaluations before this run.
        """
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
        """Store a copy of the search and the length of the history.

        It is one assignment, so that Ctrl-C, which can come at any moment, cannot leave half of it.
        """
        self._complete = self.search.snapshot(), len(self.history)

    def _reason_to_stop(self) -> str | None:
        """Return why the search ends now, or None if it continues."""
        limits = self.limits
        if self.search.evaluations >= limits.evaluations:
            return "max_evaluations"
        # The first population is always evaluated, since without it there is no result.
        if limits.seconds is not None and len(self.search.fitness) and self._seconds() >= limits.seconds:
            return "time_limit"
        if self.search.exhausted:
            return "converged"
        if limits.no_change is not None and self.search.stagnant >= limits.no_change:
            return "n_iter_no_change"
        return None

    def _seconds(self) -> float:
        """Return the seconds since this run began."""
        return time.perf_counter() - self.begun

    def _record(self) -> None:
        """Add a row to the history."""
        s = self.search
        row = {"generation": s.generation, "evaluations": s.evaluations, **self.describe(s)}
        row.update(accepted=s.accepted, restarts=s.restarts, threshold=s.threshold)
        row["seconds"] = self._before + self._seconds()
        self.history.append(row)

    def _progress(self, first: int) -> Progress:
        """Return the progress of the search. ``first`` is the number of evaluations before this run."""
        s, row, seconds = self.search, self.history[-1], self._seconds()
        # The remaining time is estimated from the mean time per evaluation in this run.
        left = (self.limits.evaluations - s.evaluations) * seconds / max(1, s.evaluations - first)
        if self.limits.seconds is not None:
            left = min(left, max(0.0, self.limits.seconds - seconds))
        return Progress(
            s.generation, s.evaluations, self.limits.evaluations, row["best"], row["reduction"], seconds, left
        )

    def _save(self, *, force: bool) -> None:
        """Write the checkpoint if ``checkpoint_seconds`` have passed since the last write, or if ``force`` is True."""
        if self.checkpoint is None or (not force and self._seconds() - self._saved < self.checkpoint_seconds):
            return
        self.checkpoint.write(self.search.state(), self.history)
        self._saved = self._seconds()
