"""Explanations as HTML for notebooks and pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from .._display.html import bar, block, heading, paragraph, table
from .rows import ExplainedRow
from .value import evidence_of
from .words import (
    answer_line,
    change_lines,
    format_value,
    label_of,
    other_features,
    other_rows,
    plain,
    score_line,
    shown_voters,
    signed,
    split_note,
    vote_of,
)

MOST_ROWS = 5  # rows that are shown


def explanation_html(rows: Sequence[ExplainedRow], top: int) -> str:
    """Return the HTML of an explanation. ``top`` is how many features and neighbours are listed per row."""
    parts = [_row_html(row, top) for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        more = f"{len(rows) - MOST_ROWS} more rows: see frame('answers') and frame('features')."
        parts.append(paragraph(more, soft=True))
    return block(*parts)


def _row_html(row: ExplainedRow, top: int) -> str:
    """Return the HTML for one row."""
    answer = row.subject.model.outputs[row.output]
    note = split_note(row)
    return "".join(
        [
            heading(f"Row {row.subject.query_name(row.number)}: {answer_line(row)}"),
            heading(f"Why {answer}"),
            paragraph(score_line(row), soft=True),
            _feature_table(row, top),
            paragraph(note, soft=True) if note else "",
            heading("Votes for and against"),
            _evidence_table(row) if row.subject.model.classes is not None else "",
            _voter_table(row, top),
            heading("What would change the answer"),
            *(paragraph(line) for line in change_lines(row)),
        ]
    )


def _feature_table(row: ExplainedRow, top: int) -> str:
    """Return the features with the largest contributions, as bars, and the sum of the others."""
    numbers, order = row.contributions.by_feature[:, row.output], row.order()
    values = row.subject.original.queries.iloc[row.number]
    lines = [(row.subject.features[j], format_value(values.iloc[j]), float(numbers[j])) for j in order[:top]]
    if len(order) > top:
        lines.append((other_features(len(order) - top), "", float(numbers[order[top:]].sum())))
    largest = max((abs(number) for *_, number in lines), default=0.0)
    cells = ([escape(a), signed(number), bar(number, largest), escape(b)] for a, b, number in lines)
    return table(["feature", "contribution", "", "value"], cells, raw=True)


def _evidence_table(row: ExplainedRow) -> str:
    """Return the votes for and against every class, the most probable class first, at most eight."""
    lines = sorted(evidence_of(row), key=lambda line: -line[2])[:8]
    cells = [
        [name, "" if probability is None else f"{probability:.2f}", plain(score), signed(pro), signed(con)]
        for name, probability, score, _, pro, con in lines
    ]
    return table(["class", "probability", "score", "for", "against"], cells)


def _voter_table(row: ExplainedRow, top: int) -> str:
    """Return the neighbours with their votes, and their values beside those of the row."""
    subject, voters = row.subject, row.voters
    shown, order = shown_voters(row, top), row.order(top)
    features = [subject.features[j] for j in order]
    classes = subject.model.classes is not None
    values = subject.original.queries.iloc[row.number]
    votes = [vote_of(row, i) for i in shown]
    largest = max((abs(vote) for vote in votes), default=0.0)
    lines = [["this row", "", "", "", *(escape(format_value(values.iloc[j])) for j in order)]]
    for i, vote in zip(shown, votes, strict=True):
        name, cells = subject.row_name(voters.rows[i]), subject.cells(voters.rows[i], features)
        lines.append([escape(name), escape(label_of(row, i)), signed(vote), bar(vote, largest), *map(escape, cells)])
    rest = np.setdiff1d(np.arange(len(voters.rows)), shown)
    if len(rest):
        total = sum(vote_of(row, i) for i in rest)
        lines.append([other_rows(len(rest)), "", signed(total), "", *("" for _ in order)])
    about = f"for {subject.model.outputs[row.output]}" if classes else ""
    head = ["row", "class" if classes else "target", f"vote {about}".strip(), "", *features]
    return table(head, lines, text=2, own=0, raw=True)
