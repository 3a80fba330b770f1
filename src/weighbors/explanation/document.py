"""What an explanation says about one row, as a document of plain values: `text` and `html` only lay it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import IndexArray
from .changes import Change
from .rows import ExplainedRow
from .words import format_value, others, plain

MOST_ROWS = 5  # rows that are shown


@dataclass(frozen=True)
class FeatureLine:
    """What a feature adds to the score, or what the features that are not shown add together."""

    name: str
    value: str
    contribution: float


@dataclass(frozen=True)
class VoterLine:
    """The vote of a training row, or of those that are not shown."""

    name: str
    label: str
    vote: float
    cells: list[str] | None  # its values of the features in `RowDocument.columns`; None for rows that are not shown


@dataclass(frozen=True)
class RowDocument:
    """The explanation of one row."""

    title: str
    answer: str  # name of the predicted class, or of the output
    is_class: bool
    score: str  # how the score is made of the mean and the contributions
    features: list[FeatureLine]
    note: str  # how exact the contributions are; empty if they are exact
    evidence: list[tuple[str, float | None, float, float, float, float]]  # see `evidence_of`
    columns: list[str]  # features whose values are listed beside the voters
    own: list[str]  # values of the row itself
    voters: list[VoterLine]
    mean: str  # to which all votes are added; empty if they are shares
    changes: list[str]


def write_document(row: ExplainedRow, top: int) -> RowDocument:
    """Return the document for one row. ``top`` is how many features and neighbours are listed."""
    subject, voters = row.subject, row.voters
    values, order = subject.original.queries.iloc[row.number], row.order()
    numbers = row.contributions.by_feature[:, row.output]
    features = [FeatureLine(subject.features[j], format_value(values.iloc[j]), float(numbers[j])) for j in order[:top]]
    if len(order) > top:
        features.append(FeatureLine(others(len(order) - top, "feature"), "", float(numbers[order[top:]].sum())))
    shown, columns = _shown_voters(row, top), [subject.features[j] for j in order[:top]]
    lines = []
    for i, number in zip(shown, voters.rows[shown], strict=True):
        cells = subject.cells(number, columns)
        lines.append(VoterLine(subject.row_name(number), _label_of(row, i), _vote_of(row, i), cells))
    rest = np.setdiff1d(np.arange(len(voters.rows)), shown)
    if len(rest):
        lines.append(VoterLine(others(len(rest)), "", float(sum(_vote_of(row, i) for i in rest)), None))
    return RowDocument(
        title=f"Row {subject.query_name(row.number)}: {answer_line(row)}",
        answer=subject.model.outputs[row.output],
        is_class=subject.model.classes is not None,
        score=_score_line(row),
        features=features,
        note=_split_note(row),
        evidence=evidence_of(row),
        columns=columns,
        own=[format_value(values.iloc[j]) for j in order[:top]],
        voters=lines,
        mean=plain(float(voters.mean[row.output])) if voters.signed else "",
        changes=_change_lines(row),
    )


def write_rows(rows: Sequence[ExplainedRow], top: int, lay_out: Callable[[RowDocument], str]) -> tuple[list[str], str]:
    """Return the first rows of an explanation, each laid out, and a note on the others, which is empty if all fit."""
    parts = [lay_out(write_document(row, top)) for row in rows[:MOST_ROWS]]
    left = len(rows) - MOST_ROWS
    return parts, f"{left} more rows: see frame('answers') and frame('features')." if left > 0 else ""


def answer_line(row: ExplainedRow) -> str:
    """Return the answer and its probability."""
    model = row.subject.model
    if model.classes is None:
        return ", ".join(format_value(float(number)) for number in np.atleast_1d(row.answer))
    assert row.probabilities is not None
    order = np.argsort(-row.probabilities, kind="stable")
    others = [f"{model.outputs[c]} {row.probabilities[c]:.2f}" for c in order if c != row.output]
    rest = f", and {len(others) - 4} more" if len(others) > 4 else ""
    return (
        f"{model.outputs[row.output]}, probability {row.probabilities[row.output]:.2f} ({', '.join(others[:4])}{rest})"
    )


def _score_line(row: ExplainedRow) -> str:
    """Return how the score is made of the mean and the contributions."""
    found = row.contributions
    base, total = float(found.base[row.output]), float(found.by_feature[:, row.output].sum())
    what = "score" if row.subject.model.classes is not None else "prediction"
    sign = "+" if total >= 0 else "-"
    return (
        f"{what} {plain(base + total)} = {plain(base)} (mean of {found.n_background} training rows) "
        f"{sign} {plain(abs(total))} (all features)"
    )


def _split_note(row: ExplainedRow) -> str:
    """Return how exact the contributions are, or an empty text if they are exact."""
    error = row.contributions.standard_error
    if error is None:
        return ""
    largest = plain(float(error[:, row.output].max()))
    return f"the split is estimated from drawn orders; standard errors are up to {largest}"


def _shown_voters(row: ExplainedRow, most: int) -> IndexArray:
    """Return the voters to show: those with the largest votes for or against the answer, or the nearest of a k-NN."""
    if not row.voters.signed:
        return np.arange(len(row.voters.rows))[:most]
    return np.argsort(-np.abs(row.voters.votes[:, row.output]), kind="stable")[:most]


def _vote_of(row: ExplainedRow, i: int) -> float:
    """Return the vote of a voter for the answer. A neighbour of a k-NN with another class votes against it."""
    vote = float(row.voters.votes[i, row.output])
    if row.voters.signed or row.subject.model.classes is None:
        return vote
    return vote if vote > 0 else -float(row.voters.votes[i].sum())


def _label_of(row: ExplainedRow, i: int) -> str:
    """Return the class or target of a voter."""
    return ", ".join(format_value(label) for label in np.atleast_1d(row.voters.labels[i]).tolist())


def evidence_of(row: ExplainedRow) -> list[tuple[str, float | None, float, float, float, float]]:
    """Return name, probability, score, mean, votes for and votes against, of every class or output.

    A row of a plain k-NN votes only for its own class: then the votes for the other classes are those against.
    """
    votes, model = row.voters.votes, row.subject.model
    pro = np.maximum(votes, 0).sum(axis=0)
    con = np.minimum(votes, 0).sum(axis=0)
    if not row.voters.signed and model.classes is not None:
        con = -(pro.sum() - pro)
    probabilities = [None] * len(pro) if row.probabilities is None else row.probabilities.tolist()
    numbers = (row.scores.tolist(), row.voters.mean.tolist(), pro.tolist(), con.tolist())
    return list(zip(model.outputs, probabilities, *numbers, strict=True))


def _change_lines(row: ExplainedRow) -> list[str]:
    """Return what would change the answer, or that nothing was found."""
    if row.changes:
        return [_change_line(row, change) for change in row.changes]
    if np.ndim(row.answer):
        return ["Changes are searched for one output only."]
    what = (
        "changes the answer"
        if row.subject.model.classes is not None
        else "moves the prediction by a standard deviation"
    )
    return [f"None was found: no change of one or two features that was tried, within the range of the data, {what}."]


def _change_size(change: Change) -> str:
    """Return the size of a change in words."""
    n, deviations = change.n_categories, change.size - change.n_categories
    categories = f"{n} categor{'y' if n == 1 else 'ies'} changed" if n else ""
    numbers = f"{plain(deviations)} standard deviations" if deviations > 0 else ""
    return " and ".join(part for part in (numbers, categories) if part)


def _change_line(row: ExplainedRow, change: Change) -> str:
    """Return one change as a line."""
    steps = [
        f"{name} {format_value(before)} → {format_value(after)}"
        for name, before, after in zip(change.features, change.before, change.after, strict=True)
    ]
    answer = format_value(change.answer if row.subject.model.classes is not None else float(change.answer))
    return f"{' and '.join(steps)} makes it {answer} ({_change_size(change)})"
