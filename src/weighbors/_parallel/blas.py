"""Linear algebra in one thread, for small matrices and for processes that share the cores."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which the libraries of linear algebra use one thread.

    Threads cost more than they gain where matrices are small, and up to a hundred times as much where other processes
    are busy.
    """
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> Any:
    """Return the loaded libraries. They are looked for once, which takes as long as a small fit."""
    import scipy.linalg  # noqa: F401 - it loads a library of its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
