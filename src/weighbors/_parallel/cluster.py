"""Work on a Dask cluster (extra ``weighbors[dask]``): every task returns a result, or an error says why it does not.

Dask runs a task again if its worker dies. Without workers Dask would wait for ever, and if the scheduler is lost Dask
cancels all futures. This module raises ClusterError in both cases.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from ..exceptions import ClusterError, MissingDependencyError
from .progress import watch

PATIENCE = 60.0  # seconds without a single worker


def dask_module(name: str) -> Any:
    """Import a module of Dask, or raise an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{name} is not installed, and work on a cluster needs it: pip install 'weighbors[dask]'"
        ) from error


def is_dask(value: Any) -> bool:
    """Return whether a table or vector is a Dask collection. Dask is not imported for this."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def current_client(client: Any = None) -> Any:
    """Return ``client``, or the active Dask client if ``client`` is None. Raise ClusterError if there is no client."""
    distributed = dask_module("distributed")
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError as error:
            raise ClusterError(
                "no Dask client is active here. Make one, client = distributed.Client(...), and give it as client="
            ) from error
    if not isinstance(client, distributed.Client):
        raise ClusterError(f"client must be a distributed.Client; got {type(client).__name__}")
    check_client(client)
    return client


def active_client(client: Any = None) -> Any:
    """Return ``client``, or the active Dask client if ``client`` is None. Return None if there is no client."""
    if client is None:
        with suppress(ImportError, ValueError):
            client = import_module("distributed").get_client()
    return None if client is None else current_client(client)


@contextmanager
def starts_tasks() -> Iterator[None]:
    """Let the code in the ``with`` block wait for tasks of its own, if it runs in a task on a cluster.

    The task gives its thread to the worker meanwhile. Otherwise tasks that wait for others could take all threads.
    """
    try:
        distributed = import_module("distributed")
        distributed.get_worker()
    except (ImportError, ValueError):  # not in a task on a cluster
        yield
        return
    with distributed.worker_client():
        yield


def check_client(client: Any) -> None:
    """Raise ClusterError if the client has lost its scheduler or is asynchronous."""
    if getattr(client, "asynchronous", False):
        raise ClusterError(
            "the client is asynchronous; a blocking one is needed: distributed.Client(asynchronous=False)"
        )
    if client.status != "running":
        raise ClusterError(
            f"the Dask client has no scheduler any more (its status is {client.status!r}). Connect a new one, "
            "distributed.Client(...), and start again"
        )


@contextmanager
def _scheduler_of(client: Any) -> Iterator[None]:
    """Raise ClusterError if the code in the ``with`` block failed because the scheduler was lost."""
    try:
        yield
    except (OSError, RuntimeError, asyncio.CancelledError, CancelledError) as error:
        if isinstance(error, ClusterError):
            raise
        until = time.monotonic() + 2.0  # the client may notice the loss a moment later
        while client.status == "running" and time.monotonic() < until:
            time.sleep(0.05)
        if client.status == "running":
            raise
        try:
            check_client(client)
        except ClusterError as lost:
            raise lost from error


def n_workers(client: Any) -> int:
    """Return how many workers the scheduler has now."""
    return len(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.workers)))


def width_of(client: Any) -> int:
    """Return how many tasks the cluster runs at once. Wait until there is a worker."""
    with _scheduler_of(client):
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise _no_workers(client) from error
        return max(1, sum(client.nthreads().values()))


def _no_workers(client: Any) -> ClusterError:
    """Return the error for a cluster without workers."""
    return ClusterError(
        f"the cluster at {client.scheduler.address if client.scheduler else '?'} has had no worker for "
        f"{PATIENCE:g} seconds. Start workers, and start again"
    )


def collect(client: Any, futures: Iterable[Any], *, window: int | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the number and the future of every task as it ends.

    Parameters
    ----------
    client : distributed.Client
    futures : iterable of Future
        Taken one by one, as earlier futures end. Taking a future from the iterable may submit its task.
    window : int, optional
        Largest number of futures that run or wait at the same time. None: no limit.

    Raises
    ------
    ClusterError
        If the scheduler or all workers were lost, or if a task was cancelled.
    """
    source, pending = enumerate(futures), dict[Any, int]()
    try:
        while True:
            while window is None or len(pending) < window:
                with _scheduler_of(client):
                    one = next(source, None)
                if one is None:
                    break
                pending[one[1]] = one[0]
            if not pending:
                return
            for future in _ended(client, list(pending)):
                number = pending.pop(future)
                # A lost scheduler cancels all futures. That is a better message than a cancelled task.
                if future.status in ("cancelled", "lost"):
                    check_client(client)
                    raise ClusterError(
                        f"Dask gave up a task ({future.status}): it was cancelled elsewhere. Start again"
                    )
                yield number, future
    finally:
        # Tasks that nobody waits for must not go on using the cluster.
        if pending and client.status == "running":
            with suppress(Exception):
                client.cancel(list(pending), force=True)


class _Patience:
    """Checks, while results are waited for, that the cluster still has a scheduler and workers."""

    def __init__(self, client: Any) -> None:
        self.client, self.last_seen = client, time.monotonic()

    def look(self) -> None:
        """Raise ClusterError if the scheduler was lost, or if there has been no worker for too long."""
        check_client(self.client)
        with _scheduler_of(self.client):
            there = n_workers(self.client)
        if there:
            self.last_seen = time.monotonic()
        elif time.monotonic() - self.last_seen > PATIENCE:
            raise _no_workers(self.client)


def _ended(client: Any, futures: list[Any]) -> list[Any]:
    """Wait until at least one future has ended, and return all futures that have ended."""
    wait, patience = dask_module("distributed").wait, _Patience(client)
    # The wait is cut into seconds, so that a lost scheduler is noticed.
    while not (ended := [future for future in futures if future.done()]):
        with suppress(TimeoutError, asyncio.CancelledError, CancelledError), client.as_current():
            wait(futures, timeout=1.0, return_when="FIRST_COMPLETED")
            continue
        patience.look()
    return ended


def result_of(client: Any, future: Any) -> Any:
    """Return the result of a future that has ended. A result that was lost with its worker is computed again."""
    patience = _Patience(client)
    while True:
        try:
            with _scheduler_of(client):
                return future.result(timeout=5.0)
        except TimeoutError:
            if future.status == "error":  # the task itself raised the TimeoutError
                raise
        patience.look()


def results_of(client: Any, futures: Iterable[Any], *, window: int | None = None) -> list[Any]:
    """Return the results of the futures, in the order of the futures. Raise the first error of a task.

    ``window`` is as in `collect`.
    """
    found = {}
    total = len(futures) if isinstance(futures, list) else None
    for number, future in watch(collect(client, futures, window=window), total, "task"):
        try:
            found[number] = result_of(client, future)
        except dask_module("distributed").scheduler.KilledWorker as error:
            raise ClusterError(
                "several workers died on the same task, most likely for want of memory. Give them more, or smaller "
                "strata, chunks or partitions"
            ) from error
    return [found[number] for number in sorted(found)]


def computed(tasks: list[Any], client: Any = None) -> list[Any]:
    """Compute Dask delayed tasks and return their results in order.

    They run on the cluster of ``client`` or of the active client, or with the scheduler of Dask if there is no client.
    """
    client = active_client(client)
    if client is None:
        return list(dask_module("dask").compute(*tasks))
    width_of(client)
    return results_of(client, client.compute(tasks))
