"""The result of `selection_curve`: scores and stability for every number of features, and the sizes to choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._display.results import Result
from .._typing import BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError

#: The rules that choose a number of features, and how results print them.
RULES = {"best": "best score", "smallest": "smallest within one standard error", "stable": "most stable of these"}

#: A printed line mentions ties if chance decided in more than this share of the runs.
_MANY_TIES = 0.05


@dataclass(frozen=True, eq=False)
class SelectionRun:
    """What one run found.

    Attributes
    ----------
    order : ndarray of int
        Features from the best to the worst. Features without a score, or that another one stands in for, are left out.
    tied : bool ndarray of shape (n_sizes,)
        Whether the last feature that is selected and the next one have equal scores, so that chance decides.
    scores : ndarray of shape (n_sizes,)
        Scores on the rows left out, one per number of features. NaN if the run could not be scored.
    part : int
        Number of the repetition, or of the shuffle.
    shuffled : bool
        Whether the labels were shuffled.
    """

    order: IndexArray
    tied: BoolArray
    scores: FloatArray
    part: int = 0
    shuffled: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class SelectionCurve(Result):
    """Scores on rows left out and stability of the best k features, for every k and for one or several weighers.

    Attributes
    ----------
    table : DataFrame
        One row per weigher and size, see `frame`.
    sizes : ndarray of int
        The numbers k of features.
    runs : dict of name to list of SelectionRun
        What each fold found: the order of the features, and a score per size.
    repetition : ndarray of shape (n_runs,)
        Number of the repetition that each run belongs to.
    rankings : dict of name to ndarray of int
        Features from the best to the worst, by all rows.
    groups : ndarray of shape (n_features,) or None
        Features of the same group stand in for each other.
    feature_names : tuple of str
    score_name : str
        What the scores are.
    description : str
        Rows, folds and shuffles, in words.
    level : float
        Level of the intervals.
    ratio : float
        Number of test rows over the number of training rows, on average over the folds.
    """

    table: pd.DataFrame
    sizes: IndexArray
    runs: dict[str, list[SelectionRun]]
    repetition: IndexArray
    rankings: dict[str, IndexArray]
    groups: IndexArray | None
    feature_names: tuple[str, ...]
    score_name: str
    description: str
    level: float
    ratio: float

    @property
    def weighers(self) -> tuple[str, ...]:
        """Names of the weighers."""
        return tuple(self.runs)

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row per weigher and number of features.

        The columns are: weigher, size; score, its standard_error, and the ends low and high of its interval;
        stability (Nogueira's Φ) and stability_error; stand_in_stability, for which stand-ins are the same feature, and
        stand_in_error; tied, the share of runs in which chance decided between equal scores; shuffled_score, the mean
        score with shuffled labels, shuffled_largest, the largest one of a shuffle, and shuffled_stability.
        """
        return self.table.copy()

    def choices(self) -> pd.DataFrame:
        """Return the numbers of features to choose: one row per weigher and rule.

        The rules are "best" (the largest mean score), "smallest" (the fewest features whose mean score is at most one
        standard error below the best) and "stable" (the most stable list of those within one standard error). The
        column score is the mean score at this size. It was used for the choice, so it is a little too good. For
        score_of_rule, the size of each fold is chosen by the other folds of its repetition.
        """
        rows = []
        for name in self.weighers:
            part = self.table[self.table["weigher"] == name].reset_index(drop=True)
            for rule in RULES:
                place = self._place(name, rule)
                kept = part.loc[place, ["size", "score", "low", "high", "stability", "stand_in_stability"]]
                rows.append({"weigher": name, "rule": rule, **kept, "score_of_rule": self._score_of_rule(name, rule)})
        return pd.DataFrame(rows).astype({"size": int})

    def choose(self, weigher: str | None = None, rule: str = "smallest") -> int:
        """Return the number of features that a rule of `choices` chooses.

        Parameters
        ----------
        weigher : str, optional
            By default the weigher with the largest score.
        rule : {"smallest", "best", "stable"}, default="smallest"
        """
        if rule not in RULES:
            raise InvalidDataError(f"rule must be one of {list(RULES)}; got {rule!r}")
        return int(self.sizes[self._place(self._name(weigher), rule)])

    def features(self, size: int | None = None, weigher: str | None = None) -> pd.DataFrame:
        """Return the list: the best features by all rows, and how often the folds select them.

        Parameters
        ----------
        size : int, optional
            Number of features, at most the largest size of the curve. By default what `choose` returns.
        weigher : str, optional
            By default the weigher with the largest score.

        Returns
        -------
        DataFrame
            One row per feature, the best first, with the share of the runs whose list has the feature, the
            share whose list has the feature or one that stands in for it, and the names of up to five stand-ins.
        """
        name = self._name(weigher)
        size = self.choose(name) if size is None else size
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 1 <= size <= self.sizes[-1]:
            raise InvalidDataError(f"size must be a whole number from 1 to {self.sizes[-1]}; got {size!r}")
        chosen = self.rankings[name][:size]
        selected = selection_matrix(self.runs[name], int(size), len(self.feature_names))
        groups = np.arange(len(self.feature_names)) if self.groups is None else self.groups
        names = np.asarray(self.feature_names, dtype=object)
        shares, stand_ins = [], []
        for feature in chosen.tolist():
            same = np.flatnonzero(groups == groups[feature])
            shares.append((selected[:, feature].mean(), selected[:, same].any(axis=1).mean()))
            stand_ins.append(", ".join(names[same[same != feature]][:5]))
        frame = pd.DataFrame(shares, columns=["share", "share_with_stand_ins"], index=pd.Index(names[chosen]))
        return frame.assign(stand_ins=stand_ins).rename_axis("feature")

    def scores(self, weigher: str | None = None) -> FloatArray:
        """Return the scores of a weigher in every run, of shape (n_runs, n_sizes)."""
        return np.array([run.scores for run in self.runs[self._name(weigher)]])

    def _name(self, weigher: str | None) -> str:
        """Return the name of a weigher, by default that of the weigher with the largest score."""
        if weigher is None:
            return str(self.table["weigher"].iloc[int(self.table["score"].to_numpy().argmax())])
        if weigher not in self.runs:
            raise InvalidDataError(f"there is no weigher {weigher!r}; there are {list(self.runs)}")
        return weigher

    def _place(self, name: str, rule: str) -> int:
        """Return the position of the size that a rule chooses."""
        part = self.table[self.table["weigher"] == name]
        score, error, stability = (part[column].to_numpy() for column in ("score", "standard_error", "stability"))
        return choose_size(rule, score, error, stability)

    def _score_of_rule(self, name: str, rule: str) -> float:
        """Return the mean score of the folds if the other folds of the repetition choose the size."""
        scores, found = self.scores(name), []
        stability = self.table.loc[self.table["weigher"] == name, "stability"].to_numpy()
        for run, part in enumerate(self.repetition):
            others = scores[(self.repetition == part) & (np.arange(len(scores)) != run)]
            if not len(others):
                return float("nan")
            found.append(scores[run, choose_size(rule, *mean_scores(others, self.ratio), stability)])
        return float(np.mean(found))

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves, and return a `weighbors.plots.SelectionCurveDisplay`."""
        from importlib import import_module

        # Pictures come after evaluations in the order of packages, so they are loaded only on demand.
        return import_module("weighbors.plots").SelectionCurveDisplay(self).plot(ax)

    def _lines(self) -> list[str]:
        lines = [f"Selection curve of {', '.join(self.weighers)}: {self.description}"]
        chosen = self.choices()
        for name in self.weighers:
            part = self.table[self.table["weigher"] == name].reset_index(drop=True)
            lines += ["", f"{name}", *_table_of(part, self.score_name, self.level)]
            for rule, words in RULES.items():
                one = chosen[(chosen["weigher"] == name) & (chosen["rule"] == rule)].iloc[0]
                lines.append(
                    f"  {words}: {one['size']} features, {self.score_name} {one['score']:.3f} "
                    f"({one['score_of_rule']:.3f} if other folds choose), stability {one['stability']:.2f}"
                )
        return lines


def _table_of(part: pd.DataFrame, score_name: str, level: float) -> list[str]:
    """Return the lines of text of the table of one weigher, of at most ten sizes."""
    shown = np.unique(np.round(np.linspace(0, len(part) - 1, 10)).astype(int))
    title = f"{score_name} ({100 * level:g} %)"
    lines = [f"  {'size':>6}  {title:<24}  stability  with stand-ins  shuffled labels"]
    for row in part.iloc[shown].to_dict("records"):
        score = f"{row['score']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
        phi, like = (_short(row[column]) for column in ("stability", "stand_in_stability"))
        shuffled = _short(row["shuffled_score"], 3)
        ties = "   ties" if row["tied"] > _MANY_TIES else ""
        lines.append(f"  {row['size']:>6}  {score:<24}  {phi:>9}  {like:>14}  {shuffled:>15}{ties}")
    return lines


def _short(value: float, digits: int = 2) -> str:
    """Format a number, or a dash if it is NaN."""
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def mean_scores(scores: FloatArray, ratio: float) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard error of the scores (runs × sizes). The error is NaN for a single run.

    ``ratio`` is the number of test rows over the number of training rows. Training sets overlap, so that the variance
    of the mean is larger than s² / J (Nadeau & Bengio 2003).
    """
    runs, mean = len(scores), scores.mean(axis=0)
    if runs < 2:
        return mean, np.full_like(mean, np.nan)
    return mean, np.sqrt((1 / runs + ratio) * scores.var(axis=0, ddof=1))


def choose_size(rule: str, score: FloatArray, error: FloatArray, stability: FloatArray) -> int:
    """Return the position of the size that a rule of `SelectionCurve.choices` chooses.

    ``score``, ``error`` (the standard error) and ``stability`` have one entry per size, in ascending order of sizes.
    """
    best = int(np.argmax(score))
    if rule == "best":
        return best
    near = np.flatnonzero(score >= score[best] - np.nan_to_num(error[best]) - 1e-12)
    if rule == "smallest":
        return int(near[0])
    # The stability of all features together is NaN. It is never the most stable list.
    known = np.where(np.isnan(stability[near]), -np.inf, stability[near])
    return int(near[np.argmax(known)])


def selection_matrix(runs: list[SelectionRun], size: int, n_features: int) -> Any:
    """Return which features each run selects, as a bool matrix of runs × features."""
    out = np.zeros((len(runs), n_features), dtype=bool)
    for row, run in zip(out, runs, strict=True):
        row[run.order[:size]] = True
    return out
