"""The estimator of the evolutionary search, for all 15 combinations of selection and weighting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._typing import AnyArray, FloatArray
from ..._warnings import warn
from ...exceptions import InvalidDataError, LonelyClassWarning
from ...metrics import reduction_of
from ...tables.coded import read_queries, read_training, takes_coded_tables
from ...tables.frame_arrays import FrameAttribute
from ...tables.targets import TARGET_TYPES
from ...tables.validation import TakesTables
from ...weights import Weights, fingerprint
from .._reduction import TableReducer
from ..base import metric_weights, require_fitted_rows
from ..rows import to_dense
from .checkpoint import hold_checkpoint
from .fit import Progress, Run, build_search, warn_of_poor_result
from .fitness import NUMBER_SCORES, SCORES
from .genome import Population
from .pareto import GOALS, ParetoSearch, front_frame


@dataclass(eq=False, repr=False)
class EvolutionaryWeigher(TakesTables, TableReducer, BaseEstimator):
    """Select and weigh instances and features by an evolutionary search, in any combination.

    An individual holds a bit for each instance and feature to select, and a weight for each instance and
    feature to weigh. Each training row is classified by its nearest selected instance, without the row
    itself. The distance is d² = v_x² Σ w_j² (q_j − x_j)² over the selected features. The fitness is
    F = α_a · acc + α_i (1 − f_i) + α_f (1 − f_f): acc is the accuracy, f_i and f_f are the shares of
    instances and features kept. Weights evolve by differential evolution, bits by half-uniform crossover.

    If the target is numeric, the prediction of a row is the target of its nearest selected instance, and acc is R²,
    max(0, 1 − Σ(y − ŷ)² / Σ(y − ȳ)²).

    Parameters
    ----------
    tasks : str or sequence of str, default="IS+FW"
        Any of "IS" (instance selection), "FS" (feature selection), "IW" (instance weighting) and "FW"
        (feature weighting), joined by "+". "IS+FW" has the highest mean score of all combinations on the 83 problems
        of the paper's study that were run again (:doc:`/papers/ifsw`). "IS+FS" makes the smallest tables, and is less
        accurate.
    fitness : str or callable, default="accuracy"
        The score acc. "accuracy": the share of right predictions, or R² if the target is numeric. "g_mean": the
        geometric mean of the recalls, for imbalanced data. Other names are scikit-learn's scores of predicted
        labels: "balanced_accuracy", "matthews_corrcoef", and f1, precision, recall and jaccard with their averages,
        such as "f1_macro". A function takes (y_true, y_pred) and returns a larger number for a better result.
        For numeric targets: "r2", "explained_variance", "d2_absolute_error_score", "neg_mean_squared_error",
        "neg_root_mean_squared_error", "neg_mean_absolute_error", "neg_median_absolute_error", or a function. So that
        the score can be added to the shares, an error is compared with that of the best constant prediction (the
        mean, or the median for absolute errors): acc = max(0, 1 − error / error of the constant).
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": floats are a numeric target if one of them is no whole number or if many differ;
        all else is classes.
    objective : "single", "pareto" or sequence of {"error", "instances", "features", "margins"}, default="single"
        "single": maximise F. "pareto": minimise several goals at once by NSGA-II, namely the error 1 − acc, and the
        shares of instances and features kept if the tasks select them. Names choose other goals. ``pareto_front_``
        holds all trade-offs. The result is the knee of the front until `select` is called.
        "margins" are the class margins θ_c of paper 001, one goal per class. They need classes, and tasks without IS
        and IW. In tables of more than 2000 rows the margins of about 2000 rows are measured, equally many of each
        class, which are drawn once per search; their neighbours are sought among all rows.
    alphas : (float, float, float) or None, default=None
        α_a, α_i, α_f. None: the values of the paper, (.5, .25, .25) with IS and FS, (.5, .5, 0) with IS
        only, (.5, 0, .5) with FS only, (1, 0, 0) without selection.
    n_neighbors : int, default=1
        Number of neighbours that vote in the fitness, or whose targets are averaged.
    per_class : bool, default=False
        Whether each class has its own vector of feature weights. The class is that of the stored instance. Only
        for classes.
    estimator : classifier, regressor or None, default=None
        Learner that replaces the nearest neighbour in the fitness, with cross-validation: a classifier, or a
        regressor if the target is numeric. Feature weights
        multiply columns, and instances of scale v get ``sample_weight`` 1 − v. Categories are passed as codes.
    cv : int, default=3
        Number of folds for ``estimator``.
    undersample : bool or float, default=False
        Draw rows of the larger classes at random before the search. True: all classes get the size of the
        smallest class. A number r in (0, 1]: no class is larger than the smallest class divided by r. Only for
        classes.
    population_size : int, default=100
        Number of individuals, at least 4.
    max_evaluations : int, default=10000
        Number of evaluations after which the search ends. The first population is included.
    keep_classes : bool, default=True
        With IS, every class keeps at least one row. False: a class may be lost, as in the paper. It has no effect
        on numeric targets.
    start : {"half", "spread"}, default="half"
        The first population. "half": each bit is 1 with probability ½, as in the paper. "spread": this probability
        increases from near 0 to near 1 over the individuals. The search then begins with small and large selections,
        and usually ends with a fitter one. Fronts always begin so.
    checkpoint : path or None, default=None
        File that stores the state of the search every few seconds, in atomic writes. If the file exists, the search
        continues from it, to the same result as without the interruption. A file of other data or settings is an
        error, and is never overwritten. If another search uses the same file at the same time, it gets an error.
    callback : callable or None, default=None
        Called with a `Progress` after every generation. If it returns a true value, the search ends, for example
        ``lambda progress: progress.seconds > 60``.
    verbose : bool, default=False
        Whether to show a progress bar on stderr.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        As in `WeightedKNeighborsClassifier`.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Number of threads. Results do not depend on it.

    Attributes
    ----------
    feature_support_ : bool ndarray of shape (n_features,)
        Features that are kept.
    instance_support_ : bool ndarray of shape (n_samples,)
        Rows that are kept.
    sample_indices_ : ndarray
        Row numbers of the rows that are kept.
    feature_weights_ : ndarray of shape (n_features,)
        Feature weights w: all ones without FW, the mean over the classes with ``per_class``.
    class_feature_weights_ : ndarray of shape (n_classes, n_features)
        Feature weights of each class. Only with ``per_class``.
    instance_scales_ : ndarray of shape (n_samples,)
        Instance scales v. A high scale means a less relevant instance. All ones without IW.
    fitness_, performance_, reduction_ : float
        F and acc of the result on the training rows, and the share of the table that is removed.
    weights_ : Weights
        Weights for `WeightedKNeighborsClassifier`, or for a regressor.
    pareto_front_ : DataFrame
        The trade-offs, one per row. No trade-off dominates another. Only with several goals.
    selected_ : int
        Row of ``pareto_front_`` that the other attributes describe.
    history_ : DataFrame
        History of the search, with one row per generation.
    n_evaluations_, n_iter_ : int
        Number of evaluations and of generations.
    stop_reason_ : str
        Why the search ended: "max_evaluations", "callback", "converged" or "interrupted".
    plan_ : PopulationMethod or None
        How evaluations were computed. None with ``estimator``.
    target_type_ : str
        "classes" or "numeric".
    classes_ : ndarray of shape (n_classes,)
        Only for classes.

    Notes
    -----
    The same seed gives the same result, for every number of threads and also after a resume. After Ctrl-C
    the result is the best individual found so far, with a warning. The row of a singleton class is always
    predicted wrong, since it is left out. So G-mean does not count singleton classes, and a warning names
    them. Another warning names the classes of which the result recognises no training row. The difference
    to a missing value is the full range of the feature.

    With a numeric target, a row whose only selected instance is itself is predicted by the mean ȳ of all rows, and
    so is a fold of ``estimator`` without training rows. Such a row adds as much to the errors as to those of the mean,
    and so earns nothing. R² of a single selected instance is 0 in any case, since no constant is better than ȳ.

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

    A numeric target: the distance between rows that differ in age, blood pressure and so on is to tell how a disease
    progresses, and the search finds which of the columns count.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = EvolutionaryWeigher("IS+FS", max_evaluations=3000, random_state=0).fit(X, y)
    >>> found.target_type_, found.performance_ > 0.2, found.reduction_ > 0.9
    ('numeric', True, True)
    """

    tasks: str | Sequence[str] = "IS+FW"
    fitness: str | Callable[[AnyArray, AnyArray], float] = "accuracy"
    _: KW_ONLY
    target_type: str = "auto"
    objective: str | Sequence[str] = "single"
    alphas: Sequence[float] | None = None
    n_neighbors: int = 1
    per_class: bool = False
    estimator: Any = None
    cv: int = 3
    undersample: bool | float = False
    population_size: int = 100
    max_evaluations: int = 10_000
    keep_classes: bool = True
    start: str = "half"
    checkpoint: Any = None
    callback: Callable[[Progress], Any] | None = None
    verbose: bool = False
    categorical_features: Any = "from_dtype"
    random_state: Any = None
    n_jobs: int | None = None

    _needs_scaled_columns = True  # wide columns would decide the distances
    _takes_numeric_targets = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tasks": [str, "array-like"],
        "fitness": [StrOptions({*SCORES, *NUMBER_SCORES}), callable],
        "target_type": [TARGET_TYPES],
        "objective": [StrOptions({"single", "pareto", *GOALS}), "array-like"],
        "alphas": [None, "array-like"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "per_class": ["boolean"],
        "estimator": [None, HasMethods(["fit", "predict", "get_params"])],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "undersample": ["boolean", Interval(Real, 0, 1, closed="right")],
        "population_size": [Interval(Integral, 4, None, closed="left")],
        "max_evaluations": [Interval(Integral, 1, None, closed="left")],
        "keep_classes": ["boolean"],
        "start": [StrOptions({"half", "spread"})],
        "checkpoint": [None, str, HasMethods(["__fspath__"])],
        "callback": [None, callable],
        "verbose": ["verbose"],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    history_ = FrameAttribute()
    pareto_front_ = FrameAttribute()

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any) -> EvolutionaryWeigher:
        """Run the search on a table and its target.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Sparse rows are converted to dense rows if these need at most 2 GiB.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        table = read_training(self, X, y, target_type=self.target_type)
        rows, target = to_dense(table.rows, type(self).__name__), table.target
        self._coder = table.coder
        self.target_type_ = target.type
        self.__dict__.pop("classes_", None)  # of an earlier fit
        if target.numbers is None:
            self.classes_ = target.classes
            singletons = target.classes[np.bincount(target.codes) == 1]
            if len(singletons):
                warn(
                    f"{len(singletons)} class(es) have one instance ({singletons[:5].tolist()}), which is always wrong "
                    "when it is left out; G-mean does not count them",
                    LonelyClassWarning,
                )
        # The lock is held until the search has ended, so that no other search writes to the checkpoint.
        with hold_checkpoint(self.checkpoint):
            run = build_search(self, rows, target, table.nominal)
            run.drive(self.callback, verbose=bool(self.verbose))
        self._publish(run, rows)
        return self

    def _publish(self, run: Run, X: FloatArray) -> None:
        """Set the attributes of the estimator after the search. ``X`` are the coded rows of the fit."""
        import pandas as pd

        del self.pareto_front_  # attributes of an earlier fit
        for name in ("selected_", "_front", "class_feature_weights_"):
            self.__dict__.pop(name, None)
        fitness, search = run.fitness, run.search
        self.plan_ = getattr(fitness.predictor, "method", None)
        self.history_ = pd.DataFrame(run.history)
        self.n_evaluations_, self.n_iter_, self.stop_reason_ = search.evaluations, search.generation, run.reason
        self._genome, self._rows, self._n, self._fingerprint = fitness.genome, run.rows, len(X), fingerprint(X)
        # An individual that selects nothing is no result, even if no other has a larger fitness.
        able = fitness.genome.find_able(search.population)
        if not len(able):
            raise InvalidDataError(
                "no individual selects an instance and a feature: the table is too small for this population. "
                "Use a larger population_size or more evaluations"
            )
        if isinstance(search, ParetoSearch) and run.goals is not None:
            self.pareto_front_, self._front, chosen = front_frame(search, run.goals, X.shape)
            self.select(chosen)
            best = self._front.take([chosen])
        else:
            best = search.population.take([able[np.argmax(search.fitness[able])]])
            judged = fitness(best)
            self._use(best, float(judged.fitness[0]), float(judged.performance[0]))
        warn_of_poor_result(fitness, best)

    def select(self, index: int) -> EvolutionaryWeigher:
        """Use another row of ``pareto_front_`` as the result.

        Parameters
        ----------
        index : int
            Number of the row.

        Returns
        -------
        self
            The attributes for support, weights, fitness and reduction are those of the row.
        """
        check_is_fitted(self, "history_")
        if not hasattr(self, "pareto_front_"):
            raise InvalidDataError("select needs a front: fit with objective='pareto'")
        if not isinstance(index, Integral) or not 0 <= index < len(self.pareto_front_):
            raise InvalidDataError(
                f"index must be a row of pareto_front_, 0 to {len(self.pareto_front_) - 1}; got {index!r}"
            )
        row = self.pareto_front_.iloc[int(index)]
        self.selected_ = int(index)
        self._use(self._front.take([int(index)]), float(row["fitness"]), float(row["performance"]))
        return self

    def _use(self, individual: Population, fitness: float, performance: float) -> None:
        """Set the attributes for fitness, support, weights and reduction from one individual.

        Rows that undersampling left out are not selected.
        """
        self.fitness_, self.performance_ = fitness, performance
        genome, features = self._genome, self._genome.feature_mask(individual)[0].copy()
        support, scales = np.zeros(self._n, dtype=bool), np.ones(self._n)
        support[self._rows] = genome.instance_mask(individual)[0]
        scales[self._rows] = genome.instance_scales(individual)[0]
        vectors = genome.feature_weights(individual)[0].copy()  # one for all classes, or one per class
        self.instance_support_, self.feature_support_ = support, features
        self.sample_indices_ = np.flatnonzero(support)
        self.instance_scales_, self.feature_weights_ = scales, vectors.mean(axis=0)
        if self.per_class:
            self.class_feature_weights_ = vectors
        # Paper 004, eq. 6.
        self.reduction_ = reduction_of(int(support.sum()), int(features.sum()), of=(self._n, len(features)))
        a: FloatArray | None = None
        if "FW" in genome.tasks:
            # A k-NN uses the squares of w. At least one selected feature must have a positive weight.
            a = np.array([metric_weights(row, features, square=True) for row in vectors])
        bound = not support.all() or "IW" in genome.tasks  # weights of rows belong to these rows
        self.weights_ = Weights(
            feature_weights=a if a is None or self.per_class else a[0],
            classes=self.classes_ if self.per_class else None,
            instance_scales=scales if "IW" in genome.tasks else None,
            feature_mask=features if "FS" in genome.tasks else None,
            instance_mask=None if support.all() else support,
            feature_names=getattr(self, "feature_names_in_", None),
            n_samples=self._n if bound else None,
            fingerprint=self._fingerprint if bound else None,
        )

    def _check_same_rows(self, X: Any) -> None:
        """Raise an error if ``X`` does not hold the rows of the fit."""
        require_fitted_rows(to_dense(read_queries(self, self._coder, X), type(self).__name__), self._fingerprint)

    def _how_to_select(self) -> str:
        """Return advice for a message: what to change so that `transform` drops columns."""
        return "Add FS to its tasks"

    @property
    def feature_importances_(self) -> FloatArray:
        """The feature weights, 0 for features that are not selected."""
        check_is_fitted(self, "feature_support_")
        importances: FloatArray = np.where(self.feature_support_, self.feature_weights_, 0.0)
        return importances
