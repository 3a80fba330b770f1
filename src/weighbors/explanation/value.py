"""The explanation of one answer or a few: why this class, which training rows vote for it, and what would change it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._io.files import atomic_write
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError
from .changes import Change
from .document import answer_line, evidence_of
from .rows import ExplainedRow, Subject

if TYPE_CHECKING:
    import pandas as pd

    from .display import ExplanationDisplay

TOP = 5  # features and neighbours that are shown by default
_PARTS = ("votes", "answers", "features", "evidence", "changes")


class Explanation:
    """Why a model answers as it does, for one row or a few. ``explain`` of an estimator returns it.

    It prints as a text, shows as a table in a notebook, and draws itself with `plot`. Its parts are computed when they
    are first asked for. Where a table was expected, ``explanation["row"]``, ``explanation.columns`` and all else that a
    DataFrame has are those of the table of votes, ``frame()``.

    Attributes
    ----------
    answers : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        What the model predicts.
    scores : ndarray of shape (n_rows, n_outputs)
        Scores of the classes (shares of the votes for a k-NN), or predicted numbers.
    probabilities : ndarray of shape (n_rows, n_classes), or None
        What ``predict_proba`` returns. None for numbers.
    contributions : ndarray of shape (n_rows, n_features, n_outputs)
        What each feature adds to each score. With ``base`` they add up to ``scores``.
    base : ndarray of shape (n_rows, n_outputs)
        The mean score of training rows, from which the contributions start.
    standard_errors : ndarray of the shape of ``contributions``, or None
        Standard errors of the contributions if they come from drawn orders. None: they are exact.
    changes : list of lists of Change
        For each row the smallest change of one feature that changes the answer, and one of two features if that is
        smaller. The list is empty if none was found.
    features : list of str
        Names of the features.

    Notes
    -----
    The contributions are Shapley values: training rows take over the values of the explained row, one feature after the
    other, and the contribution of a feature is the change of the score at its turn, averaged over all orders and over
    up to 32 training rows. They are exact for learned votes of stored rows under the city-block distance, and for up to
    ten features. Else orders are drawn, and the sum alone is exact. A feature with a large contribution is one
    that the model uses; this does not mean that it causes the class. Features that say the same share what they add.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import WeightedKNeighborsClassifier
    >>> data = load_iris(as_frame=True)
    >>> X, y = data.data, data.target_names[data.target]
    >>> model = WeightedKNeighborsClassifier(5).fit(X, y)
    >>> explanation = model.explain(X[70:71], top=2)
    >>> explanation.answers.tolist(), explanation.features[2]
    (['virginica'], 'petal length (cm)')
    >>> float((explanation.base + explanation.contributions.sum(axis=1))[0, 2].round(3))
    0.6
    """

    def __init__(self, subject: Subject, make_table: Callable[[], pd.DataFrame], top: int | None) -> None:
        self._subject, self._make_table, self._top = subject, make_table, top
        self._rows = [ExplainedRow(subject, i) for i in range(subject.coded.shape[0])]

    # --- parts -------------------------------------------------------------------------------------------------------

    @property
    def top(self) -> int:
        """How many features and neighbours are shown."""
        return TOP if self._top is None else self._top

    def __len__(self) -> int:
        """Return the number of lines of the table of votes."""
        return len(self._table)

    @property
    def n_rows(self) -> int:
        """Number of rows that are explained."""
        return len(self._rows)

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return list(self._subject.features)

    @property
    def classes(self) -> AnyArray | None:
        """The classes, or None for numbers."""
        return self._subject.model.classes

    @property
    def answers(self) -> AnyArray:
        """What the model predicts."""
        return np.array([row.answer for row in self._rows])

    @property
    def scores(self) -> FloatArray:
        """Scores of the classes, or predicted numbers."""
        return np.array([row.scores for row in self._rows])

    @property
    def probabilities(self) -> FloatArray | None:
        """Probabilities of the classes, or None for numbers."""
        found = [row.probabilities for row in self._rows]
        return None if any(each is None for each in found) else np.array(found)

    @property
    def contributions(self) -> FloatArray:
        """What each feature adds to each score."""
        return np.array([row.contributions.by_feature for row in self._rows])

    @property
    def base(self) -> FloatArray:
        """The mean score of training rows."""
        return np.array([row.contributions.base for row in self._rows])

    @property
    def standard_errors(self) -> FloatArray | None:
        """Standard errors of the contributions, or None if they are exact."""
        found = [row.contributions.standard_error for row in self._rows]
        return None if any(each is None for each in found) else np.array(found)

    @property
    def changes(self) -> list[list[Change]]:
        """The smallest changes that change the answer, for each row."""
        return [list(row.changes) for row in self._rows]

    # --- tables ------------------------------------------------------------------------------------------------------

    @cached_property
    def _table(self) -> pd.DataFrame:
        """The table of votes."""
        table = self._make_table()
        if self._subject.original.row_names is not None and "row" in table:
            names = [self._subject.row_name(row) if row >= 0 else None for row in table["row"].tolist()]
            table.insert(list(table.columns).index("row") + 1, "name", names)
        return table

    def frame(self, part: str = "votes") -> pd.DataFrame:
        """Return a part of the explanation as a table.

        Parameters
        ----------
        part : {"votes", "answers", "features", "evidence", "changes"}, default="votes"
            "votes": one line per voting row, with each feature's share of its distance. "answers": one line per
            explained row. "features": one line per explained row and feature, with its value and its contribution to
            every score, the largest contribution to the answer first. "evidence": one line per explained row and class,
            with the votes for and against it. "changes": one line per changed feature.
        """
        import pandas as pd

        if part not in _PARTS:
            raise InvalidDataError(f"part must be one of {', '.join(_PARTS)}; got {part!r}")
        if part == "votes":
            return self._table.copy()
        make = {"answers": self._answer_lines, "features": self._feature_lines, "evidence": self._evidence_lines}
        lines = make.get(part, self._change_lines)
        return pd.DataFrame([line for row in self._rows for line in lines(row)], columns=self._columns(part))

    def _columns(self, part: str) -> list[str]:
        """Return the names of the columns of a table."""
        outputs, classes = self._subject.model.outputs, self.classes is not None
        return {
            "answers": ["query", "name", "answer", "base"]
            + [f"score of {name}" for name in outputs]
            + [f"probability of {name}" for name in outputs if classes],
            "features": ["query", "feature", "value"] + [f"contribution to {name}" for name in outputs],
            "evidence": ["query", "class", "probability", "score", "mean", "for", "against"],
            "changes": ["query", "change", "feature", "before", "after", "size", "answer"],
        }[part]

    def _answer_lines(self, row: ExplainedRow) -> list[list[Any]]:
        probabilities = [] if row.probabilities is None else row.probabilities.tolist()
        base = float(row.contributions.base[row.output])
        name = self._subject.query_name(row.number)
        return [[row.number, name, row.answer, base, *row.scores.tolist(), *probabilities]]

    def _feature_lines(self, row: ExplainedRow) -> list[list[Any]]:
        order = np.argsort(-np.abs(row.contributions.by_feature[:, row.output]), kind="stable")
        values = self._subject.original.queries.iloc[row.number]
        return [
            [row.number, self._subject.features[j], values.iloc[j], *row.contributions.by_feature[j].tolist()]
            for j in order
        ]

    def _evidence_lines(self, row: ExplainedRow) -> list[list[Any]]:
        return [
            [row.number, name, probability, score, mean, pro, con]
            for name, probability, score, mean, pro, con in evidence_of(row)
        ]

    def _change_lines(self, row: ExplainedRow) -> list[list[Any]]:
        return [
            [row.number, number, name, before, after, change.size, change.answer]
            for number, change in enumerate(row.changes)
            for name, before, after in zip(change.features, change.before, change.after, strict=True)
        ]

    # --- shown -------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        from .text import explanation_text

        return explanation_text(self._rows, self.top)

    def _repr_html_(self) -> str:
        from .html import explanation_html

        return explanation_html(self._rows, self.top)

    def to_html(self) -> str:
        """Return a complete HTML page, light or dark as the reader's system is."""
        from .._display.html import page
        from .html import explanation_html

        return page(explanation_html(self._rows, self.top), "Why this answer?")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation to a file, in an atomic write. The format follows from the ending: .html or .txt."""
        ending = Path(path).suffix.lower()
        if ending not in (".html", ".htm", ".txt"):
            raise InvalidDataError(
                f"an explanation is saved as .html or .txt; got '{path}'. frame(...).to_csv(...) saves its tables"
            )
        # The whole text is made before the file is opened, so that an error leaves no file behind.
        text = f"{self}\n" if ending == ".txt" else self.to_html()
        with atomic_write(path) as file:
            file.write(text.encode("utf8"))

    def plot(self, row: int = 0, ax: Any = None) -> ExplanationDisplay:
        """Draw the contributions of the features to the answer for one row.

        Parameters
        ----------
        row : int, default=0
            Number of the row among those explained.
        ax : matplotlib Axes, optional

        Returns
        -------
        ExplanationDisplay
        """
        from .display import ExplanationDisplay

        return ExplanationDisplay.from_result(self, row=row, ax=ax)

    def _picture_data(self, row: int) -> dict[str, Any]:
        """Return the arguments of `ExplanationDisplay` for one row."""
        if not -self.n_rows <= row < self.n_rows:
            raise InvalidDataError(f"row must be below {self.n_rows}, the number of explained rows; got {row!r}")
        told = self._rows[row]
        numbers, order = told.contributions.by_feature[:, told.output], told.order()
        values = self._subject.original.queries.iloc[told.number]
        shown, rest = order[: self.top], order[self.top :]
        return {
            "features": [self._subject.features[j] for j in shown],
            "values": [values.iloc[j] for j in shown],
            "contributions": numbers[shown],
            "rest": float(numbers[rest].sum()),
            "n_rest": len(rest),
            "title": f"Row {self._subject.query_name(told.number)}: {answer_line(told)}",
        }

    # --- as a table --------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """Return columns or lines of the table of votes."""
        return self._table[key]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the table of votes, which ``explain`` used to return."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._table, name)

    def equals(self, other: Any) -> bool:
        """Return whether the table of votes is the same as another one."""
        return bool(self._table.equals(other.frame() if isinstance(other, Explanation) else other))
