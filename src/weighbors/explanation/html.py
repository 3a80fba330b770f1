"""Explanations as HTML for notebooks and pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .._display.html import bar, block, heading, paragraph, table
from .document import RowDocument, write_rows
from .rows import ExplainedRow
from .words import plain, signed

_MOST_CLASSES = 8  # classes whose evidence is shown


def explanation_html(rows: Sequence[ExplainedRow], top: int) -> str:
    """Return the HTML of an explanation. ``top`` is how many features and neighbours are listed per row."""
    parts, note = write_rows(rows, top, _row_html)
    return block(*parts, *([paragraph(note, soft=True)] if note else []))


def _row_html(row: RowDocument) -> str:
    """Return the HTML for one row."""
    return "".join(
        [
            heading(row.title),
            heading(f"Why {row.answer}"),
            paragraph(row.score, soft=True),
            _feature_table(row),
            paragraph(row.note, soft=True) if row.note else "",
            heading("Votes for and against"),
            _evidence_table(row) if row.is_class else "",
            _voter_table(row),
            heading("What would change the answer"),
            *map(paragraph, row.changes),
        ]
    )


def _feature_table(row: RowDocument) -> str:
    """Return the features with the largest contributions, as bars, and the sum of the others."""
    largest = max((abs(line.contribution) for line in row.features), default=0.0)
    cells = (
        [escape(line.name), signed(line.contribution), bar(line.contribution, largest), escape(line.value)]
        for line in row.features
    )
    return table(["feature", "contribution", "", "value"], cells, raw=True)


def _evidence_table(row: RowDocument) -> str:
    """Return the votes for and against every class, the most probable class first."""
    cells = [
        [name, "" if probability is None else f"{probability:.2f}", plain(score), signed(pro), signed(con)]
        for name, probability, score, _, pro, con in sorted(row.evidence, key=lambda line: -line[2])[:_MOST_CLASSES]
    ]
    return table(["class", "probability", "score", "for", "against"], cells)


def _voter_table(row: RowDocument) -> str:
    """Return the neighbours with their votes, and their values beside those of the row."""
    largest = max((abs(line.vote) for line in row.voters if line.cells is not None), default=0.0)
    lines = [["this row", "", "", "", *map(escape, row.own)]]
    for line in row.voters:
        cells = [""] * (1 + len(row.columns))
        if line.cells is not None:  # the rows that are not shown have no bar and no values
            cells = [bar(line.vote, largest), *map(escape, line.cells)]
        lines.append([escape(line.name), escape(line.label), signed(line.vote), *cells])
    vote = f"vote for {row.answer}" if row.is_class else "vote"
    return table(["row", "class" if row.is_class else "target", vote, "", *row.columns], lines, text=2, own=0, raw=True)
