"""From the estimator's parameters to the parts of a search. ``given`` is the estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ..._threads import effective_n_jobs
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from ...weights import fingerprint
from .checkpoint import Checkpoint
from .estimators import EstimatorPredictor
from .fitness import Fitness, NeighborPredictor, Performance, Predictor, default_alphas
from .genome import Genome, parse_tasks
from .goals import Goals
from .pareto import ParetoSearch
from .results import describe
from .run import Limits, ProgressBar, Run
from .search import EvolutionSearch, Settings

__all__ = ["checked_parameters", "data_fingerprint", "make_fitness", "make_run"]

_COURSE = (  # parameters that change the course of a search
    "objective",
    "population_size",
    "n_neighbors",
    "per_class",
    "cv",
    "undersample",
    "de_factor",
    "crossover_rate",
    "incest_prevention",
    "restart",
)


def checked_parameters(given: Any) -> tuple[tuple[str, ...], tuple[float, float, float]]:
    """Tasks and α; parameters that contradict each other are refused."""
    tasks = parse_tasks(given.tasks)
    if given.max_evaluations < given.population_size:
        raise InvalidDataError(
            f"max_evaluations={given.max_evaluations} is less than population_size={given.population_size}: "
            "the first population alone needs that many"
        )
    if given.per_class and "FW" not in tasks:
        raise InvalidDataError(f"per_class=True needs FW among the tasks; got {given.tasks!r}")
    if given.goals is not None and given.objective != "pareto":
        raise InvalidDataError("goals= goes with objective='pareto'")
    if given.resume and given.checkpoint is None:
        raise InvalidDataError("resume=True needs checkpoint=, the file to continue from")
    if given.alphas is None:
        return tasks, default_alphas(tasks)
    alphas = np.asarray(given.alphas, dtype=float)
    if alphas.shape != (3,) or not (np.isfinite(alphas) & (alphas >= 0)).all() or not alphas.any():
        raise InvalidDataError(
            f"alphas must be three numbers >= 0, of accuracy, instances and features, not all 0; got {given.alphas!r}"
        )
    return tasks, (float(alphas[0]), float(alphas[1]), float(alphas[2]))


def make_fitness(
    given: Any,
    genome: Genome,
    X: FloatArray,
    codes: IndexArray,
    *,
    classes: AnyArray,
    nominal: BoolArray,
    alphas: tuple[float, float, float],
    seed: int,
) -> Fitness:
    """What judges individuals: the nearest neighbour, or the classifier given as ``estimator``."""
    jobs = effective_n_jobs(given.n_jobs)
    predictor: Predictor
    if given.estimator is not None:
        predictor = EstimatorPredictor(
            genome, X, codes, estimator=given.estimator, cv=int(given.cv), seed=seed, nominal=nominal, n_jobs=jobs
        )
    else:
        predictor = NeighborPredictor(
            genome,
            X,
            codes,
            len(classes),
            n_neighbors=int(given.n_neighbors),
            nominal=nominal,
            cache_bytes=int(given.cache_bytes),
            n_jobs=jobs,
        )
    return Fitness(genome, predictor, Performance(given.fitness, codes, classes), alphas)


def make_run(given: Any, fitness: Fitness, goals: Goals | None, rng: np.random.Generator, data: str) -> Run:
    """A new search, or the one in the checkpoint, ready to be driven. ``data`` is the rows' fingerprint."""
    genome = fitness.genome
    settings = Settings(
        int(given.population_size), given.de_factor, given.crossover_rate, given.incest_prevention, given.restart
    )
    kind = EvolutionSearch if goals is None else ParetoSearch
    search: EvolutionSearch | None = None
    history: list[dict[str, Any]] = []
    checkpoint = None
    if given.checkpoint is not None:
        checkpoint = Checkpoint(given.checkpoint, data, _course(given, fitness, goals))
        if given.resume:
            found = checkpoint.read()
            if found is not None:
                search, history = kind.restore(genome, settings, found[0]), found[1]
        else:
            checkpoint.check_free()
    return Run(
        search or kind(genome, settings, rng),
        (lambda population: fitness(population).fitness) if goals is None else goals,
        lambda search: describe(search, genome),
        Limits(int(given.max_evaluations), given.time_limit, given.n_iter_no_change),
        history,
        checkpoint,
        given.checkpoint_seconds,
        tuple(w for w in (given.callback, ProgressBar() if given.verbose else None) if w is not None),
    )


def data_fingerprint(X: FloatArray, codes: IndexArray) -> str:
    """Fingerprint of rows and labels."""
    return f"{X.dtype} {fingerprint(np.column_stack([X, codes]))}"


def _course(given: Any, fitness: Fitness, goals: Goals | None) -> dict[str, Any]:
    """Everything that changes the course of a search, as plain values."""
    course = {name: getattr(given, name) for name in _COURSE}
    course = {name: value.item() if isinstance(value, np.generic) else value for name, value in course.items()}
    how, seed = given.fitness, given.random_state
    course.update(
        tasks="+".join(fitness.genome.tasks),
        alphas=list(fitness.alphas),
        goals=None if goals is None else list(goals.names),
        fitness=how if isinstance(how, str) else getattr(how, "__qualname__", "callable"),
        estimator=None if given.estimator is None else repr(given.estimator),
        random_state=int(seed) if isinstance(seed, Integral) else None,
    )
    return course
