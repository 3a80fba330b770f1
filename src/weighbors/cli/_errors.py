"""Convert errors of a command to a message and an exit code."""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import typer

from .._io.files import NO_SPACE
from ._say import error, note

TROUBLE, USAGE, BAD_DATA, FAILED_CELLS, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141
DEBUG = "WEIGHBORS_DEBUG"


class UsageError(Exception):
    """The command line asks for something that is not possible."""


def with_error_messages(command: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a command so that every error becomes one message on stderr and an exit code."""

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
            code = _print_problem(problem)
        raise typer.Exit(code or 0)

    return run


def _show_warnings() -> None:
    """Print warnings of this library as notes. Warnings of other libraries are shown only for debugging."""
    from ..exceptions import WeighborsWarning

    # Other libraries warn of things that a user of the command line cannot change.
    if DEBUG not in os.environ:
        warnings.simplefilter("ignore")
    warnings.simplefilter("always", WeighborsWarning)
    warnings.showwarning = lambda message, *_, **__: note(str(message))


def _print_problem(problem: BaseException) -> int:
    """Print what went wrong, and return the exit code."""
    from ..exceptions import MissingDependencyError, WeighborsError

    if DEBUG in os.environ:
        traceback.print_exception(problem, file=sys.stderr)
    if isinstance(problem, KeyboardInterrupt):
        error(str(problem) or "interrupted; nothing was written")
        return INTERRUPTED
    if isinstance(problem, BrokenPipeError):  # the reader of the pipe has closed it, as head does
        _abandon_stdout()
        return BROKEN_PIPE
    if isinstance(problem, (UsageError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)):
        error(_describe_system_error(problem) if isinstance(problem, OSError) and problem.errno else str(problem))
        return USAGE
    if isinstance(problem, MissingDependencyError):
        error(str(problem))
        return TROUBLE
    if isinstance(problem, WeighborsError):
        error(str(problem))
        return BAD_DATA
    if isinstance(problem, OSError):
        _abandon_stdout()
        error(_describe_system_error(problem))
        return TROUBLE
    if isinstance(problem, MemoryError):
        error("there is not enough memory for this table")
        return TROUBLE
    if isinstance(problem, Exception):
        kind = type(problem).__name__
        error(f"this should not have happened ({kind}: {problem}). Set {DEBUG}=1 to see where, and please report it")
        return TROUBLE
    raise problem


def _describe_system_error(problem: OSError) -> str:
    """Return the message for an error of the operating system."""
    place = f"'{os.fsdecode(problem.filename)}': " if problem.filename else ""
    if problem.errno in NO_SPACE:
        return f"{place}no space left to write; no incomplete file was left"
    return f"{place}{problem.strerror or problem}"


def _abandon_stdout() -> None:
    """If stdout cannot be written, redirect it, so that Python does not fail again at its end."""
    with suppress(Exception):
        sys.stdout.flush()
        return
    # The buffer still holds text. Python would try to write it at its end and print another error.
    with suppress(Exception):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
