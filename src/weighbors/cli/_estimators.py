"""The models and weighers that ``weighbors fit`` offers, and their options."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import typer

from ._errors import UsageError
from ._options import LearningOptions, TableOptions

TASKS = ("IS", "FS", "IW", "FW")  # of an evolutionary search


class Weigher(StrEnum):
    """The weighers by their names on the command line. The name of a member is that of its class."""

    none = "none"
    Relief = "relief"
    RelievedF = "relievedf"
    ReliefF = "relieff"
    SURF = "surf"
    SURFStar = "surf-star"
    MultiSURF = "multisurf"
    MultiSURFStar = "multisurf-star"
    TuRF = "turf"
    IRelief = "irelief"
    ClassRelief = "class-relief"
    Simba = "simba"
    MBIW = "mbiw"
    SimbaMBIW = "simbambiw"
    NCAWeights = "nca"
    GradientWeights = "gradient"
    ScoreWeigher = "score"
    NPDR = "npdr"
    EvolutionaryWeigher = "evolution"


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The options that describe the model. None means that the option was not given."""

    model: Literal["knn", "votes"] | None = typer.Option(
        None,
        help="Type of the model: learned votes, or k nearest neighbours with a weigher.",
        show_default="votes; knn if --weigher, --neighbors, --votes or --select is given",
    )
    weigher: Weigher | None = typer.Option(
        None,
        help="Method that learns the feature weights of knn and votes. For a numeric target, relieff is RReliefF.",
        show_default="relieff for knn; votes learns its own weights",
    )
    neighbors: int | None = typer.Option(
        None, "--neighbors", "-k", min=1, help="Number of neighbours that vote.", show_default="5; votes choose it"
    )
    votes: Literal["uniform", "distance"] | None = typer.Option(
        None, help="Votes of knn: all equal, or larger for near neighbours.", show_default="uniform"
    )
    scale: Literal["standard", "range", "rank", "none"] | None = typer.Option(
        None, help="Scaling of numeric columns.", show_default="range; standard for votes"
    )
    select: int | None = typer.Option(
        None, min=1, metavar="N", help="Use only the N features with the largest weights."
    )
    strategy: Literal["order", "sample", "normal", "unmodified"] | None = typer.Option(
        None, help="How simbambiw uses the weights of the rows.", show_default="order"
    )
    tasks: str | None = typer.Option(
        None, help="Tasks of --weigher evolution: IS, FS, IW, FW joined by +.", show_default="IS+FW"
    )
    evaluations: int | None = typer.Option(
        None, min=1, help="Number of evaluations of --weigher evolution.", show_default="10000"
    )

    @property
    def is_knn(self) -> bool:
        """Whether the model is a k-NN. Learned votes have no ``--votes`` and choose weights and neighbours themselves.

        Who gives one of these options, and no model, means a k-NN.
        """
        of_knn = (self.weigher, self.neighbors, self.votes, self.select, self.strategy, self.tasks, self.evaluations)
        return self.model == "knn" if self.model else any(option is not None for option in of_knn)

    @property
    def chosen_weigher(self) -> Weigher | None:
        """The weigher of the model. None means that the model has none, or learns its own weights."""
        return Weigher.ReliefF if self.weigher is None and self.is_knn else self.weigher

    @property
    def n_neighbors(self) -> int | None:
        """The number of neighbours that vote. None means that the model chooses it."""
        return 5 if self.neighbors is None and self.is_knn else self.neighbors

    @property
    def chosen_scale(self) -> str | None:
        """How numbers are scaled: "standard" for learned votes and "range" for a k-NN, unless it was given."""
        scale = self.scale or ("range" if self.is_knn else "standard")
        return None if scale == "none" else scale

    def describe(self) -> str:
        """Return the model in words, for the terminal."""
        k, weigher = self.n_neighbors, self.chosen_weigher
        name = f"{k}-NN" if self.is_knn else "learned votes" + (f" of {k} neighbours" if k else "")
        select = "" if self.select is None else f", {self.select} features selected"
        return name + ("" if weigher is None else f", weigher {weigher}") + select

    def settings(self, seed: int) -> dict[str, Any]:
        """Return the settings for JSON output."""
        return {
            "model": "knn" if self.is_knn else "votes",
            "weigher": self.chosen_weigher,
            "n_neighbors": self.n_neighbors,
            "votes": self.votes or "uniform",
            "scale": self.chosen_scale,
            "select": self.select,
            "random_state": seed,
        }

    def check(self) -> None:
        """Raise `UsageError` if options contradict each other. Commands call this before any work."""
        weigher = self.chosen_weigher
        if self.votes is not None and not self.is_knn:
            raise UsageError("--votes is for --model knn; got --model votes")
        if self.select is not None and not hasattr(_make_default(weigher), "n_features_to_select"):
            raise UsageError("--select needs a --weigher that ranks features, such as relieff or nca")
        if self.strategy is not None and weigher is not Weigher.SimbaMBIW:
            raise UsageError("--strategy is for --weigher simbambiw")
        if (self.tasks is not None or self.evaluations is not None) and weigher is not Weigher.EvolutionaryWeigher:
            raise UsageError("--tasks and --evaluations are for --weigher evolution")
        if self.tasks is not None:
            check_known_tasks(self.tasks)


