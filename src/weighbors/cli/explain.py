"""``weighbors explain``: read a model and rows of a table, and print the reasons for the predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ._data import check_output, load_model, read_new_rows, split_known_target, write_bytes
from ._errors import UsageError
from ._options import FileOptions, Model, WritingOptions
from ._say import note, notes, print_json, say

if TYPE_CHECKING:
    from ..explanation import Explanation

NAME = "explain"
_MOST_ROWS = 10  # rows that are explained without being named


def run(
    model: Model,
    table: FileOptions,
    common: WritingOptions,
    row: list[str] | None = typer.Option(
        None,
        metavar="ID",
        help="Row to explain: its name, or its number, counted from 0. May be repeated.",
        show_default=f"all rows, if there are at most {_MOST_ROWS}",
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE", help="HTML page to write, in addition to the text on stdout."
    ),
    top: int = typer.Option(5, min=1, help="Number of features and voting rows that are shown."),
) -> None:
    """Explain the predictions of a model.

    For every row that --row names, the command prints the prediction and its probability, the contribution of each
    column, the training rows that vote (with their values), and the smallest change of the row that would change the
    prediction. All values are in the units of the table.
    """
    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"'{output}' should end in .html: the page is HTML")
    check_output(output, force=common.force, inputs=(model, table.data))
    loaded = load_model(model)
    frame = read_new_rows(table, loaded)
    names = loaded.name_rows(frame).tolist()
    chosen = _find_rows(row, names)
    # The table may have the target, which is no feature.
    _, rows = split_known_target(loaded, frame.iloc[chosen])
    notes(loaded.check_table(rows))
    known = loaded.count_training_rows(rows)
    if known:
        note(f"{known} of {len(rows)} rows are training rows, which vote on their own prediction")
    told = loaded.explain(rows.set_axis([names[i] for i in chosen], axis=0), top=top)
    if output is not None:
        write_bytes(told.to_html().encode("utf8"), output)
    if common.json:
        print_json({"model": str(model), **_describe_result(told, chosen), "output": output})
    else:
        say(str(told))


def _find_rows(wanted: list[str] | None, names: list[str]) -> list[int]:
    """Return the numbers of the rows that the command line names. ``names`` are the names of all rows."""
    from .._names import quote_name
    from ..exceptions import InvalidDataError

    if not names:
        raise InvalidDataError("the table has column names and no rows")
    example = "for example " + " or ".join(quote_name(name) for name in names[:2])
    if not wanted:
        if len(names) > _MOST_ROWS:
            raise UsageError(f"the table has {len(names)} rows: name the rows to explain with --row, {example}")
        return list(range(len(names)))
    places: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        places.setdefault(name, []).append(number)
    found = []
    for one in wanted:
        rows = places.get(one, [])
        # Python refuses to read numbers of thousands of digits. No table has so many rows.
        if not rows and one.isdecimal() and len(one) < 20 and int(one) < len(names):
            rows = [int(one)]
        if not rows:
            raise UsageError(
                f"there is no row {quote_name(one)}: the table has {len(names)} rows. Give a name, {example}, or a "
                f"number from 0 to {len(names) - 1}"
            )
        if len(rows) > 1:
            some = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
            raise UsageError(
                f"{len(rows)} rows are called {quote_name(one)} (numbers {some}): give every row a different name"
            )
        found += rows
    return list(dict.fromkeys(found))  # a row that is named twice is explained once


def _describe_result(told: Explanation, chosen: list[int]) -> dict[str, Any]:
    """Describe an explanation for JSON output. ``chosen`` are the numbers of its rows in the table."""
    parts = {part: told.frame(part) for part in ("answers", "features", "votes", "changes")}
    lines = {part: frame.to_dict(orient="records") for part, frame in parts.items()}
    for number, line in zip(chosen, lines["answers"], strict=True):
        line["row"] = number
    return {"rows": len(chosen), **lines}
