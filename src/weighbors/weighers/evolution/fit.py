"""Fit a search: check its parameters, build its parts, run it until a limit, Ctrl-C or an error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._display.status_line import StatusLine, draw_bar
from ..._io.identity import describe
from ..._parallel.threads import effective_n_jobs
from ..._random import draw_from_groups, generators, seed_sequence
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..._warnings import warn
from ...engine.references import column_ranges
from ...exceptions import InterruptedSearchWarning, InvalidDataError, LostClassWarning, NoSkillWarning
from ...metrics import reduction_of
from ...tables.targets import Target
from ...weights import fingerprint
from .checkpoint import Checkpoint
from .estimators import EstimatorPredictor
from .fitness import Fitness, NeighborPredictor, Performance, build_score, default_alphas
from .genome import Genome, Population, parse_tasks
from .pareto import Goals, ParetoSearch, check_goals, draw_margin_rows
from .search import EvolutionSearch

if TYPE_CHECKING:
    from .weigher import EvolutionaryWeigher

_SAVE_SECONDS = 5.0  # shortest time between two writes of the checkpoint
#: Parameters that do not change what a search has found after some evaluations.
_FREE = ("max_evaluations", "checkpoint", "callback", "verbose", "n_jobs")


def check_parameters(
    given: EvolutionaryWeigher, target: Target
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[str, ...] | None]:
    """Return the tasks, the alphas, and the names of the goals, which are None for a single objective.

    Raise an error if parameters contradict each other or the target.
    """
    tasks = parse_tasks(given.tasks)
    if given.max_evaluations < given.population_size:
        raise InvalidDataError(
            f"max_evaluations={given.max_evaluations} is less than population_size={given.population_size}: "
            "the first population alone needs that many"
        )
    if given.per_class and "FW" not in tasks:
        raise InvalidDataError(f"per_class=True needs FW among the tasks; got {given.tasks!r}")
    need_classes = {
        "per_class=True": given.per_class and "there are no classes with weights of their own",
        f"undersample={given.undersample}": given.undersample is not False
        and "it makes classes equally large. Draw rows before, or wrap the search in Stratified",
    }
    for name, why in need_classes.items():
        if why and target.numbers is not None:
            raise InvalidDataError(
                f"{name} needs classes, and y is a numeric target: {why}. Leave it out, or write "
                "target_type='classes' if y holds names of classes"
            )
    build_score(given.fitness, target)
    goals = check_goals(given.objective, tasks, numeric=target.numbers is not None)
    alphas = np.asarray(default_alphas(tasks) if given.alphas is None else given.alphas, dtype=float)
    if alphas.shape != (3,) or not (np.isfinite(alphas) & (alphas >= 0)).all() or not alphas.any():
        raise InvalidDataError(
            f"alphas must be three numbers >= 0, of accuracy, instances and features, not all 0; got {given.alphas!r}"
        )
    return tasks, tuple(alphas.tolist()), goals


def undersample_rows(codes: IndexArray, undersample: bool | float, rng: np.random.Generator) -> IndexArray:
    """Draw rows so that no class is much larger than the smallest class. Return their row numbers, ascending.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row.
    undersample : bool or float
        False: keep all rows. True: draw as many rows of each class as the smallest class has. A number r: draw
        rows until no class is larger than the size of the smallest class divided by r.
    rng : numpy Generator

    Examples
    --------
    >>> codes = np.array([0] * 10 + [1] * 3)
    >>> len(undersample_rows(codes, True, np.random.default_rng(0)))
    6
    >>> len(undersample_rows(codes, 0.5, np.random.default_rng(0)))
    9
    """
    if undersample is False:
        return np.arange(len(codes))
    smallest = np.bincount(codes).min()
    most = int(np.floor(smallest / float(undersample) + 1e-9))  # 7 / 0.28 is 25, and rounding must not make it 24
    return draw_from_groups(codes, most, rng)


def build_search(given: EvolutionaryWeigher, X: FloatArray, target: Target, nominal: BoolArray) -> Run:
    """Check the parameters, and build a new search or continue the search of the checkpoint.

    Parameters
    ----------
    given : EvolutionaryWeigher
    X : ndarray of shape (n, M)
        Coded rows, dense.
    target : Target
        Classes or numbers of the rows.
    nominal : bool ndarray of shape (M,)
        Columns that hold categories.
    """
    tasks, alphas, names = check_parameters(given, target)
    seeds, kept, checkpoint = seed_sequence(given.random_state), None, None
    if given.checkpoint is not None:
        normal = {"tasks": "+".join(tasks), "alphas": alphas, "objective": names or "single"}
        settings, data = _describe_course(given, X, target, nominal, normal)
        checkpoint = Checkpoint(given.checkpoint, data, settings, seeds.entropy)
        kept = checkpoint.read()
        seeds = np.random.SeedSequence(checkpoint.entropy)  # a continued search draws the same rows and folds
    # Independent generators: undersampling, course of the search, folds, and rows for margins do not affect each other.
    draw, course, learner, margins = generators(seeds, 4)
    rows = undersample_rows(target.codes, given.undersample, draw)
    left = target.take(rows)
    genome = Genome(tasks, len(rows), X.shape[1], len(target.classes) if given.per_class else 1)
    common: dict[str, Any] = {"nominal": nominal, "n_jobs": effective_n_jobs(given.n_jobs)}
    predictor: NeighborPredictor | EstimatorPredictor
    if given.estimator is None:
        # A missing value is at the range of all training rows, as in the classifier, also if the search has fewer rows.
        near = {"n_neighbors": int(given.n_neighbors), "measured": column_ranges(X)}
        predictor = NeighborPredictor(genome, X[rows], left, **near, **common)
    else:
        folds: dict[str, Any] = {"cv": int(given.cv), "seed": int(learner.integers(2**31 - 1))}
        predictor = EstimatorPredictor(genome, X[rows], left, estimator=given.estimator, **folds, **common)
    fitness = Fitness(genome, predictor, build_score(given.fitness, left), alphas)
    guarded = given.keep_classes and "IS" in tasks and target.numbers is None
    kept_classes, size = left.codes if guarded else None, int(given.population_size)
    search: EvolutionSearch
    if names is None:
        goals, search = None, EvolutionSearch(genome, size, course, start=given.start, classes=kept_classes)
    else:
        some = draw_margin_rows(left.codes, margins) if "margins" in names else None
        goals = Goals(names, fitness, X[rows], left, rows=some, **common)
        search = ParetoSearch(genome, size, course, classes=kept_classes)
    run = Run(rows, fitness, goals, search, int(given.max_evaluations), checkpoint)
    if kept is not None:
        state, run.history = kept
        search.load(state)
    return run


def _describe_course(
    given: EvolutionaryWeigher, X: FloatArray, target: Target, nominal: BoolArray, normal: dict[str, Any]
) -> tuple[Any, str]:
    """Return what decides the course of a search: its settings as plain values, and a fingerprint of the data.

    ``given``, ``X``, ``target`` and ``nominal`` are as in `build_search`. ``normal`` are settings that can be written
    in several ways, in their normal form.
    """
    settings = {name: value for name, value in given.get_params(deep=False).items() if name not in _FREE}
    settings |= {
        **normal,
        "categorical_features": np.flatnonzero(nominal).tolist(),
        "target_type": target.type,
        # A generator has no value to compare. Its entropy is stored beside the settings.
        "random_state": given.random_state if isinstance(given.random_state, Integral) else None,
    }
    values = target.codes if target.numbers is None else target.numbers
    return describe(settings), f"{X.dtype} {fingerprint(X)} {fingerprint(values[:, None])}"


@dataclass(frozen=True)
class Progress:
    """Progress of a search, which a callback gets after every generation."""

    generation: int
    evaluations: int
    max_evaluations: int
    best: float  # best fitness, or with several goals minus the smallest first goal
    reduction: float  # of the best individual
    seconds: float  # since this fit began
    seconds_left: float  # estimated time until the limit of evaluations

    def __str__(self) -> str:
        return (
            f"{draw_bar(self.evaluations, self.max_evaluations, width=20)} {self.evaluations}/{self.max_evaluations} "
            f"evaluations  best {self.best:.4f}  reduction {self.reduction:.1%}  {self.seconds:.0f} s, "
            f"about {self.seconds_left:.0f} s left"
        )


@dataclass
class Run:
    """Run of a search, from its first generation or from a checkpoint until a limit.

    Parameters
    ----------
    rows : ndarray of int
        The rows of the fit that are left after undersampling.
    fitness, goals
        ``goals`` evaluates individuals if it is not None, else ``fitness``.
    search : EvolutionSearch
    max_evaluations : int
    checkpoint : Checkpoint or None
        The file to write.
    history : list of dict
        History of the run that this run continues. New rows are added to it.
    """

    rows: IndexArray
    fitness: Fitness
    goals: Goals | None
    search: EvolutionSearch
    max_evaluations: int
    checkpoint: Checkpoint | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""  # why the search ended
    # State of the search after its last complete generation, and the number of rows of the history then.
    _complete: tuple[dict[str, AnyArray], int] | None = None

    def drive(self, callback: Callable[[Progress], Any] | None = None, *, verbose: bool = False) -> None:
        """Run the search until a limit.

        Afterwards ``search`` is the search after its last complete generation, and ``reason`` says why it
        ended. If an error occurs, for example in the callback, the last complete generation is written to the
        checkpoint before the error is raised.
        """
        line = StatusLine() if verbose else None
        if self.history:
            self._complete = self.search.state(), len(self.history)
        try:
            self.reason = self._loop(callback, line)
        except KeyboardInterrupt:
            if self._complete is None:
                raise
            self.reason = "interrupted"
        finally:
            if line is not None:
                line.end()
            if self._complete is not None:
                state, n_rows = self._complete
                self.search.load(state)
                del self.history[n_rows:]
                self._save()
        if self.reason == "interrupted":
            warn(
                f"interrupted after {self.search.evaluations} evaluations: the answer is the best found so far",
                InterruptedSearchWarning,
            )

    def _loop(self, callback: Callable[[Progress], Any] | None, line: StatusLine | None) -> str:
        """Run generation after generation, and return why the search ended."""
        search, begun, first, saved = self.search, time.perf_counter(), self.search.evaluations, -np.inf
        before = float(self.history[-1]["seconds"]) if self.history else 0.0
        while search.evaluations < self.max_evaluations and not search.exhausted:
            asked = search.ask(self.max_evaluations - search.evaluations)
            search.tell(self.fitness(asked).fitness if self.goals is None else self.goals(asked))
            seconds = time.perf_counter() - begun
            row = self._record(before + seconds)
            # It is one assignment, so that Ctrl-C, which can come at any moment, cannot leave half of it.
            self._complete = search.state(), len(self.history)
            if seconds - saved >= _SAVE_SECONDS:
                self._save()
                saved = time.perf_counter() - begun
            # The remaining time is estimated from the mean time per evaluation in this run.
            left = (self.max_evaluations - search.evaluations) * seconds / max(1, search.evaluations - first)
            counters = search.generation, search.evaluations, self.max_evaluations
            progress = Progress(*counters, row["best"], row["reduction"], seconds, left)
            stop = callback is not None and bool(callback(progress))
            if line is not None and (line.due() or stop or not left):
                line.show(str(progress))
            if stop:
                return "callback"
        return "max_evaluations" if search.evaluations >= self.max_evaluations else "converged"

    def _record(self, seconds: float) -> dict[str, Any]:
        """Add a row to the history, and return it."""
        search, genome = self.search, self.fitness.genome
        rows, columns = genome.kept(search.population.take([search.best()]))
        row = {"generation": search.generation, "evaluations": search.evaluations, **search.summary()}
        row["n_instances"], row["n_features"] = int(rows[0]), int(columns[0])
        row["reduction"] = reduction_of(int(rows[0]), int(columns[0]), of=(genome.n_instances, genome.n_features))
        row.update(accepted=search.accepted, seconds=seconds)
        self.history.append(row)
        return row

    def _save(self) -> None:
        """Write the last complete generation to the checkpoint."""
        if self.checkpoint is not None and self._complete is not None:
            self.checkpoint.write(self._complete[0], self.history)


def warn_of_poor_result(fitness: Fitness, individual: Population) -> None:
    """Warn if the individual ``individual`` never recognises a class, or predicts no better than the mean.

    Singleton classes are not named: another warning names them.
    """
    performance, predicted = fitness.performance, fitness.predictor.predict(individual)
    if not isinstance(performance, Performance):
        if not callable(performance.how) and performance(predicted)[0] == 0:
            warn(
                "the selection that was found predicts the training rows, each left out of its own neighbours, no "
                "better than one constant does (performance_ is 0): it is fit only because it is small. Use more "
                "evaluations, scale the columns, or give the score more weight (alphas)",
                NoSkillWarning,
            )
        return
    codes, classes = performance.codes, performance.classes
    sizes = np.bincount(codes, minlength=len(classes))
    right = np.bincount(codes[predicted[0] == codes], minlength=len(classes))
    lost = classes[(right == 0) & (sizes > 1)].tolist()
    if not lost:
        return
    named = ", ".join(map(repr, lost[:5])) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
    # With uneven classes, accuracy may be high although a small class is never recognised.
    least, most = sizes[sizes > 1].min(), sizes.max()
    advice = ""
    if most >= 1.5 * least and performance.how != "g_mean":
        advice = f"; the classes are uneven ({least} to {most} rows): fitness='g_mean' counts each of them equally"
    warn(
        f"the selection that was found recognises no training row of class {named}: recall 0, each row left out of its "
        f"own neighbours{advice}",
        LostClassWarning,
    )
