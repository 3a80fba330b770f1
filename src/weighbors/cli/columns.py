"""``weighbors columns``: how a file is read, one line per column."""

from __future__ import annotations

from ._options import FileOptions, OutputOptions
from ._say import note, notes, print_json, say_columns

NAME = "columns"


def run(table: FileOptions, common: OutputOptions) -> None:
    """Show how a file is read, column by column.

    A line has what the column was read as, its missing cells, examples and notes.
    """
    from ..datasets import read_table

    wanted = {name: getattr(table, name) for name in ("sheet", "sep", "decimal", "encoding", "header", "skip")}
    frame = read_table(table.data, **wanted)
    reading = frame.attrs["weighbors"]
    if common.json:
        print_json({"rows": len(frame), **reading})
        return
    notes(reading["notes"])
    lines = [["column", "read as", "missing", "examples", "notes"]]
    for column in reading["columns"]:
        if column["name"] not in (table.drop or ()):
            examples = ", ".join(one if len(one) < 16 else f"{one[:13]}..." for one in column["examples"])
            name, missing = column["name"], str(column["missing"])
            lines.append([name, column["read_as"], missing, examples, "; ".join(column["notes"])])
    say_columns([[line[0], line[1], line[2].rjust(7), *line[3:]] for line in lines], left=5)
    note(f"{len(frame)} rows and {frame.shape[1]} columns")