def check_known_tasks(tasks: str) -> str:
    """Return the tasks of an evolutionary search in capitals. Raise `UsageError` if one is unknown or repeated."""
    parts = [part.strip().upper() for part in tasks.split("+")]
    strange = [part for part in parts if part not in TASKS]
    if strange or len(set(parts)) < len(parts):
        raise UsageError(
            f"--tasks must be some of {', '.join(TASKS)}, each once and joined by +, for example IS+FS; got '{tasks}'"
        )
    return "+".join(parts)


def make_model(options: ModelOptions, table: TableOptions, common: LearningOptions, *, numeric: bool) -> Any:
    """Return an unfitted `TableClassifier`, or a `TableRegressor` for a numeric target."""
    from .. import models

    k, weigher = options.n_neighbors, _make_weigher(options, common, numeric)
    inner: Any
    if options.is_knn:
        inner = models.WeightedKNeighborsRegressor if numeric else models.WeightedKNeighborsClassifier
        inner = inner(k, weigher, weights=options.votes or "uniform", n_jobs=common.jobs)
    else:
        inner = models.LearnedVotesRegressor if numeric else models.LearnedVotesClassifier
        chosen = "auto" if options.weigher is None else weigher
        inner = inner("auto" if k is None else k, chosen, random_state=common.seed, n_jobs=common.jobs)
    kind = models.TableRegressor if numeric else models.TableClassifier
    missing = "distance" if options.is_knn else "indicator"
    return kind(inner, options.chosen_scale, missing=missing, keep=table.keep or [], drop=table.drop or [])


def _make_default(weigher: Weigher | None) -> Any:
    """Return a weigher as its class makes it by default, or None for none."""
    from .. import weighers

    return None if weigher is None or weigher is Weigher.none else getattr(weighers, weigher.name)()


def _make_weigher(options: ModelOptions, common: LearningOptions, numeric: bool) -> Any:
    """Return the weigher, or None for none."""
    from ..exceptions import InvalidDataError
    from ..weighers import RReliefF

    name = options.chosen_weigher
    made = RReliefF() if numeric and name is Weigher.ReliefF else _make_default(name)
    if made is None:
        return None
    known = made.get_params(deep=False)
    if numeric and not isinstance(made, RReliefF) and "target_type" not in known:
        raise InvalidDataError(f"'{name}' needs classes, and the target is numeric: use relieff, nca or none")
    wanted: dict[str, Any] = {
        "random_state": common.seed,
        "n_jobs": common.jobs,
        "n_features_to_select": options.select,
    }
    if name is Weigher.SimbaMBIW:
        wanted["strategy"] = options.strategy
    if name is Weigher.EvolutionaryWeigher:
        n = options.evaluations or 10_000
        wanted |= {"tasks": check_known_tasks(options.tasks or "IS+FW"), "max_evaluations": n}
        wanted["population_size"] = max(4, min(100, n))
    return made.set_params(**{key: value for key, value in wanted.items() if key in known and value is not None})
