"""What goes wrong, as a message and an exit code; never a traceback."""

from __future__ import annotations

import errno
import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import typer

from ._say import error, note

__all__ = ["BAD_DATA", "FAILED_CELLS", "INTERRUPTED", "TROUBLE", "USAGE", "UsageError", "guarded"]

TROUBLE, USAGE, BAD_DATA, FAILED_CELLS, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141
DEBUG = "WEIGHBORS_DEBUG"


class UsageError(Exception):
    """The command line asks for something that cannot be."""


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, with every error turned into one message on stderr and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings():
                _show_warnings()
                code = command(*args, **options)
            sys.stdout.flush()
        except typer.Exit:
            raise
        except BaseException as problem:
            code = _told(problem)
        raise typer.Exit(code or 0)

    return run


def _show_warnings() -> None:
    """Warnings of this library as notes; those of others only where somebody debugs."""
    from ..exceptions import WeighborsWarning

    if DEBUG not in os.environ:
        warnings.simplefilter("ignore")
    warnings.simplefilter("always", WeighborsWarning)
    warnings.showwarning = lambda message, *_, **__: note(str(message))


def _told(problem: BaseException) -> int:
    """Say what happened; gives the exit code."""
    from ..exceptions import MissingDependencyError, WeighborsError

    if DEBUG in os.environ:
        traceback.print_exception(problem, file=sys.stderr)
    if isinstance(problem, KeyboardInterrupt):
        error(str(problem) or "interrupted; nothing was written")
        return INTERRUPTED
    if isinstance(problem, BrokenPipeError):  # who reads has seen enough
        _abandon_stdout()
        return BROKEN_PIPE
    if isinstance(problem, (UsageError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)):
        error(_system(problem) if isinstance(problem, OSError) and problem.errno else str(problem))
        return USAGE
    if isinstance(problem, MissingDependencyError):
        error(str(problem))
        return TROUBLE
    if isinstance(problem, WeighborsError):
        error(str(problem))
        return BAD_DATA
    if isinstance(problem, OSError):
        _abandon_stdout()
        error(_system(problem))
        return TROUBLE
    if isinstance(problem, MemoryError):
        error("there is not enough memory for this table")
        return TROUBLE
    if isinstance(problem, Exception):
        kind = type(problem).__name__
        error(f"this should not have happened ({kind}: {problem}). Set {DEBUG}=1 to see where, and please report it")
        return TROUBLE
    raise problem


def _system(problem: OSError) -> str:
    """An error of the operating system in words."""
    place = f"'{os.fsdecode(problem.filename)}': " if problem.filename else ""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{place}no space left to write; nothing was left half-written"
    return f"{place}{problem.strerror or problem}"


def _abandon_stdout() -> None:
    """Where stdout cannot be written, Python must not try again when it ends."""
    with suppress(Exception):
        sys.stdout.flush()
        return
    with suppress(Exception):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
