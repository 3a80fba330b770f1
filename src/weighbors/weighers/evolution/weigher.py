"""The estimator around the search: all 15 combinations of selection and weighting in one class."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..._typing import BoolArray, FloatArray, IndexArray
from ..._validation import TableCoder, TakesTables, check_labels, require_labels
from ...engine.population import CACHE_BYTES
from ...exceptions import InvalidDataError
from ...weights import fingerprint
from .._base import kept_part, require_fitted_rows
from .._instances import densified
from ..sampler import InstanceSampler
from .assemble import Parts, assembled
from .lock import held
from .pareto import ParetoSearch
from .results import Answer, fittest, front_frame, warn_of_lonely
from .run import Progress

__all__ = ["EvolutionaryWeigher"]


class EvolutionaryWeigher(TakesTables, SelectorMixin, BaseEstimator):
    """Select and weigh instances and features by an evolutionary search, in any combination.

    Individuals hold a bit and a weight per instance and per feature. Under
    d² = v_x² Σ w_j² (q_j − x_j)² over the selected features and instances, each training row is
    classified by its nearest selected neighbour, itself left out; the fitness adds what was left out:
    F = α_a · acc + α_i (1 − f_i) + α_f (1 − f_f). Weights evolve by differential evolution, bits by
    CHC's half-uniform crossover with incest prevention and restarts.

    Parameters
    ----------
    tasks : str or sequence of str, default="IS+FS"
        Any of "IS" (instance selection), "FS" (feature selection), "IW" (instance weighting) and "FW"
        (feature weighting), joined by "+".
    fitness : {"accuracy", "g_mean"} or callable, default="accuracy"
        acc: the share of right answers; the geometric mean of the recalls, for imbalanced data; or a
        function of (y_true, y_pred), larger for better.
    objective : {"single", "pareto"}, default="single"
        "pareto": several goals at once by NSGA-II; ``pareto_front_`` holds all trade-offs, and the knee
        is the answer until `select` is called.
    goals : sequence of {"error", "instances", "features", "margins"} or None, default=None
        With "pareto". None: the error and the shares kept of what is selected. "margins" are the class
        margins θ_c of paper 001, one goal per class, for FS and FW.
    margin_rows : int or None, default=2000
        Rows whose margins are measured, against all rows; a larger table has so many drawn, equally many of
        each class, once per search, and their sum is scaled to the size of the class. None: all. An
        evaluation costs ``margin_rows`` × n_samples distances.
    alphas : (float, float, float) or None, default=None
        α_a, α_i, α_f. None: the paper's, (.5, .25, .25) with IS and FS, (.5, .5, 0) with IS only,
        (.5, 0, .5) with FS only, (1, 0, 0) without selection.
    n_neighbors : int, default=1
        Neighbours that vote in the fitness.
    per_class : bool, default=False
        One vector of feature weights per class of the stored instance, instead of one for all.
    estimator : classifier or None, default=None
        Takes the place of the nearest neighbour, cross-validated: feature weights multiply columns, and
        instances of scale v get ``sample_weight`` 1 − v. Categories come to it as codes.
    cv : int, default=3
        Folds of ``estimator``.
    undersample : bool or float, default=False
        Draw from larger classes at random before the search: True until all are as small as the smallest,
        r in (0, 1] until the smallest is r times as large as any.
    population_size : int, default=100
        At least 4.
    max_evaluations : int, default=10000
        The first population counts.
    de_factor, crossover_rate : float, default=0.8, 0.9
        F and CR of differential evolution.
    incest_prevention, restart : bool, default=True
        CHC's threshold on crossing, and its cataclysm.
    time_limit : float or None, default=None
        Seconds; the generation under way is finished.
    n_iter_no_change : int or None, default=None
        Stop after so many generations without a better best; with "pareto", without a change of the
        front.
    checkpoint : path or None, default=None
        File that keeps the search. Written whole or not at all. One search at a time: another one that
        names it meanwhile is refused.
    checkpoint_seconds : float, default=5
        Least time between two checkpoints; 0: every generation.
    resume : bool, default=False
        Continue from the checkpoint if it is there. A file of other data or settings is refused.
        Without ``resume`` an existing file is never overwritten.
    callback : callable or None, default=None
        Called with a `Progress` after every generation; a true answer ends the search.
    verbose : bool, default=False
        A progress bar on stderr.
    cache_bytes : int, default=268435456
        Neighbour lists (IS alone) or distances (IW without FW and FS) that may be kept. ``plan_`` says
        what is.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        As in `WeightedKNeighborsClassifier`.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    feature_support_ : bool ndarray of shape (n_features,)
    instance_support_ : bool ndarray of shape (n_samples,)
    sample_indices_ : ndarray
        Rows that are kept.
    feature_weights_ : ndarray of shape (n_features,)
        w; all ones without FW, the mean over the classes with ``per_class``.
    class_feature_weights_ : ndarray of shape (n_classes, n_features)
        With ``per_class``.
    instance_scales_ : ndarray of shape (n_samples,)
        v: high means less relevant. All ones without IW.
    fitness_, performance_, reduction_ : float
        F and acc of the answer on the training rows; the share of the table that is gone.
    weights_ : Weights
        For `WeightedKNeighborsClassifier`.
    pareto_front_ : DataFrame
        With ``objective="pareto"``: one row per trade-off, none of them dominated.
    selected_ : int
        Row of ``pareto_front_`` in use.
    history_ : DataFrame
        One row per generation.
    n_evaluations_, n_iter_ : int
    stop_reason_ : str
        "max_evaluations", "time_limit", "n_iter_no_change", "callback", "converged" or "interrupted".
    plan_ : PopulationPlan or None
        How evaluations ran. None with ``estimator``.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Same seed, same result, for every number of threads, and also after a resume. Ctrl-C gives the best
    so far, with a warning. A class of one instance can never be right when it is left out; G-mean leaves
    such classes out, with a warning. A missing value is at the feature's full range from everything.

    References
    ----------
    .. [1] J. Pérez-Rodríguez, A. G. Arroyo-Peña, N. García-Pedrajas, "Simultaneous instance and feature
       selection and weighting using evolutionary computation: Proposal and study", Applied Soft
       Computing 37, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import EvolutionaryWeigher, WeightedKNeighborsClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> search = EvolutionaryWeigher("IS+FS", max_evaluations=3000, random_state=0).fit(X[::2], y[::2])
    >>> X_small, y_small = search.reduce(X[::2], y[::2])
    >>> X_small.shape[0] < 30, X_small.shape[1] < 10
    (True, True)
    >>> model = WeightedKNeighborsClassifier(1, weigher=search.weights_).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.85
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "tasks": [str, "array-like"],
        "fitness": [StrOptions({"accuracy", "g_mean"}), callable],
        "objective": [StrOptions({"single", "pareto"})],
        "goals": [None, str, "array-like"],
        "margin_rows": [None, Interval(Integral, 1, None, closed="left")],
        "alphas": [None, "array-like"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "per_class": ["boolean"],
        "estimator": [None, HasMethods(["fit", "predict", "get_params"])],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "undersample": ["boolean", Interval(Real, 0, 1, closed="right")],
        "population_size": [Interval(Integral, 4, None, closed="left")],
        "max_evaluations": [Interval(Integral, 1, None, closed="left")],
        "de_factor": [Interval(Real, 0, 2, closed="right")],
        "crossover_rate": [Interval(Real, 0, 1, closed="both")],
        "incest_prevention": ["boolean"],
        "restart": ["boolean"],
        "time_limit": [None, Interval(Real, 0, None, closed="neither")],
        "n_iter_no_change": [None, Interval(Integral, 1, None, closed="left")],
        "checkpoint": [None, str, HasMethods(["__fspath__"])],
        "checkpoint_seconds": [Interval(Real, 0, None, closed="left")],
        "resume": ["boolean"],
        "callback": [None, callable],
        "verbose": ["verbose"],
        "cache_bytes": [Interval(Integral, 0, None, closed="left")],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        tasks: Any = "IS+FS",
        fitness: Any = "accuracy",
        *,
        objective: str = "single",
        goals: Any = None,
        margin_rows: int | None = 2000,
        alphas: Any = None,
        n_neighbors: int = 1,
        per_class: bool = False,
        estimator: Any = None,
        cv: int = 3,
        undersample: bool | float = False,
        population_size: int = 100,
        max_evaluations: int = 10_000,
        de_factor: float = 0.8,
        crossover_rate: float = 0.9,
        incest_prevention: bool = True,
        restart: bool = True,
        time_limit: float | None = None,
        n_iter_no_change: int | None = None,
        checkpoint: Any = None,
        checkpoint_seconds: float = 5.0,
        resume: bool = False,
        callback: Callable[[Progress], Any] | None = None,
        verbose: bool = False,
        cache_bytes: int = CACHE_BYTES,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.tasks = tasks
        self.fitness = fitness
        self.objective = objective
        self.goals = goals
        self.margin_rows = margin_rows
        self.alphas = alphas
        self.n_neighbors = n_neighbors
        self.per_class = per_class
        self.estimator = estimator
        self.cv = cv
        self.undersample = undersample
        self.population_size = population_size
        self.max_evaluations = max_evaluations
        self.de_factor = de_factor
        self.crossover_rate = crossover_rate
        self.incest_prevention = incest_prevention
        self.restart = restart
        self.time_limit = time_limit
        self.n_iter_no_change = n_iter_no_change
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume
        self.callback = callback
        self.verbose = verbose
        self.cache_bytes = cache_bytes
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> EvolutionaryWeigher:
        """Search.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Sparse rows become dense while they fit 2 GiB.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        X, codes = self._open(X, y)
        with held(self.checkpoint):
            parts = assembled(self, X, codes, self.classes_, self._coder.nominal_of(X))
            parts.run.drive()
        self._publish(parts, X)
        return self

    def _open(self, X: Any, y: Any) -> tuple[FloatArray, IndexArray]:
        require_labels(self, y)
        self._coder = TableCoder(self.categorical_features)
        rows = densified(self._coder.fit_transform(self, X), type(self).__name__)
        self.classes_, codes = check_labels(y)
        check_consistent_length(rows, codes)
        warn_of_lonely(self.classes_, codes)
        return rows, codes

    def _publish(self, parts: Parts, X: FloatArray) -> None:
        import pandas as pd

        for name in ("pareto_front_", "selected_", "_front", "class_feature_weights_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        run, fitness, search = parts.run, parts.fitness, parts.run.search
        self.plan_ = getattr(fitness.predictor, "plan", None)
        self.history_ = pd.DataFrame(run.history)
        self.n_evaluations_, self.n_iter_, self.stop_reason_ = search.evaluations, search.generation, run.reason
        self._genome, self._rows, self._n = fitness.genome, parts.rows, len(X)
        self._fingerprint = fingerprint(X)
        if parts.goals is not None:
            assert isinstance(search, ParetoSearch)
            self.pareto_front_, self._front, chosen = front_frame(search, parts.goals, fitness, X.shape)
            self.select(chosen)
            return
        best = search.population.take([fittest(search, fitness.genome)])
        judged = fitness(best)
        self.fitness_, self.performance_ = float(judged.fitness[0]), float(judged.performance[0])
        self._become(Answer.of(best, self._genome, self._rows, self._n))

    def select(self, index: int) -> EvolutionaryWeigher:
        """Use another row of ``pareto_front_``.

        Parameters
        ----------
        index : int

        Returns
        -------
        self
            With supports, weights and figures of that row.
        """
        check_is_fitted(self, "history_")
        if not hasattr(self, "pareto_front_"):
            raise InvalidDataError("select needs a front: fit with objective='pareto'")
        if not isinstance(index, Integral) or not 0 <= index < len(self.pareto_front_):
            raise InvalidDataError(
                f"index must be a row of pareto_front_, 0 to {len(self.pareto_front_) - 1}; got {index!r}"
            )
        row = self.pareto_front_.iloc[int(index)]
        self.selected_, self.fitness_, self.performance_ = int(index), float(row["fitness"]), float(row["performance"])
        self._become(Answer.of(self._front.take([int(index)]), self._genome, self._rows, self._n))
        return self

    def _become(self, answer: Answer) -> None:
        classes, names = self.classes_ if self.per_class else None, getattr(self, "feature_names_in_", None)
        self.instance_support_, self.feature_support_ = answer.instance_support, answer.feature_support
        self.sample_indices_ = np.flatnonzero(answer.instance_support)
        self.instance_scales_, self.feature_weights_ = answer.instance_scales, answer.feature_weights.mean(axis=0)
        if self.per_class:
            self.class_feature_weights_ = answer.feature_weights
        self.reduction_ = answer.reduction
        self.weights_ = answer.weights(self._genome.tasks, classes, names, self._fingerprint)

    def reduce(self, X: Any, y: Any = None) -> Any:
        """The rows and columns this fit kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that were fitted.
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        X_reduced, y_reduced
            In the container they came in; X_reduced alone without ``y``.

        Raises
        ------
        ForeignWeightsError
            Where X holds other rows than fit saw.
        """
        check_is_fitted(self, "feature_support_")
        coded = densified(self._coder.transform(self, X), type(self).__name__)
        require_fitted_rows(coded, self._fingerprint)
        return kept_part(X, y, self.sample_indices_, self.feature_support_)

    def as_sampler(self) -> InstanceSampler:
        """A sampler for imbalanced-learn's pipelines: ``fit_resample`` keeps the selected rows.

        Those pipelines refuse an estimator that also has ``transform``, so this is one of its own. It
        fits a clone of this weigher, without its checkpoint: that one belongs to this fit.
        """
        return InstanceSampler(clone(self).set_params(checkpoint=None, resume=False))

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self, "feature_support_")
        support: BoolArray = self.feature_support_
        return support

    @property
    def feature_importances_(self) -> FloatArray:
        """The feature weights, 0 for features that are not selected."""
        check_is_fitted(self, "feature_support_")
        importances: FloatArray = np.where(self.feature_support_, self.feature_weights_, 0.0)
        return importances
