"""The commands put together. Nothing heavy is imported before one of them runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from . import datasets, demo, fit, predict, reduce, report, study
from ._errors import guarded

__all__ = ["app", "main"]

app = typer.Typer(
    name="weighbors",
    help="Nearest neighbours that know which features and which examples to trust.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (demo, report, fit, predict, reduce, study, datasets):
    app.command(_command.NAME)(guarded(_command.run))


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"weighbors {version('weighbors')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Nearest neighbours that know which features and which examples to trust."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends by raising SystemExit with the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names of columns may hold what the terminal's encoding cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        app(None if arguments is None else list(arguments), prog_name="weighbors")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
