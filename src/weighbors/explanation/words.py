"""Words and numbers of explanations, which text, HTML and pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import IndexArray

if TYPE_CHECKING:
    from .changes import Change
    from .rows import ExplainedRow


def format_value(value: Any) -> str:
    """Return a cell as text: numbers with four digits, missing values by name.

    Examples
    --------
    >>> format_value(12.34567), format_value(480.0), format_value(None), format_value("red")
    ('12.35', '480', 'missing', 'red')
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(value, (bool, np.bool_)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return str(value)
    if not isinstance(value, (float, np.floating)):
        return str(value)
    number = float(value)
    if np.isnan(number):
        return "missing"
    # Whole numbers are printed in full: 12345, not 1.234e+04.
    return str(int(number)) if number.is_integer() and abs(number) < 1e7 else f"{number:.4g}"


def signed(number: float) -> str:
    """Return a number with its sign and three digits."""
    return f"{number:+.3g}" if number else "0"


def plain(number: float) -> str:
    """Return a number with three digits."""
    return f"{number:.3g}"


def other_rows(n: int) -> str:
    """Return how many voters are not shown."""
    return f"{n} other" + ("s" if n > 1 else "")


def other_features(n: int) -> str:
    """Return how many features are not shown."""
    return f"{n} other feature" + ("s" if n > 1 else "")


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


def score_line(row: ExplainedRow) -> str:
    """Return how the score is made of the mean and the contributions."""
    found = row.contributions
    base, total = float(found.base[row.output]), float(found.by_feature[:, row.output].sum())
    what = "score" if row.subject.model.classes is not None else "prediction"
    sign = "+" if total >= 0 else "-"
    return (
        f"{what} {plain(base + total)} = {plain(base)} (mean of {found.n_background} training rows) "
        f"{sign} {plain(abs(total))} (all features)"
    )


def split_note(row: ExplainedRow) -> str:
    """Return how exact the contributions are, or an empty text if they are exact."""
    error = row.contributions.standard_error
    if error is None:
        return ""
    largest = plain(float(error[:, row.output].max()))
    return f"the split is estimated from drawn orders; standard errors are up to {largest}"


def shown_voters(row: ExplainedRow, most: int) -> IndexArray:
    """Return the voters to show: those with the largest votes for or against the answer, or the nearest of a k-NN."""
    if not row.voters.signed:
        return np.arange(len(row.voters.rows))[:most]
    return np.argsort(-np.abs(row.voters.votes[:, row.output]), kind="stable")[:most]


def vote_of(row: ExplainedRow, i: int) -> float:
    """Return the vote of a voter for the answer. A neighbour of a k-NN with another class votes against it."""
    vote = float(row.voters.votes[i, row.output])
    if row.voters.signed or row.subject.model.classes is None:
        return vote
    return vote if vote > 0 else -float(row.voters.votes[i].sum())


def label_of(row: ExplainedRow, i: int) -> str:
    """Return the class or target of a voter."""
    return ", ".join(format_value(label) for label in np.atleast_1d(row.voters.labels[i]).tolist())


def change_lines(row: ExplainedRow) -> list[str]:
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


def change_size(change: Change) -> str:
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
    return f"{' and '.join(steps)} makes it {answer} ({change_size(change)})"
