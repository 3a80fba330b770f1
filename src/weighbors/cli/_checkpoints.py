"""Checkpoints of commands that can be resumed."""

from __future__ import annotations

from pathlib import Path

from ._errors import UsageError


def prepare_checkpoint(
    named: Path | None, default: Path, what: str, *, resume: bool, force: bool, others: tuple[Path, ...]
) -> Path:
    """Return the path of the checkpoint of a command, at which a run can begin or continue.

    With ``force`` and without ``resume`` an old checkpoint is deleted.

    Parameters
    ----------
    named : Path or None
        The file that the user named, if any.
    default : Path
        The file that is used otherwise. It is beside the output.
    what : str
        What the checkpoint has, for messages: "search" or "run".
    resume, force : bool
        The options of the command.
    others : tuple of Path
        Files that the command reads and writes. None of them can be the checkpoint.

    Raises
    ------
    UsageError
        If the path is a directory or one of ``others``, or if there is an unfinished run and neither ``resume`` nor
        ``force``.
    """
    path = default if named is None else named
    if path.is_dir():
        raise UsageError(f"'{path}' is a directory; name a file for the {what}")
    if any(path.resolve() == one.resolve() for one in others):
        raise UsageError(f"'{path}' is the table or the output; name another file as --checkpoint")
    if not path.exists() or resume:
        return path
    if not force:
        raise UsageError(f"'{path}' has a {what} that is not finished: --resume continues it, --force starts again")
    from ..weighers.evolution.checkpoint import hold_checkpoint

    with hold_checkpoint(path):  # not that of a run that is active
        path.unlink()
    return path
