"""Explanations as plain text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._names import shorten_name
from .rows import ExplainedRow
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

MOST_ROWS = 5  # rows that are printed
MOST_VALUES = 4  # features whose values are listed beside the neighbours


def explanation_text(rows: Sequence[ExplainedRow], top: int) -> str:
    """Return the text of an explanation. ``top`` is how many features and neighbours are listed per row."""
    texts = ["\n".join(_row_lines(row, top)) for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        texts.append(f"{len(rows) - MOST_ROWS} more rows: see frame('answers') and frame('features').")
    return "\n\n".join(texts)


def _row_lines(row: ExplainedRow, top: int) -> list[str]:
    """Return the lines for one row."""
    answer = row.subject.model.outputs[row.output]
    lines = [f"Row {row.subject.query_name(row.number)}: {answer_line(row)}", "", f"Why {answer}: {score_line(row)}"]
    lines += _indent(_feature_table(row, top))
    note = split_note(row)
    lines += [f"  ({note})"] if note else []
    lines += ["", *_voter_lines(row, top), "", "What would change the answer:"]
    return [*lines, *(f"  {line}" for line in change_lines(row))]


def _feature_table(row: ExplainedRow, top: int) -> list[str]:
    """Return the features with the largest contributions, and the sum of the others."""
    contributions = row.contributions.by_feature[:, row.output]
    order = row.order()
    values = row.subject.original.queries.iloc[row.number]
    table = [["feature", "value", "contribution"]]
    for j in order[:top]:
        table.append([shorten_name(row.subject.features[j]), format_value(values.iloc[j]), signed(contributions[j])])
    rest = order[top:]
    if len(rest):
        table.append([other_features(len(rest)), "", signed(float(contributions[rest].sum()))])
    return _align(table, left=1)


def _voter_lines(row: ExplainedRow, top: int) -> list[str]:
    """Return the neighbours with their votes, and their values beside those of the row."""
    subject, voters = row.subject, row.voters
    shown, order = shown_voters(row, top), row.order(min(top, MOST_VALUES))
    features = [subject.features[j] for j in order]
    classes = subject.model.classes is not None
    table = [["row", "class" if classes else "target", "vote", *(shorten_name(name, 20) for name in features)]]
    values = subject.original.queries.iloc[row.number]
    table.append(["this row", "", "", *(format_value(values.iloc[j]) for j in order)])
    for i in shown:
        name, cells = subject.row_name(voters.rows[i]), subject.cells(voters.rows[i], features)
        table.append([name, label_of(row, i), signed(vote_of(row, i)), *cells])
    n_rest = len(voters.rows) - len(shown)
    if n_rest:
        rest = np.setdiff1d(np.arange(len(voters.rows)), shown)
        table.append([other_rows(n_rest), "", signed(sum(vote_of(row, i) for i in rest))])
    about = f" for {subject.model.outputs[row.output]} (+) or against it (-)" if classes else ""
    mean = f". All votes are added to {plain(float(voters.mean[row.output]))}" if voters.signed else ""
    return [f"Training rows that vote{about}{mean}:", *_indent(_align(table, left=2))]


def _align(table: list[list[str]], left: int) -> list[str]:
    """Return the lines of a table. The first ``left`` columns are aligned to the left, the others to the right."""
    width = max(len(line) for line in table)
    table = [line + [""] * (width - len(line)) for line in table]
    sizes = [max(len(line[j]) for line in table) for j in range(width)]
    return [
        "  ".join(
            cell.ljust(size) if j < left else cell.rjust(size)
            for j, (cell, size) in enumerate(zip(line, sizes, strict=True))
        ).rstrip()
        for line in table
    ]


def _indent(lines: list[str]) -> list[str]:
    """Return lines indented by two blanks."""
    return [f"  {line}" for line in lines]
