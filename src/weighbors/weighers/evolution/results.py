"""From a finished search to what the estimator publishes; and the rows a search begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..._warnings import warn
from ...exceptions import InvalidDataError, LonelyClassWarning
from ...metrics import reduction_of
from ...weights import Weights
from .._base import metric_weights
from .fitness import Fitness
from .genome import Genome, Population
from .goals import Goals
from .pareto import ParetoSearch
from .search import EvolutionSearch

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Answer", "balanced_rows", "describe", "fittest", "front_frame", "warn_of_lonely"]


def balanced_rows(codes: IndexArray, undersample: bool | float, rng: np.random.Generator) -> IndexArray:
    """Rows left by random undersampling, ascending.

    Examples
    --------
    >>> codes = np.array([0] * 10 + [1] * 3)
    >>> len(balanced_rows(codes, True, np.random.default_rng(0)))
    6
    >>> len(balanced_rows(codes, 0.5, np.random.default_rng(0)))
    9
    """
    if undersample is False:
        return np.arange(len(codes))
    counts = np.bincount(codes)
    most = int(np.floor(counts.min() / float(undersample) + 1e-9))  # 7 / 0.28 is 25
    drawn = [
        rng.choice(np.flatnonzero(codes == c), size=min(int(count), most), replace=False)
        for c, count in enumerate(counts)
    ]
    return np.sort(np.concatenate(drawn))


def warn_of_lonely(classes: AnyArray, codes: IndexArray) -> None:
    """Tell of classes of one instance."""
    lonely = classes[np.bincount(codes) == 1]
    if len(lonely):
        warn(
            f"{len(lonely)} class(es) have one instance ({lonely[:5].tolist()}), which is always wrong when "
            "it is left out; G-mean does not count them",
            LonelyClassWarning,
        )


def describe(search: EvolutionSearch, genome: Genome) -> dict[str, float]:
    """What a row of history says of a search."""
    best = search.best()
    rows, columns = genome.kept(search.population.take([best]))
    known = search.fitness[np.isfinite(search.fitness)]
    told: dict[str, float] = {"best": float(search.fitness[best]), "mean": float(known.mean()) if len(known) else 0.0}
    if isinstance(search, ParetoSearch):
        front = search.front()
        told = {"best": -float(search.goals[front, 0].min()), "front": len(front)}
    told["n_instances"], told["n_features"] = int(rows[0]), int(columns[0])
    told["reduction"] = reduction_of(int(rows[0]), int(columns[0]), of=(genome.n_instances, genome.n_features))
    return told


def fittest(search: EvolutionSearch, genome: Genome) -> int:
    """The fittest individual that selects something."""
    rows, columns = genome.kept(search.population)
    able = np.flatnonzero((rows > 0) & (columns > 0))
    _refuse_nothing(len(able))
    return int(able[np.argmax(search.fitness[able])])


def _refuse_nothing(able: int) -> None:
    if able == 0:
        raise InvalidDataError(
            "no individual selects an instance and a feature: the table is too small for this population. "
            "Use a larger population_size or more evaluations"
        )


@dataclass(frozen=True)
class Answer:
    """What one individual selects and weighs, over all rows of fit; those undersampling left out are not kept."""

    instance_support: BoolArray  # (N,)
    feature_support: BoolArray  # (M,)
    instance_scales: FloatArray  # (N,)
    feature_weights: FloatArray  # (S, M), one vector or one per class

    @classmethod
    def of(cls, individual: Population, genome: Genome, rows: IndexArray, n: int) -> Answer:
        """Decode an individual that was found on some ``rows`` of ``n``."""
        support, scales = np.zeros(n, dtype=bool), np.ones(n)
        support[rows] = genome.instance_mask(individual)[0]
        scales[rows] = genome.instance_scales(individual)[0]
        return cls(
            support, genome.feature_mask(individual)[0].copy(), scales, genome.feature_weights(individual)[0].copy()
        )

    @property
    def reduction(self) -> float:
        """Share of the table that is gone (paper 004, eq. 6)."""
        kept = int(self.instance_support.sum()), int(self.feature_support.sum())
        return reduction_of(*kept, of=(len(self.instance_support), len(self.feature_support)))

    def weights(self, tasks: tuple[str, ...], classes: AnyArray | None, names: Any, of_rows: str) -> Weights:
        """For a k-NN; ``classes`` for one vector per class, ``of_rows`` the fingerprint of the training rows."""
        a: FloatArray | None = None
        if "FW" in tasks:
            a = np.array([metric_weights(row, self.feature_support, square=True) for row in self.feature_weights])
            a = a[0] if classes is None else a
        every = bool(self.instance_support.all())
        bound = not every or "IW" in tasks
        return Weights(
            feature_weights=a,
            classes=classes,
            instance_scales=self.instance_scales if "IW" in tasks else None,
            feature_mask=self.feature_support if "FS" in tasks else None,
            instance_mask=None if every else self.instance_support,
            feature_names=None if names is None else tuple(names),
            n_samples=len(self.instance_support) if bound else None,
            fingerprint=of_rows if bound else None,
        )


def front_frame(
    search: ParetoSearch, goals: Goals, fitness: Fitness, shape: tuple[int, int]
) -> tuple[pd.DataFrame, Population, int]:
    """The front as a table, its individuals, and the row of the knee.

    Margins, which are maximised, have their own sign there. ``shape`` is that of the table the
    reduction is measured by.
    """
    import pandas as pd

    front = search.front()
    order = front[np.lexsort(search.goals[front].T[::-1])]
    people = search.population.take(order)
    judged, (rows, columns) = fitness(people), fitness.genome.kept(people)
    _refuse_nothing(int((~judged.empty).sum()))
    frame = pd.DataFrame(search.goals[order], columns=goals.columns)
    for name in goals.columns:
        frame[name] *= -1 if name.startswith("margin of ") else 1
    frame["n_instances"], frame["n_features"] = rows, columns
    frame["performance"], frame["fitness"] = judged.performance, judged.fitness
    frame["reduction"] = [reduction_of(int(i), int(j), of=shape) for i, j in zip(rows, columns, strict=True)]
    return frame, people, int(np.flatnonzero(order == search.best())[0])
