"""Where blocks are worked off: on this machine through joblib, or by dask.

Both run the same functions on the same blocks and put the results together in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol
from uuid import uuid4

from .._cluster import active_client, computed, width_of
from .._threads import effective_n_jobs

__all__ = ["DaskExecutor", "Executor", "LocalExecutor", "executor_for"]

_FAN_IN = 8  # results that one merge takes


class Executor(Protocol):
    """What runs functions on blocks.

    ``each`` are further arguments per block, ``common`` those that all blocks share.
    """

    @property
    def n_workers(self) -> int: ...

    def map(
        self, function: Callable[..., Any], blocks: Sequence[Any], each: Sequence[tuple[Any, ...]], *common: Any
    ) -> list[Any]:
        """``function(block, *each, *common)`` of every block, in order."""

    def reduce(
        self,
        function: Callable[..., Any],
        blocks: Sequence[Any],
        each: Sequence[tuple[Any, ...]],
        *common: Any,
        merge: Callable[[list[Any]], Any],
    ) -> Any:
        """The same, put together by ``merge``, a function of neighbouring results in order."""


class LocalExecutor:
    """joblib: threads by default, since the kernels let go of the interpreter; any backend that is active."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @property
    def n_workers(self) -> int:
        """Blocks that are worked off at once."""
        return effective_n_jobs(self.n_jobs)

    def _run(
        self, function: Callable[..., Any], blocks: Sequence[Any], each: Sequence[tuple[Any, ...]], common: Any
    ) -> Iterator[Any]:
        """Results in order; of many blocks no more than some are held at once."""
        jobs = [(block, *own, *common) for block, own in zip(blocks, each, strict=True)]
        if self.n_workers == 1 or len(jobs) == 1:
            yield from (function(*job) for job in jobs)
            return
        from joblib import Parallel, delayed

        wave = 2 * self.n_workers
        with Parallel(n_jobs=self.n_jobs, prefer="threads") as parallel:
            for begin in range(0, len(jobs), wave):
                yield from parallel(delayed(function)(*job) for job in jobs[begin : begin + wave])

    def map(
        self, function: Callable[..., Any], blocks: Sequence[Any], each: Sequence[tuple[Any, ...]], *common: Any
    ) -> list[Any]:
        """One result per block."""
        return list(self._run(function, blocks, each, common))

    def reduce(
        self,
        function: Callable[..., Any],
        blocks: Sequence[Any],
        each: Sequence[tuple[Any, ...]],
        *common: Any,
        merge: Callable[[list[Any]], Any],
    ) -> Any:
        """Put together as they come, so that one result is held."""
        whole: Any = None
        for number, part in enumerate(self._run(function, blocks, each, common)):
            whole = part if number == 0 else merge([whole, part])
        return whole


class DaskExecutor:
    """dask: blocks where their chunks are, results merged by a tree of tasks.

    Everything a task needs is in its graph, so that dask computes again what a lost worker held.
    """

    def __init__(self, client: Any = None) -> None:
        self.client = active_client(client)

    @property
    def n_workers(self) -> int:
        """Tasks at once."""
        return effective_n_jobs(-1) if self.client is None else width_of(self.client)

    def _tasks(
        self, function: Callable[..., Any], blocks: Sequence[Any], each: Sequence[tuple[Any, ...]], common: Any
    ) -> list[Any]:
        from dask import delayed

        shared = [delayed(value, name=f"weighbors-shared-{uuid4().hex}", traverse=False) for value in common]
        run = delayed(function, pure=False, traverse=False)
        return [run(block, *own, *shared) for block, own in zip(blocks, each, strict=True)]

    def map(
        self, function: Callable[..., Any], blocks: Sequence[Any], each: Sequence[tuple[Any, ...]], *common: Any
    ) -> list[Any]:
        """One result per block."""
        return self._compute(self._tasks(function, blocks, each, common))

    def reduce(
        self,
        function: Callable[..., Any],
        blocks: Sequence[Any],
        each: Sequence[tuple[Any, ...]],
        *common: Any,
        merge: Callable[[list[Any]], Any],
    ) -> Any:
        """A tree of merges on the workers; one result comes back."""
        from dask import delayed

        parts = self._tasks(function, blocks, each, common)
        while len(parts) > 1:
            groups = [parts[begin : begin + _FAN_IN] for begin in range(0, len(parts), _FAN_IN)]
            parts = [delayed(merge, pure=False)(group) if len(group) > 1 else group[0] for group in groups]
        return self._compute(parts)[0] if parts else None

    def _compute(self, tasks: list[Any]) -> list[Any]:
        import dask

        if not tasks:
            return []
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}):
            return computed(tasks, self.client)


def executor_for(client: Any, n_jobs: int | None, *, dask: bool) -> Executor:
    """Dask where a client is given or the table is a dask collection, otherwise this machine."""
    return LocalExecutor(n_jobs) if client is None and not dask else DaskExecutor(client)
