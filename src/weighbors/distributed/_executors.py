"""Where blocks are worked off: on this machine through joblib, or by dask.

Both run the same functions on the same blocks and put the results together in the same order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol
from uuid import uuid4

from .._threads import effective_n_jobs
from ..exceptions import ClusterError, MissingDependencyError

__all__ = ["DaskExecutor", "Executor", "LocalExecutor", "executor_for"]

_FAN_IN = 8  # results that one merge takes
_PATIENCE = 60.0  # seconds that a cluster may be without workers, or out of reach


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
        self.client = _current_client() if client is None else client
        if self.client is not None:
            _check_client(self.client)

    @property
    def n_workers(self) -> int:
        """Threads of the cluster."""
        if self.client is None:
            return effective_n_jobs(-1)
        return max(1, sum(self.client.nthreads().values()))

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

        if self.client is None:
            return list(dask.compute(*tasks))
        _check_client(self.client)
        with _told_of_the_cluster(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}):
            futures = self.client.compute(tasks)
            try:
                _await(self.client, futures)
                return list(self.client.gather(futures))
            finally:
                if self.client.status == "running":
                    self.client.cancel(futures)


def executor_for(client: Any, n_jobs: int | None, *, dask: bool) -> Executor:
    """Dask where a client is given or the table is a dask collection, otherwise this machine."""
    if client is None and not dask:
        return LocalExecutor(n_jobs)
    require_dask()
    return DaskExecutor(client)


def require_dask() -> None:
    """Refuse to go on without dask."""
    try:
        import dask  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("this needs dask: pip install 'weighbors[dask]'") from error


def _current_client() -> Any:
    """The client that is current, or None."""
    require_dask()
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def _check_client(client: Any) -> None:
    if getattr(client, "asynchronous", False):
        raise ClusterError("an asynchronous client cannot be waited for: use distributed.Client(asynchronous=False)")
    if client.status != "running":
        raise ClusterError(
            f"the dask client is {client.status}, not running: its cluster went away or close() was called. "
            "Make a new distributed.Client and pass it as client="
        )


def _await(client: Any, futures: list[Any], patience: float | None = None) -> None:
    """Wait for futures, but not for ever for a cluster that is gone."""
    from distributed import wait

    patience = _PATIENCE if patience is None else patience
    alive = time.monotonic()
    while True:
        try:
            wait(futures, timeout=min(2.0, patience / 4))
            return
        except TimeoutError:
            if client.status == "running" and _has_workers(client):
                alive = time.monotonic()
        if client.status not in ("running", "connecting") or time.monotonic() - alive > patience:
            raise ClusterError(
                f"the cluster went away: the client is {client.status} and no worker was in reach for "
                f"{time.monotonic() - alive:.0f} s. Start workers, make a new client and run again"
            )


def _has_workers(client: Any) -> bool:
    try:
        return bool(client.sync(client.scheduler.ncores, callback_timeout=2.0))
    except (TimeoutError, OSError):
        return False


class _told_of_the_cluster:  # noqa: N801 - reads as a with-statement
    """What dask raises when workers or the cluster are lost becomes a `ClusterError` that says what to do."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            return
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.client import ClosedClientError
        from distributed.comm.core import CommClosedError

        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"workers died again and again at the same task ({error}). Most often that is memory: give them more, "
                "or use a smaller max_bytes"
            ) from error
        if isinstance(error, (CancelledError, ClosedClientError, CommClosedError)):
            raise ClusterError(
                f"the cluster went away while it was at work ({error!r}). Make a new distributed.Client and run again"
            ) from error
