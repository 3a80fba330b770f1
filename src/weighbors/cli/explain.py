"""``weighbors explain``: read a model and rows of a table, and print the reasons for the predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._data import check_output, read_data
from ._errors import UsageError
from ._models import load_model, split_target
from ._options import Force, Header, Json, Quiet
from ._say import note, notes, print_json, say, set_quiet

if TYPE_CHECKING:
    from ..explanation import Explanation

NAME = "explain"
_MOST_ROWS = 10  # rows that are explained without being named


def run(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file that weighbors fit or TableClassifier.save wrote.")
    ],
    data: Annotated[Path, typer.Argument(metavar="TABLE", help="Table with the rows, in any format that fit reads.")],
    row: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Row to explain: its name, or its number, counted from 0. May be repeated.",
            show_default=f"all rows, if there are at most {_MOST_ROWS}",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="HTML page to write, in addition to the text on stdout."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of features and voting rows that are shown.")] = 5,
    header: Header = True,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Explain the predictions of a model.

    For every row that --row names, the command prints the prediction and its probability, the contribution of each
    column, the training rows that vote (with their values), and the smallest change of the row that would change the
    prediction. All values are in the units of the table.
    """
    set_quiet(quiet)
    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"'{output}' should end in .html: the page is HTML")
    check_output(output, force=force, inputs=(model, data))
    loaded = load_model(model)
    table = read_data(data, header).frame
    names = loaded.name_rows(table).tolist()
    chosen = _find_rows(row, names)
    # The table may have the target, which is no feature.
    _, rows = split_target(table.iloc[chosen], loaded._target_name)
    notes(loaded.check_table(rows))
    known = loaded.count_training_rows(rows)
    if known:
        note(f"{known} of {len(rows)} rows are training rows, which vote on their own prediction")
    told = loaded.explain(rows.set_axis([names[i] for i in chosen], axis=0), top=top)
    if output is not None:
        _write_page(told, output)
    if json:
        print_json({"model": str(model), **_describe_result(told, chosen), "output": output})
    else:
        say(str(told))


def _find_rows(wanted: list[str] | None, names: list[str]) -> list[int]:
    """Return the numbers of the rows that the command line names. ``names`` are the names of all rows."""
    from ..exceptions import InvalidDataError

    if not names:
        raise InvalidDataError("the table has column names and no rows")
    if not wanted:
        if len(names) > _MOST_ROWS:
            raise UsageError(f"the table has {len(names)} rows: name the rows to explain with --row, {_some(names)}")
        return list(range(len(names)))
    places: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        places.setdefault(name, []).append(number)
    found = [_find_row(one, places, names) for one in wanted]
    return list(dict.fromkeys(found))  # a row that is named twice is explained once


def _find_row(wanted: str, places: dict[str, list[int]], names: list[str]) -> int:
    """Return the number of the row with this name, or else the row with this number. ``places`` has rows by name."""
    from .._names import quote_name

    rows = places.get(wanted, [])
    if len(rows) > 1:
        some = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise UsageError(
            f"{len(rows)} rows are called {quote_name(wanted)} (numbers {some}): give every row a different name"
        )
    if rows:
        return rows[0]
    # Python refuses to read numbers of thousands of digits. No table has so many rows.
    if wanted.isdecimal() and len(wanted) < 20 and int(wanted) < len(names):
        return int(wanted)
    raise UsageError(
        f"there is no row {quote_name(wanted)}: the table has {len(names)} rows. Give a name, {_some(names)}, or a "
        f"number from 0 to {len(names) - 1}"
    )


def _some(names: list[str]) -> str:
    """Return the first names as an example."""
    from .._names import quote_name

    return "for example " + " or ".join(quote_name(name) for name in names[:2])


def _write_page(told: Explanation, path: Path) -> None:
    """Write the explanation as an HTML page, in an atomic write."""
    from .._io.files import atomic_write

    page = told.to_html().encode("utf8")  # made first: an error then leaves no file behind
    with atomic_write(path) as file:
        file.write(page)


def _describe_result(told: Explanation, chosen: list[int]) -> dict[str, Any]:
    """Describe an explanation for JSON output. ``chosen`` are the numbers of its rows in the table."""
    parts = {part: told.frame(part) for part in ("answers", "features", "votes", "changes")}
    lines = {part: frame.to_dict(orient="records") for part, frame in parts.items()}
    for number, line in zip(chosen, lines["answers"], strict=True):
        line["row"] = number
    return {"rows": len(chosen), **lines}
