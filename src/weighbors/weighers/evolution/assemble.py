"""From the estimator's parameters to the parts of a search. ``given`` is the estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._random import generators, seed_sequence
from ..._threads import effective_n_jobs
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from .checkpoint import Checkpoint, Kept
from .estimators import EstimatorPredictor
from .fitness import Fitness, NeighborPredictor, Performance, Predictor, default_alphas
from .genome import Genome, parse_tasks
from .goals import Goals, check_goals, drawn_rows
from .identity import course_of, data_of
from .pareto import ParetoSearch
from .results import balanced_rows, describe
from .run import Limits, ProgressBar, Run
from .search import EvolutionSearch, Settings

__all__ = ["Parts", "assembled"]


@dataclass(frozen=True)
class Parts:
    """A search over some rows, ready to be driven."""

    rows: IndexArray  # those that undersampling left
    fitness: Fitness
    goals: Goals | None
    run: Run


def assembled(given: Any, X: FloatArray, codes: IndexArray, classes: AnyArray, nominal: BoolArray) -> Parts:
    """Parameters are checked, a checkpoint is read, and a search of its own or a new one is made."""
    tasks, alphas = _checked_parameters(given)
    names = check_goals(given.goals, tasks) if given.objective == "pareto" else None
    seeds, checkpoint, kept = seed_sequence(given.random_state), None, None
    if given.checkpoint is not None:
        checkpoint = Checkpoint(given.checkpoint, data_of(X, codes), course_of(given, tasks, alphas, names, nominal))
        kept = checkpoint.open(resume=given.resume)
        if kept is not None:  # rows and folds are drawn as they were
            seeds = np.random.SeedSequence(kept.entropy)
        checkpoint = replace(checkpoint, entropy=seeds.entropy)
    draw, course, learner, margins = generators(seeds, 4)
    rows = balanced_rows(codes, given.undersample, draw)
    genome = Genome(tasks, len(rows), X.shape[1], len(classes) if given.per_class else 1)
    seed = int(learner.integers(2**31 - 1))
    fitness = _fitness_of(
        given, genome, X[rows], codes[rows], classes=classes, nominal=nominal, alphas=alphas, seed=seed
    )
    goals = None
    if names is not None:
        some = drawn_rows(codes[rows], given.margin_rows, margins) if "margins" in names else None
        goals = Goals(names, fitness, X[rows], codes[rows], classes, nominal, given.n_jobs, margin_rows=some)
    return Parts(rows, fitness, goals, _run_of(given, fitness, goals, course, checkpoint, kept))


def _checked_parameters(given: Any) -> tuple[tuple[str, ...], tuple[float, float, float]]:
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


def _fitness_of(
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


def _run_of(
    given: Any,
    fitness: Fitness,
    goals: Goals | None,
    rng: np.random.Generator,
    checkpoint: Checkpoint | None,
    kept: Kept | None,
) -> Run:
    genome = fitness.genome
    settings = Settings(
        int(given.population_size), given.de_factor, given.crossover_rate, given.incest_prevention, given.restart
    )
    kind = EvolutionSearch if goals is None else ParetoSearch
    return Run(
        kind(genome, settings, rng) if kept is None else kind.restore(genome, settings, kept.state),
        (lambda population: fitness(population).fitness) if goals is None else goals,
        lambda search: describe(search, genome),
        Limits(int(given.max_evaluations), given.time_limit, given.n_iter_no_change),
        [] if kept is None else kept.history,
        checkpoint,
        given.checkpoint_seconds,
        tuple(w for w in (given.callback, ProgressBar() if given.verbose else None) if w is not None),
    )
