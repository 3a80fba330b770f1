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
from ._say import error, note, set_quiet

TROUBLE, USAGE, BAD_DATA, FAILED_CELLS, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141
DEBUG = "WEIGHBORS_DEBUG"


class UsageError(Exception):
    """The command line asks for something that is not possible."""


def with_error_messages(command: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a command so that every error becomes one message on stderr and an exit code.

    Whether notes are suppressed is settled here, too, because all commands have the option.
    """

    @functools.wraps(command)
    def run(**options: Any) -> None:
        set_quiet(options["quiet"])
        try:
            with warnings.catch_warnings():
                _show_warnings()
                code = command(**options)
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
    code, text = TROUBLE, str(problem)
    if isinstance(problem, (UsageError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)):
        code = USAGE
    elif isinstance(problem, WeighborsError) and not isinstance(problem, MissingDependencyError):
        code = BAD_DATA
    elif isinstance(problem, OSError):
        _abandon_stdout()
    elif isinstance(problem, MemoryError):
        text = "there is not enough memory for this table"
    elif not isinstance(problem, Exception):
        raise problem
    elif not isinstance(problem, WeighborsError):
        kind = type(problem).__name__
        text = f"this should not have happened ({kind}: {problem}). Set {DEBUG}=1 to see where, and please report it"
    error(_describe_system_error(problem) if isinstance(problem, OSError) and problem.errno else text)
    return code


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
