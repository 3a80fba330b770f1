"""Turn a finished search into the attributes of the estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..._warnings import warn
from ...exceptions import InvalidDataError, LostClassWarning, NoSkillWarning
from ...metrics import reduction_of
from ...weights import Weights
from ..base import metric_weights
from .fitness import Fitness, Performance
from .genome import Genome, Population
from .goals import Goals
from .search import EvolutionSearch

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Answer", "describe_search", "find_fittest", "front_frame", "warn_of_poor_result"]


def warn_of_poor_result(fitness: Fitness, individual: Population) -> None:
    """Warn if the individual ``individual`` never recognises a class, or predicts no better than the mean."""
    performance, predicted = fitness.performance, fitness.predictor.predict(individual)
    if isinstance(performance, Performance):
        _warn_of_lost_classes(performance, predicted[0])
    elif not performance.may_be_negative and performance(predicted)[0] == 0:
        warn(
            "the selection that was found predicts the training rows, each left out of its own neighbours, no better "
            "than one constant does (performance_ is 0): it is fit only because it is small. Use more evaluations, "
            "scale the columns, or give the score more weight (alphas)",
            NoSkillWarning,
        )


def _warn_of_lost_classes(performance: Performance, predicted: AnyArray) -> None:
    """Warn of classes of which ``predicted``, the predictions of one individual, recognise no training row.

    Singleton classes are not named: `warn_of_singletons` names them.
    """
    codes, classes = performance.codes, performance.classes
    sizes = np.bincount(codes, minlength=len(classes))
    recalls = performance.recalls(predicted)
    lost = (recalls == 0) & (sizes > 1)
    if not lost.any():
        return
    named = ", ".join(repr(label) for label in classes[lost][:5].tolist())
    more = f" and {int(lost.sum()) - 5} more" if lost.sum() > 5 else ""
    # With uneven classes, accuracy may be high although a small class is never recognised.
    uneven = sizes.max() >= 1.5 * sizes[sizes > 1].min() and performance.how != "g_mean"
    advice = (
        f"; the classes are uneven ({sizes[sizes > 1].min()} to {sizes.max()} rows): fitness='g_mean' counts each of "
        "them equally"
        if uneven
        else ""
    )
    warn(
        f"the selection that was found recognises no training row of class {named}{more}: recall 0, each row left out "
        f"of its own neighbours{advice}",
        LostClassWarning,
    )


def describe_search(search: EvolutionSearch, genome: Genome) -> dict[str, float]:
    """Return one row of the search history: fitness of the best individual, what it keeps, and the reduction.

    With several goals, the row has minus the smallest first goal and the size of the front in place of the
    best and mean fitness.
    """
    rows, columns = genome.kept(search.population.take([search.best()]))
    row = search.summary()
    row["n_instances"], row["n_features"] = int(rows[0]), int(columns[0])
    row["reduction"] = reduction_of(int(rows[0]), int(columns[0]), of=(genome.n_instances, genome.n_features))
    return row


def find_fittest(search: EvolutionSearch, genome: Genome) -> int:
    """Return the row of the fittest individual that selects at least one instance and one feature."""
    rows, columns = genome.kept(search.population)
    able = np.flatnonzero((rows > 0) & (columns > 0))
    _refuse_nothing(len(able))
    return int(able[np.argmax(search.fitness[able])])


def _refuse_nothing(able: int) -> None:
    """Raise an error if ``able``, the number of individuals that can classify, is 0."""
    if able == 0:
        raise InvalidDataError(
            "no individual selects an instance and a feature: the table is too small for this population. "
            "Use a larger population_size or more evaluations"
        )


@dataclass(frozen=True)
class Answer:
    """Selections and weights of one individual, for all N rows and M features of the fit.

    Rows that undersampling left out are not selected.
    """

    instance_support: BoolArray  # (N,)
    feature_support: BoolArray  # (M,)
    instance_scales: FloatArray  # (N,)
    feature_weights: FloatArray  # (S, M), S = 1 vector for all classes or S vectors, one per class

    @classmethod
    def of(cls, individual: Population, genome: Genome, rows: IndexArray, n: int) -> Answer:
        """Decode an individual.

        Parameters
        ----------
        individual : Population
            One individual.
        genome : Genome
        rows : ndarray of int
            The rows of the fit that the search used, after undersampling.
        n : int
            Number of rows of the fit.
        """
        support, scales = np.zeros(n, dtype=bool), np.ones(n)
        support[rows] = genome.instance_mask(individual)[0]
        scales[rows] = genome.instance_scales(individual)[0]
        return cls(
            support, genome.feature_mask(individual)[0].copy(), scales, genome.feature_weights(individual)[0].copy()
        )

    @property
    def reduction(self) -> float:
        """Share of the table that is removed (paper 004, eq. 6)."""
        kept = int(self.instance_support.sum()), int(self.feature_support.sum())
        return reduction_of(*kept, of=(len(self.instance_support), len(self.feature_support)))

    def weights(self, tasks: tuple[str, ...], classes: AnyArray | None, names: Any, of_rows: str) -> Weights:
        """Return the `Weights` for a k-NN.

        Parameters
        ----------
        tasks : tuple of str
            As `parse_tasks` gives them.
        classes : ndarray or None
            Labels of the classes if there is one vector of feature weights per class, else None.
        names : sequence of str or None
            Names of the features.
        of_rows : str
            Fingerprint of the training rows.
        """
        a: FloatArray | None = None
        if "FW" in tasks:
            # A k-NN uses the squares of w. At least one selected feature must have a positive weight.
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
    search: EvolutionSearch, goals: Goals, fitness: Fitness, shape: tuple[int, int]
) -> tuple[pd.DataFrame, Population, int]:
    """Return the front as a table with one row per individual, the individuals, and the row of the knee.

    Parameters
    ----------
    search : EvolutionSearch
        A finished search with several goals.
    goals : Goals
        Gives the names of the columns. The search minimises minus the margins; the table has the margins.
    fitness : Fitness
    shape : (int, int)
        Rows and columns of the table of the fit, to compute the reduction.
    """
    import pandas as pd

    front = search.front()
    values = search.goal_values()
    # Sorted by the first goal, then by the second: the table reads as a trade-off.
    order = front[np.lexsort(values[front].T[::-1])]
    people = search.population.take(order)
    judged, (rows, columns) = fitness(people), fitness.genome.kept(people)
    _refuse_nothing(int((~judged.empty).sum()))
    frame = pd.DataFrame(values[order], columns=goals.columns)
    for name in goals.columns:
        # The search minimises all goals. Readers expect margins with their own sign.
        frame[name] *= -1 if name.startswith("margin of ") else 1
    frame["n_instances"], frame["n_features"] = rows, columns
    frame["performance"], frame["fitness"] = judged.performance, judged.fitness
    frame["reduction"] = [reduction_of(int(i), int(j), of=shape) for i, j in zip(rows, columns, strict=True)]
    return frame, people, int(np.flatnonzero(order == search.best())[0])
