"""Build a search from the parameters of `EvolutionaryWeigher`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._parallel.threads import effective_n_jobs
from ..._random import generators, seed_sequence
from ..._targets import Target
from ..._typing import BoolArray, FloatArray, IndexArray
from ...engine.references import ColumnRanges, column_ranges
from .checkpoint import Checkpoint, Kept
from .checkpoint_checks import StateChecker
from .estimators import EstimatorPredictor
from .fitness import Fitness, NeighborPredictor, Performance, Predictor, Score
from .genome import Genome
from .goals import Goals, check_goals
from .identity import describe_course, describe_data
from .inputs import draw_rows, undersample_rows
from .number_scores import NumericPerformance, check_number_score
from .operators import ClassGuard
from .parameters import SearchParameters
from .pareto import ParetoSearch
from .results import describe_search
from .run import Limits, Run, SearchProgressBar
from .scores import check_score
from .search import EvolutionSearch, Settings

__all__ = ["SearchParts", "build_search"]


@dataclass(frozen=True)
class SearchParts:
    """A search that is ready to run, with its rows, fitness and goals."""

    rows: IndexArray  # the rows that are left after undersampling
    fitness: Fitness
    goals: Goals | None
    run: Run


def build_search(given: SearchParameters, X: FloatArray, target: Target, nominal: BoolArray) -> SearchParts:
    """Check the parameters, and build a new search or continue the search of a checkpoint.

    Parameters
    ----------
    given : SearchParameters
        Parameters of the estimator.
    X : ndarray of shape (n, M)
        Coded rows, dense.
    target : Target
        Classes or numbers of the rows.
    nominal : bool ndarray of shape (M,)
        Columns that hold categories.
    """
    tasks, alphas = given.check()
    if target.numbers is None:
        check_score(given.fitness, target.classes)
    else:
        given.check_numeric()
        check_number_score(given.fitness, target.numbers)
    numeric = target.numbers is not None
    names = check_goals(given.goals, tasks, numeric=numeric) if given.objective == "pareto" else None
    seeds, checkpoint, kept = seed_sequence(given.random_state), None, None
    if given.checkpoint is not None:
        course = describe_course(given, tasks, alphas, names, nominal, target.type)
        checkpoint = Checkpoint(given.checkpoint, describe_data(X, target), course)
        kept = checkpoint.open(resume=given.resume)
        if kept is not None:  # the continued search draws the same rows and folds
            seeds = np.random.SeedSequence(kept.entropy)
        checkpoint = replace(checkpoint, entropy=seeds.entropy)
    # Independent generators: undersampling, course of the search, folds, and rows for margins do not affect each other.
    draw, search, learner, margins = generators(seeds, 4)
    rows = undersample_rows(target.codes, given.undersample, draw)
    left = target.take(rows)
    genome = Genome(tasks, len(rows), X.shape[1], len(target.classes) if given.per_class else 1)
    seed = int(learner.integers(2**31 - 1))
    # A missing value is at the range of all training rows, as in the classifier, also if the search has fewer rows.
    measured = column_ranges(X)
    fitness = _build_fitness(given, genome, X[rows], left, nominal=nominal, measured=measured, alphas=alphas, seed=seed)
    goals = None
    if names is not None:
        some = draw_rows(left.codes, given.margin_rows, margins) if "margins" in names else None
        goals = Goals(names, fitness, X[rows], left.codes, left.classes, nominal, given.n_jobs, margin_rows=some)
    guarded = given.keep_classes and "IS" in tasks and not numeric
    guard = ClassGuard.of_codes(left.codes) if guarded else None
    return SearchParts(rows, fitness, goals, _build_run(given, fitness, goals, guard, search, checkpoint, kept))


def _build_fitness(
    given: SearchParameters,
    genome: Genome,
    X: FloatArray,
    target: Target,
    *,
    nominal: BoolArray,
    measured: ColumnRanges,
    alphas: tuple[float, float, float],
    seed: int,
) -> Fitness:
    """Build the fitness function, with the nearest neighbour or with the learner given as ``estimator``.

    ``X``, ``target`` and ``nominal`` are as in `build_search`, with the rows that are left after undersampling.
    ``measured`` has the column ranges of all rows. ``alphas`` are the weights of accuracy, removed instances and
    removed features. ``seed`` draws the folds for ``estimator`` and sets every ``random_state`` of it that is None.
    """
    jobs = effective_n_jobs(given.n_jobs)
    predictor: Predictor
    if given.estimator is not None:
        predictor = EstimatorPredictor(
            genome,
            X,
            target.codes,
            numbers=target.numbers,
            estimator=given.estimator,
            cv=int(given.cv),
            seed=seed,
            nominal=nominal,
            n_jobs=jobs,
        )
    else:
        predictor = NeighborPredictor(
            genome,
            X,
            target.codes,
            max(1, len(target.classes)),
            numbers=target.numbers,
            n_neighbors=int(given.n_neighbors),
            nominal=nominal,
            measured=measured,
            cache_bytes=int(given.cache_bytes),
            n_jobs=jobs,
        )
    performance: Score = (
        Performance(given.fitness, target.codes, target.classes)
        if target.numbers is None
        else NumericPerformance(given.fitness, target.numbers)
    )
    return Fitness(genome, predictor, performance, alphas)


def _build_run(
    given: SearchParameters,
    fitness: Fitness,
    goals: Goals | None,
    guard: ClassGuard | None,
    rng: np.random.Generator,
    checkpoint: Checkpoint | None,
    kept: Kept | None,
) -> Run:
    """Build the run of a new search, or of the search that a checkpoint holds.

    Parameters
    ----------
    given : SearchParameters
        Parameters of the estimator.
    fitness, goals
        ``goals`` evaluates individuals if it is not None, else ``fitness``.
    guard : ClassGuard or None
        Keeps rows of every class, if it is not None.
    rng : numpy Generator
        Random numbers of a new search.
    checkpoint : Checkpoint or None
        The file to write.
    kept : Kept or None
        Content of the checkpoint if the search continues, None for a new search.
    """
    genome = fitness.genome
    settings = Settings(
        int(given.population_size),
        given.de_factor,
        given.crossover_rate,
        given.incest_prevention,
        given.restart,
        given.start,
    )
    kind = EvolutionSearch if goals is None else ParetoSearch
    if checkpoint is not None and kept is not None:
        # Named scores are between −1 and 1, and shares between 0 and 1. Functions of the user may return any number.
        largest = np.inf if callable(given.fitness) else sum(fitness.alphas)
        columns = None if goals is None else goals.columns
        checkpoint.check_state(kept, StateChecker(kind, genome, settings.size, largest, fitness.nothing, columns))
    return Run(
        kind(genome, settings, rng, guard) if kept is None else kind.restore(genome, settings, kept.state, guard),
        (lambda population: fitness(population).fitness) if goals is None else goals,
        lambda search: describe_search(search, genome),
        Limits(int(given.max_evaluations), given.time_limit, given.n_iter_no_change),
        [] if kept is None else kept.history,
        checkpoint,
        given.checkpoint_seconds,
        tuple(w for w in (given.callback, SearchProgressBar() if given.verbose else None) if w is not None),
    )
