"""What the fit of learned votes is asked for, what it returns, and what all its ways share."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._display.html import lines_block
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..weights import Weights
from .choice import RIDGES, WIDTHS
from .gradient import FeatureChoice
from .local import LocalVotes
from .votes import StoredVotes

#: Rows on which the votes of the nearest rows are chosen and calibrated.
CHOICE_ROWS = 2000


@dataclass(frozen=True)
class VotesSettings:
    """What the user asked for. The fields are parameters of `LearnedVotesClassifier`."""

    n_neighbors: int | str | None = "auto"
    p: int = 1
    width: float | str = "auto"
    ridge: float | str = "auto"
    n_jobs: int = 1


@dataclass(frozen=True)
class VotesPlan:
    """Which rows vote for a query, and why. It prints as one line per fact."""

    voters: str  # "all rows" or "nearest rows"
    reason: str
    n_rows: int
    n_voting: int
    n_features: int
    p: int
    megabytes: float  # of the largest matrices of the fit
    feature_weights: str
    search: str = ""

    def _repr_html_(self) -> str:
        return lines_block(str(self))

    def __str__(self) -> str:
        metric = {1: "city-block", 2: "Euclidean"}[self.p]
        lines = [
            f"{self.voters} vote: {self.reason}",
            f"  rows      {self.n_rows} of {self.n_features} features, of which {self.n_voting} vote for a query",
            f"  distance  {metric}, {self.feature_weights}",
            f"  memory    {self.megabytes:.3g} MB for the matrices of the fit",
        ]
        return "\n".join(lines + ([f"  search    {self.search}"] if self.search else []))


@dataclass(frozen=True)
class FittedVotes:
    """The result of `fit_votes`."""

    votes: StoredVotes | LocalVotes
    weights: Weights
    alpha: FloatArray | None  # (n, n_outputs) per training row; None if the nearest rows vote
    intercept: FloatArray
    width: float
    ridge: float
    loo_rows: IndexArray  # training rows that were left out, one at a time
    loo_scores: FloatArray  # (len(loo_rows), n_outputs)
    tried: list[dict[str, Any]]
    plan: VotesPlan
    feature_choice: FeatureChoice | None = None
    stored_rows: IndexArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def grid_of(settings: VotesSettings, median: float) -> tuple[list[float], list[float]]:
    """Return the widths and ridges to choose from."""
    widths = [ratio * median for ratio in WIDTHS] if settings.width == "auto" else [float(settings.width)]
    return widths, list(RIDGES) if settings.ridge == "auto" else [float(settings.ridge)]


def feature_part(weights: Weights) -> Weights:
    """Return the weights without what belongs to instances."""
    return Weights(feature_weights=weights.feature_weights, feature_mask=weights.feature_mask)


def list_tried(tried: dict[tuple[float, float], float]) -> list[dict[str, Any]]:
    """Return the grid points that were computed, one dict each."""
    return [{"width": width, "ridge": ridge, "loss": loss} for (width, ridge), loss in tried.items()]


def draw_voting_rows(n: int, most: int, rng: np.random.Generator) -> IndexArray:
    """Return all row numbers, or ``most`` drawn ones, ascending."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def check_memory(n: int) -> None:
    """Raise InvalidDataError if three matrices of n × n numbers do not fit into memory."""
    needed, available = 3 * 8 * n * n, available_bytes()
    if available is not None and needed > available:
        raise InvalidDataError(
            f"votes of all {n} rows need {needed / 2**30:.3g} GiB for matrices of {n} x {n} numbers; "
            f"{available / 2**30:.3g} GiB are available. Let the nearest rows vote (n_neighbors=100)"
        )


def available_bytes() -> int | None:
    """Return how much memory is available, or None if the operating system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return None
