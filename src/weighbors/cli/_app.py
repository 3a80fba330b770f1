"""The command line as one application. Heavy packages are imported only when a command runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from . import columns, datasets, demo, explain, fit, predict, reduce, report, select, study
from ._errors import with_error_messages
from ._options import unfold_options

app = typer.Typer(
    name="weighbors",
    help="Weighted nearest neighbours: rank features, predict new rows and explain predictions.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (demo, columns, report, select, fit, predict, explain, reduce, study, datasets):
    app.command(_command.NAME)(with_error_messages(unfold_options(_command.run)))


def _version(wanted: bool) -> None:
    """If ``wanted`` is true, print the version and end the program."""
    if wanted:
        from importlib.metadata import version

        typer.echo(f"weighbors {version('weighbors')}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Weighted nearest neighbours: rank features, predict new rows and explain predictions."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. At the end, SystemExit is raised with the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # column names may contain characters that the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        app(None if arguments is None else list(arguments), prog_name="weighbors")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
