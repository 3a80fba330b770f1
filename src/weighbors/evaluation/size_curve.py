"""How many features are enough? Score on rows left out, and stability, for every number of features."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import get_scorer
from sklearn.utils.validation import check_consistent_length

from .._checks import whole_number
from .._display.status_line import ProgressBar
from .._random import seed_sequence
from .._typing import AnyArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables.frames import as_pandas
from ..tables.groups import check_groups
from ..tables.labels import as_column
from ..tables.validation import TableCoder
from ..weighers.permutations import choose_permuter
from ..weighers.redundancy import FeatureSimilarity, find_groups
from .folds import Split, make_folds
from .redundancy import ColumnNames
from .selection_result import SelectionCurve, SelectionRun
from .selection_runs import CurveTable, CurveTask, measure_run, rank_on, summarize_runs
from .targets import decide_target_type, expected_target, told_model

#: Up to this many features, every number of them is measured by default.
_FEW = 20
#: Of more features, so many numbers of them are measured by default.
_SIZES = 24


def selection_curve(
    weighers: Any,
    X: Any,
    y: Any,
    cv: Any = 5,
    groups: Any = None,
    *,
    n_repeats: int = 10,
    sizes: Any = None,
    estimator: Any = None,
    scoring: Any = None,
    stand_ins: Any = "auto",
    n_shuffles: int = 10,
    level: float = 0.95,
    target_type: str = "auto",
    categorical_features: Any = "from_dtype",
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = False,
) -> SelectionCurve:
    """Measure, for every number of features, how well the best features predict and how stable the list is.

    In every fold the weigher ranks the features by the training rows. For every size k a model is fitted to the
    k best features of the training rows, and scored on the rows left out, which neither the ranking nor the model has
    seen. The lists of the folds are compared with each other. The same is done with shuffled labels.

    Parameters
    ----------
    weighers : estimator, callable, list or mapping of names to these
        What ranks the features, one or several: anything that `stability_curve` takes. All of them get the same folds.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, or a numeric target.
    cv : int, splitter or iterable of (train, test), default=5
        As in `stability_curve`.
    groups : array-like of shape (n_samples,), optional
        Rows of one group, for example the samples of one patient, stay together. Labels are shuffled between
        whole groups, or within groups if their rows have different labels.
    n_repeats : int, default=10
        Number of repetitions of the folds, if ``cv`` is a number. Otherwise it is not used.
    sizes : array-like of int, optional
        The numbers of features. By default all numbers up to 20 features, otherwise 24 numbers from 1 to all
        features, in equal ratios.
    estimator : estimator, optional
        What predicts from the selected features. By default the 5 nearest neighbours, of numbers divided by their
        standard deviation in the training rows; categories and missing values are allowed.
    scoring : str or callable, optional
        A score of scikit-learn. By default accuracy, or R² for a numeric target.
    stand_ins : "auto", array-like of shape (n_features,), RedundancyGroups or None, default="auto"
        Features that stand in for each other, for the stability with stand-ins. "auto": `redundancy_groups`
        of all rows, which does not use ``y``. None: this stability is not computed.
    n_shuffles : int, default=10
        How often labels are shuffled. Each time, one repetition of the folds is measured.
    level : float, default=0.95
        Level of the intervals of the score.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        As in `stability_curve`.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns that hold categories, for the nearest neighbours and the stand-ins. Weighers have their own parameter.
    random_state : int, RandomState or None, default=0
        Seed of folds, shuffles and ties, and of weighers and estimator if their ``random_state`` is None.
    n_jobs : int or None, default=None
        Number of runs that are measured at the same time, in threads. Results do not depend on it. For a weigher that
        is mostly Python code, ``joblib.parallel_config("loky")`` chooses worker processes.
    progress : bool or None, default=False
        Whether to show a progress bar on stderr. None means that it is shown if stderr is a terminal.

    Returns
    -------
    SelectionCurve
        It prints as a table. ``choices()`` has the numbers of features to choose, ``features()`` the list, ``frame()``
        all figures, and ``plot()`` draws them.

    Notes
    -----
    The standard error of a mean score is √((1/J + n_test/n_train) s²) for J folds with variance s² (Nadeau and
    Bengio): folds share rows, so that s²/J would be too small. Intervals use the t distribution with J − 1 degrees of
    freedom.

    Lists of one repetition are compared with each other, and repetitions are averaged. Features with equal weights
    are put in random order, and a feature whose weight is NaN is never selected. Otherwise the order of the columns
    would decide, which looks stable and is not.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    .. [2] C. Ambroise, G. J. McLachlan, "Selection bias in gene extraction on the basis of microarray gene-expression
       data", PNAS 99, 2002.
    .. [3] L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and regression trees", 1984 (one standard
       error).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import ReliefF
    >>> from weighbors.evaluation import selection_curve
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> curve = selection_curve(ReliefF(), X, y, n_repeats=2, n_shuffles=1, sizes=[1, 2, 5, 13])
    >>> curve.frame()[["size", "score", "stability"]].round(2)
       size  score  stability
    0     1   0.68       0.57
    1     2   0.86       0.70
    2     5   0.96       0.76
    3    13   0.95        NaN
    """
    n_shuffles = whole_number(n_shuffles, "n_shuffles", least=0)
    if isinstance(level, bool) or not isinstance(level, (float, int)) or not 0 < level < 1:
        raise InvalidDataError(f"level must lie between 0 and 1; got {level!r}")
    y = as_column(y)
    table, named, names = _prepare(weighers, X, y, sizes, estimator, scoring, target_type, categorical_features)
    check_consistent_length(table.X, y)
    groups = None if groups is None else check_groups(groups, len(y))
    # Folds, fits, shuffles and groups have separate seeds, so that a change of one does not change the others.
    fold_seed, run_seed, shuffle_seed, group_seed = seed_sequence(random_state).spawn(4)
    counted = isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)
    cv = cv if counted or isinstance(cv, str) or hasattr(cv, "split") or not isinstance(cv, Iterable) else list(cv)
    repetitions = make_folds(
        cv, table.X, y, groups, n_repeats=n_repeats if counted else 1, seeds=fold_seed, numeric=table.numeric
    )
    _check_folds(repetitions, y, table.numeric)
    same = _stand_in_groups(stand_ins, table, group_seed, n_jobs)
    plan = [CurveTask(y, fold, r, shuffled=False) for r, repetition in enumerate(repetitions) for fold in repetition]
    plan += _plan_shuffles(table, y, cv, groups, n_shuffles, shuffle_seed)
    runs, rankings = _measure(table, named, y, plan, run_seed, n_jobs, progress)
    ratio = float(np.mean([len(test) / len(train) for repetition in repetitions for train, test in repetition]))
    parts = [summarize_runs(name, table, runs[name], same, ratio=ratio, level=float(level)) for name in named]
    real = {name: [run for run in own if not run.shuffled] for name, own in runs.items()}
    return SelectionCurve(
        pd.concat(parts, ignore_index=True),
        table.sizes,
        real,
        np.array([task.part for task in plan if not task.shuffled]),
        rankings,
        same,
        names,
        _score_name(scoring, table.numeric),
        _describe(table, repetitions, n_shuffles),
        float(level),
        ratio,
    )


def _prepare(
    weighers: Any,
    X: Any,
    y: AnyArray,
    sizes: Any,
    estimator: Any,
    scoring: Any,
    target_type: str,
    categorical_features: Any,
) -> tuple[CurveTable, dict[str, Any], tuple[str, ...]]:
    """Return the coded table, the weighers by name, and the names of the features. See `selection_curve`."""
    X = as_pandas(X)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    X = X if hasattr(X, "shape") else np.asarray(X)
    named = _name_weighers(weighers)
    # A weigher or estimator that takes only one kind of target decides what the target is.
    wanted = [kind for kind in map(expected_target, [*named.values(), estimator]) if kind]
    kind = decide_target_type(y, target_type, wanted[0] if wanted else None)
    coder = TableCoder(categorical_features)
    rows = coder.fit_transform(ColumnNames(), X)
    table = CurveTable(
        X,
        rows,
        coder.nominal,
        _check_sizes(sizes, rows.shape[1]),
        None if estimator is None else told_model(estimator, y, kind),
        get_scorer(scoring or ("r2" if kind == "numeric" else "accuracy")),
        kind == "numeric",
        1.0 if scoring is None else np.inf,
    )
    told = {name: told_model(weigher, y, kind) for name, weigher in named.items()}
    return table, told, tuple(names or [f"x{j}" for j in range(rows.shape[1])])


def _name_weighers(weighers: Any) -> dict[str, Any]:
    """Return the weighers by name. Without names they are called by their class, with a number if it repeats."""
    if isinstance(weighers, Mapping):
        if not weighers:
            raise InvalidDataError("weighers is empty: give one or several weighers")
        return {str(name): weigher for name, weigher in weighers.items()}
    several = list(weighers) if isinstance(weighers, (list, tuple)) else [weighers]
    if not several:
        raise InvalidDataError("weighers is empty: give one or several weighers")
    named: dict[str, Any] = {}
    for weigher in several:
        if not hasattr(weigher, "fit") and not callable(weigher):
            raise InvalidDataError(
                f"weighers must be estimators, functions of X and y, a list of these, or a mapping of names to these; "
                f"got {weigher!r}"
            )
        last = weigher.steps[-1][1] if getattr(weigher, "steps", None) else weigher
        name = getattr(last, "__name__", type(last).__name__)
        taken = sum(other == name or other.startswith(f"{name} ") for other in named)
        named[f"{name} {taken + 1}" if taken else name] = weigher
    return named


def _check_sizes(sizes: Any, d: int) -> IndexArray:
    """Return sizes as a sorted array without repetitions. ``d`` is the number of features."""
    if sizes is None:
        if d <= _FEW:
            return np.arange(1, d + 1)
        return np.unique(np.round(np.geomspace(1, d, _SIZES)).astype(np.int64))
    chosen = np.unique(np.asarray(sizes))
    if chosen.dtype.kind not in "iu" or not len(chosen) or chosen[0] < 1 or chosen[-1] > d:
        raise InvalidDataError(f"sizes must be whole numbers from 1 to {d}, the number of features; got {sizes!r}")
    return chosen.astype(np.int64)


def _score_name(scoring: Any, numeric: bool) -> str:
    """Return how the score is called in texts and pictures."""
    if scoring is None:
        return "R²" if numeric else "accuracy"
    return scoring if isinstance(scoring, str) else "score"


def _describe(table: CurveTable, repetitions: list[list[Split]], n_shuffles: int) -> str:
    """Return the rows, folds and shuffles in words."""
    folds = (
        f"{len(repetitions)} × {len(repetitions[0])} folds" if len(repetitions) > 1 else f"{len(repetitions[0])} folds"
    )
    shuffles = f"labels shuffled {n_shuffles} times" if n_shuffles > 1 else "labels shuffled once"
    shuffles = shuffles if n_shuffles else "no shuffled labels"
    return f"{table.X.shape[0]} rows, {table.X.shape[1]} features, {folds}, {shuffles}"


def _check_folds(repetitions: list[list[Split]], y: AnyArray, numeric: bool) -> None:
    """Raise InvalidDataError if the training rows of a fold have only one class, or one value of a numeric target."""
    for train, _ in (fold for repetition in repetitions for fold in repetition):
        if len(np.unique(y[train])) < 2:
            what = "one value of the target" if numeric else f"the class {y[train][0]!s} only"
            raise InvalidDataError(
                f"the training rows of a fold have {what}, so that nothing can be learned. Use fewer folds, or drop "
                "classes of very few rows"
            )


def _stand_in_groups(
    stand_ins: Any, table: CurveTable, seed: np.random.SeedSequence, n_jobs: int | None
) -> IndexArray | None:
    """Return the number of the group of each feature, or None. See `selection_curve` for ``stand_ins``."""
    if stand_ins is None:
        return None
    if isinstance(stand_ins, str):
        if stand_ins != "auto":
            raise InvalidDataError(
                f"stand_ins must be 'auto', one group number per feature, or None; got {stand_ins!r}"
            )
        return find_groups(FeatureSimilarity(table.rows, table.nominal), seeds=seed, n_jobs=n_jobs).groups
    groups = np.asarray(getattr(stand_ins, "groups", stand_ins))
    if groups.shape != (table.X.shape[1],):
        raise InvalidDataError(
            f"stand_ins needs one group number per feature ({table.X.shape[1]}); got shape {groups.shape}"
        )
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def _plan_shuffles(
    table: CurveTable, y: AnyArray, cv: Any, groups: Any, n_shuffles: int, seed: np.random.SeedSequence
) -> list[CurveTask]:
    """Return the folds of the shuffled labels: one repetition per shuffle. See `selection_curve` for the parameters."""
    permuter = choose_permuter(y, numeric=table.numeric, groups=groups)
    tasks = []
    for number, child in enumerate(seed.spawn(n_shuffles)):
        label_seed, fold_seed = child.spawn(2)
        labels = permuter.draw(np.random.default_rng(label_seed))
        folds = make_folds(cv, table.X, labels, groups, seeds=fold_seed, numeric=table.numeric)[0]
        tasks += [CurveTask(labels, fold, number, shuffled=True) for fold in folds]
    return tasks


def _measure(
    table: CurveTable,
    weighers: dict[str, Any],
    y: AnyArray,
    plan: list[CurveTask],
    seed: np.random.SeedSequence,
    n_jobs: int | None,
    progress: bool | None,
) -> tuple[dict[str, list[SelectionRun]], dict[str, IndexArray]]:
    """Measure every task with every weigher, and rank the features by all rows.

    Return the runs of each weigher in the order of ``plan``, and its ranking by all rows.
    """
    from joblib import Parallel, delayed

    # Every weigher gets the same seeds, so that its results do not depend on the other weighers. A seed sequence
    # counts its children, so every task needs an object of its own.
    keys = [child.spawn_key for child in seed.spawn(len(plan) + 1)]
    jobs = []
    for weigher in weighers.values():
        own, *children = (np.random.SeedSequence(seed.entropy, spawn_key=key) for key in keys)
        jobs.append(delayed(rank_on)(table, weigher, y, np.arange(len(y)), own))
        jobs += [delayed(measure_run)(table, weigher, task, child) for task, child in zip(plan, children, strict=True)]
    found = []
    # Threads, since the time goes into compiled code that releases the interpreter lock: worker processes took three
    # times the processor time, for imports and for copies of the table. Filters of warnings belong to the process, and
    # runs in several threads may restore them in another order than they set them; here they are restored at the end.
    with warnings.catch_warnings(), ProgressBar(len(jobs), 0, wanted=progress, unit="runs") as bar:
        for run in Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(jobs):
            found.append(run)
            bar.tell("done")
    width = len(plan) + 1
    by_name = {name: found[i * width : (i + 1) * width] for i, name in enumerate(weighers)}
    return {name: part[1:] for name, part in by_name.items()}, {name: part[0].order for name, part in by_name.items()}
