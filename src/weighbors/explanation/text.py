"""Explanations as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from .._names import shorten_name
from .document import RowDocument, write_rows
from .rows import ExplainedRow
from .words import signed

MOST_VALUES = 4  # features whose values are listed beside the neighbours


def explanation_text(rows: Sequence[ExplainedRow], top: int) -> str:
    """Return the text of an explanation. ``top`` is how many features and neighbours are listed per row."""
    parts, note = write_rows(rows, top, _row_text)
    return "\n\n".join([*parts, note] if note else parts)


def _row_text(row: RowDocument) -> str:
    """Return the text for one row."""
    features = [["feature", "value", "contribution"]]
    features += [[shorten_name(line.name), line.value, signed(line.contribution)] for line in row.features]
    columns = [shorten_name(name, 20) for name in row.columns[:MOST_VALUES]]
    voters = [["row", "class" if row.is_class else "target", "vote", *columns]]
    voters.append(["this row", "", "", *row.own[:MOST_VALUES]])
    voters += [[line.name, line.label, signed(line.vote), *(line.cells or [])[:MOST_VALUES]] for line in row.voters]
    about = f" for {row.answer} (+) or against it (-)" if row.is_class else ""
    mean = f". All votes are added to {row.mean}" if row.mean else ""
    lines = [
        row.title,
        "",
        f"Why {row.answer}: {row.score}",
        *_table(features, left=1),
        *([f"  ({row.note})"] if row.note else []),
        "",
        f"Training rows that vote{about}{mean}:",
        *_table(voters, left=2),
        "",
        "What would change the answer:",
        *(f"  {line}" for line in row.changes),
    ]
    return "\n".join(lines)


def _table(table: list[list[str]], left: int) -> list[str]:
    """Return the indented lines of a table. The first ``left`` columns are aligned to the left, others to the right."""
    width = max(len(line) for line in table)
    table = [line + [""] * (width - len(line)) for line in table]
    sizes = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for line in table:
        cells = [
            cell.ljust(size) if j < left else cell.rjust(size)
            for j, (cell, size) in enumerate(zip(line, sizes, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
