"""The estimators and weighers that ``weighbors fit`` offers, by their names on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ._errors import UsageError


class ModelName(StrEnum):
    """Names of the models that can be fitted to the prepared columns."""

    KNN = "knn"
    VOTES = "votes"


class Weigher(StrEnum):
    """Names of the weighers. They are listed here so that the help text needs no import of the library."""

    NONE = "none"
    RELIEF = "relief"
    RELIEVEDF = "relievedf"
    RELIEFF = "relieff"
    SURF = "surf"
    SURF_STAR = "surf-star"
    MULTISURF = "multisurf"
    MULTISURF_STAR = "multisurf-star"
    TURF = "turf"
    IRELIEF = "irelief"
    CLASS_RELIEF = "class-relief"
    SIMBA = "simba"
    MBIW = "mbiw"
    SIMBAMBIW = "simbambiw"
    NCA = "nca"
    GRADIENT = "gradient"
    SCORE = "score"
    NPDR = "npdr"
    EVOLUTION = "evolution"


#: The classes of the weighers. For a numeric target, "relieff" is `RReliefF`.
WEIGHER_CLASSES = {
    Weigher.RELIEF: "Relief",
    Weigher.RELIEVEDF: "RelievedF",
    Weigher.RELIEFF: "ReliefF",
    Weigher.SURF: "SURF",
    Weigher.SURF_STAR: "SURFStar",
    Weigher.MULTISURF: "MultiSURF",
    Weigher.MULTISURF_STAR: "MultiSURFStar",
    Weigher.TURF: "TuRF",
    Weigher.IRELIEF: "IRelief",
    Weigher.CLASS_RELIEF: "ClassRelief",
    Weigher.SIMBA: "Simba",
    Weigher.MBIW: "MBIW",
    Weigher.SIMBAMBIW: "SimbaMBIW",
    Weigher.NCA: "NCAWeights",
    Weigher.GRADIENT: "GradientWeights",
    Weigher.SCORE: "ScoreWeigher",
    Weigher.NPDR: "NPDR",
    Weigher.EVOLUTION: "EvolutionaryWeigher",
}
_ONLY_CLASSES = {
    Weigher.RELIEF, Weigher.RELIEVEDF, Weigher.IRELIEF, Weigher.CLASS_RELIEF, Weigher.SIMBA, Weigher.MBIW,
    Weigher.SIMBAMBIW,
}  # fmt: skip
TASKS = ("IS", "FS", "IW", "FW")  # of an evolutionary search
_NOT_SELECTING = {Weigher.NONE, Weigher.MBIW, Weigher.EVOLUTION}


class Votes(StrEnum):
    """How votes depend on the distance."""

    UNIFORM = "uniform"
    DISTANCE = "distance"


class ScaleName(StrEnum):
    """How numbers are scaled."""

    STANDARD = "standard"
    RANGE = "range"
    RANK = "rank"
    NONE = "none"


class Strategy(StrEnum):
    """How SIMBAMBIW uses the weights of the rows."""

    ORDER = "order"
    SAMPLE = "sample"
    NORMAL = "normal"


@dataclass(frozen=True)
class FitOptions:
    """The options of the command line that describe the model. None means that the option was not given."""

    model: ModelName
    weigher: Weigher | None
    neighbors: int | None
    votes: Votes | None
    scale: ScaleName | None
    select: int | None
    strategy: Strategy | None
    tasks: str | None
    evaluations: int | None
    seed: int
    jobs: int | None

    @property
    def chosen_weigher(self) -> Weigher | None:
        """The weigher of the model. None means that the model has none, or learns its own weights."""
        return Weigher.RELIEFF if self.weigher is None and self.model is ModelName.KNN else self.weigher

    @property
    def n_neighbors(self) -> int | None:
        """The number of neighbours that vote. None means that the model chooses it or has no such number."""
        return 5 if self.neighbors is None and self.model is ModelName.KNN else self.neighbors

    @property
    def chosen_scale(self) -> str | None:
        """How numbers are scaled: "standard" for learned votes and "range" for all others, unless it was given."""
        if self.scale is None:
            return "standard" if self.model is ModelName.VOTES else "range"
        return None if self.scale is ScaleName.NONE else self.scale.value

    def describe(self) -> str:
        """Return the model in words, for the terminal."""
        k, weigher = self.n_neighbors, self.chosen_weigher
        names = {
            ModelName.KNN: f"{k}-NN",
            ModelName.VOTES: "learned votes" + (f" of {k} neighbours" if k else ""),
        }
        select = "" if self.select is None else f", {self.select} features selected"
        return names[self.model] + ("" if weigher is None else f", weigher {weigher.value}") + select

    def settings(self) -> dict[str, Any]:
        """Return the settings for JSON output."""
        weigher = self.chosen_weigher
        return {
            "model": self.model.value,
            "weigher": None if weigher is None else weigher.value,
            "n_neighbors": self.n_neighbors,
            "votes": (self.votes or Votes.UNIFORM).value,
            "scale": self.chosen_scale,
            "select": self.select,
            "random_state": self.seed,
        }


def check_options(options: FitOptions) -> None:
    """Raise `UsageError` if options contradict each other. Commands call this before any work."""
    model, weigher = options.model, options.chosen_weigher
    if options.votes is not None and model is not ModelName.KNN:
        raise UsageError(f"--votes is for --model knn; got --model {model.value}")
    if options.select is not None and (weigher is None or weigher in _NOT_SELECTING):
        raise UsageError("--select needs a --weigher that ranks features, such as relieff or nca")
    if options.strategy is not None and weigher is not Weigher.SIMBAMBIW:
        raise UsageError("--strategy is for --weigher simbambiw")
    if (options.tasks is not None or options.evaluations is not None) and weigher is not Weigher.EVOLUTION:
        raise UsageError("--tasks and --evaluations are for --weigher evolution")
    if options.tasks is not None:
        check_known_tasks(options.tasks)


def check_known_tasks(tasks: str) -> str:
    """Return the tasks of an evolutionary search in capitals. Raise `UsageError` if one is unknown or repeated."""
    parts = [part.strip().upper() for part in tasks.split("+")]
    strange = [part for part in parts if part not in TASKS]
    if strange or len(set(parts)) < len(parts):
        raise UsageError(
            f"--tasks must be some of {', '.join(TASKS)}, each once and joined by +, for example IS+FS; got '{tasks}'"
        )
    return "+".join(parts)


def make_table_estimator(options: FitOptions, *, numeric: bool, keep: list[str], drop: list[str]) -> Any:
    """Return an unfitted `TableClassifier`, or a `TableRegressor` for a numeric target."""
    from ..models import TableClassifier, TableRegressor

    inner = _make_estimator(options, numeric)
    missing = "indicator" if options.model is ModelName.VOTES else "distance"
    kind = TableRegressor if numeric else TableClassifier
    return kind(inner, options.chosen_scale, missing=missing, keep=keep, drop=drop)


def _make_estimator(options: FitOptions, numeric: bool) -> Any:
    """Return the unfitted estimator for the prepared columns."""
    from .. import models

    k = options.n_neighbors
    jobs: dict[str, Any] = {"n_jobs": options.jobs}
    weigher, near = _make_weigher(options, numeric), options.votes is Votes.DISTANCE
    kind: Any
    if options.model is ModelName.KNN:
        kind = models.WeightedKNeighborsRegressor if numeric else models.WeightedKNeighborsClassifier
        return kind(k, weigher, weights="distance" if near else "uniform", **jobs)
    kind = models.LearnedVotesRegressor if numeric else models.LearnedVotesClassifier
    chosen = "auto" if options.weigher is None else weigher
    return kind("auto" if k is None else k, chosen, random_state=options.seed, **jobs)


def _make_weigher(options: FitOptions, numeric: bool) -> Any:
    """Return the weigher, or None for none."""
    from .. import weighers
    from ..exceptions import InvalidDataError

    name = options.chosen_weigher
    if name is None or name is Weigher.NONE:
        return None
    if numeric and name in _ONLY_CLASSES:
        raise InvalidDataError(f"'{name.value}' needs classes, and the target is numeric: use relieff, nca or none")
    kind = weighers.RReliefF if numeric and name is Weigher.RELIEFF else getattr(weighers, WEIGHER_CLASSES[name])
    made = kind(**_weigher_parameters(options, name))
    known = made.get_params(deep=False)
    wanted = {"random_state": options.seed, "n_jobs": options.jobs, "n_features_to_select": options.select}
    return made.set_params(**{key: value for key, value in wanted.items() if key in known and value is not None})


def _weigher_parameters(options: FitOptions, name: Weigher) -> dict[str, Any]:
    """Return the parameters that only some weighers have."""
    if name is Weigher.SIMBAMBIW:
        return {"strategy": (options.strategy or Strategy.ORDER).value}
    if name is Weigher.EVOLUTION:
        n = options.evaluations or 10_000
        tasks = check_known_tasks(options.tasks or "IS+FW")
        return {"tasks": tasks, "max_evaluations": n, "population_size": max(4, min(100, n))}
    return {}
