"""Instance and feature selection and weighting: the 15 combinations of paper 004, and classical selectors."""

from __future__ import annotations

import os
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from .._random import generators
from ..datasets import data_directory, load_builtin, load_dataset
from ..evaluation import StudyData, StudyResults
from ..exceptions import MissingDependencyError
from ..models import WeightedKNeighborsClassifier
from ..stats import friedman, holm, iman_davenport, posthoc, wilcoxon
from ..stats.pairwise import wins
from ..weighers import DROP3, DROP5, FCNN, HMNEI, IB2, IB3, ICF, EvolutionaryWeigher
from ..weighers.evolution.fit import undersample_rows
from ..weights import Weights
from ._preset import Definition, Preset, Tables
from ._tables import find_tables

SEED = 0
NONE = "none"
UNDERSAMPLED = ", undersampled"
#: All 15 combinations of the four tasks: selection of instances or features (IS, FS), weighting of them (IW, FW).
COMBINATIONS = tuple("+".join(c) for size in range(1, 5) for c in combinations(("IS", "FS", "IW", "FW"), size))
KEEL = "D_keel_partitions"
# fmt: off
#: Standard problems, scored by accuracy: name and group of the data set. The first twelve have KEEL's own ten folds and
#: are repeated three times, as in the paper. The others are the smallest tables of D_uci (rows² × columns), with one
#: version of each table; of rows with missing cells, at least 70 must be left. Four more were named before the first
#: cell (yeast, titanic, cmc, flare) and not run for their time: they have more than 1000 rows.
STANDARD = dict.fromkeys((
    "iris", "haberman", "new-thyroid", "glass", "wine", "bupa", "ecoli", "cleveland", "monk-2", "wisconsin", "pima",
    "vehicle",
), KEEL) | dict.fromkeys((
    "appendicitis", "hayes-roth", "tae", "hepatitis", "post-operative", "zoo", "bridges-v1", "heart-statlog",
    "lymphography", "balance-scale", "led7digit", "autos", "saheart", "bands", "sonar", "solar-flare1",
    "breast-cancer-286", "mammographic", "ionosphere", "primary-tumor", "dermatology-358", "vote-435", "australian",
    "audiology", "wdbc", "movement_libras", "vowel", "tic-tac-toe",
), "D_uci")
#: Two-class problems, scored by G-mean: the smallest of D_imbalanced in which the smaller class has at least ten rows,
#: so that each of ten folds has one of them. KEEL has five folds for these problems, so ten folds are drawn. Three more
#: were named before the first cell and not run for their time: winequality-red-8_vs_6, winequality-red-3_vs_5 and
#: abalone9-18, the last ones in the order of rows² × columns.
IMBALANCED = dict.fromkeys((
    "iris0", "ecoli-0-4-6_vs_5", "new-thyroid1", "new-thyroid2", "ecoli-0-2-3-4_vs_5", "ecoli-0-3-4-6_vs_5",
    "ecoli-0-3-4_vs_5", "ecoli-0-6-7_vs_5", "glass-0-1-5_vs_2", "glass-0-1-6_vs_2", "ecoli-0-1_vs_5",
    "ecoli-0-2-6-7_vs_3-5", "ecoli-0-6-7_vs_3-5", "glass-0-1-4-6_vs_2", "cleveland-0_vs_4", "glass2", "glass4",
    "ecoli-0-1_vs_2-3-5", "glass6", "ecoli-0-1-4-6_vs_5", "ecoli-0-3-4-7_vs_5-6", "ecoli-0_vs_1",
    "glass-0-1-2-3_vs_4-5-6", "shuttle-6_vs_2-3", "glass0", "glass1", "ecoli-0-1-4-7_vs_5-6", "ecoli4",
    "ecoli-0-1-4-7_vs_2-3-5-6", "ecoli3", "ecoli2", "ecoli1", "led7digit-0-2-4-5-6-7-8-9_vs_1", "yeast-1_vs_7",
    "yeast-2_vs_8", "yeast-0-3-5-9_vs_7-8", "yeast-2_vs_4", "page-blocks-1-3_vs_4", "yeast-0-5-6-7-9_vs_4",
    "abalone-3_vs_11", "abalone-21_vs_8", "yeast-1-4-5-8_vs_7", "dermatology-6",
), "D_imbalanced")
# fmt: on
#: The fitness of the paper allows a class to lose all its rows.
SWITCHES: dict[str, Any] = {"keep_classes": False}
#: How often ten folds are run, as in the paper.
N_REPEATS = 3
QUICK = ("iris", "wine", "new-thyroid", "ecoli-0-3-4_vs_5", "glass2", "new-thyroid1")
#: Problems of the quick version without a directory of data sets: the name of the table in scikit-learn, and for
#: imbalanced problems the class that is told apart from all others.
BUILT_IN: dict[str, tuple[str, str | None]] = {
    "iris": ("iris", None),
    "wine": ("wine", None),
    "wdbc": ("breast-cancer", None),
    "iris0": ("iris", "setosa"),
    "wine, class_0 or not": ("wine", "class_0"),
    "wine, class_2 or not": ("wine", "class_2"),
}


#: Classical selectors of instances: those of this library, and the names of those of imbalanced-learn.
SELECTORS: dict[str, Any] = {kind.__name__: kind for kind in (FCNN, IB2, IB3, DROP3, DROP5, ICF, HMNEI)} | {
    "ENN": "EditedNearestNeighbours",
    "RENN": "RepeatedEditedNearestNeighbours",
    "AllKNN": "AllKNN",
    "Tomek links": "TomekLinks",
    "one-sided selection": "OneSidedSelection",
    "neighbourhood cleaning": "NeighbourhoodCleaningRule",
}
#: Selectors that are made for imbalanced problems: they take one class apart from all others.
IMBALANCED_ONLY = ("one-sided selection", "neighbourhood cleaning")


class Resample(BaseEstimator):
    """A sampler of imbalanced-learn as a weigher that selects the rows which the sampler keeps.

    Parameters
    ----------
    sampler : str
        The name of a class of ``imblearn.under_sampling``.
    sampling_strategy : str
        Which classes may lose rows: "all", or "auto" for all but the smallest.
    random_state : int, RandomState or None, default=None
        For samplers that draw rows.
    """

    def __init__(self, sampler: str, sampling_strategy: str = "auto", random_state: Any = None) -> None:
        self.sampler = sampler
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Resample:
        """Select rows."""
        try:
            from imblearn import under_sampling
        except ImportError as error:
            raise MissingDependencyError(
                "the study ifsw compares with selectors of imbalanced-learn, which is not installed: "
                "pip install imbalanced-learn"
            ) from error
        sampler = getattr(under_sampling, self.sampler)(sampling_strategy=self.sampling_strategy)
        if "random_state" in sampler.get_params():
            sampler.set_params(random_state=self.random_state)
        kept = np.zeros(len(y), dtype=bool)
        sampler.fit_resample(X, np.unique(y, return_inverse=True)[1])  # One of the samplers fails with text.
        kept[sampler.sample_indices_] = True
        self.weights_ = Weights(instance_mask=kept)
        return self


class Undersample(BaseEstimator):
    """Random undersampling without a search, as `EvolutionaryWeigher` does it before its search.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Undersample:
        """Draw from each class as many rows as the smallest class has."""
        codes = np.unique(y, return_inverse=True)[1]
        kept = np.zeros(len(codes), dtype=bool)
        # Drawn as the search draws them, so that both are compared on equal terms.
        kept[undersample_rows(codes, True, generators(self.random_state, 1)[0])] = True
        self.weights_ = Weights(instance_mask=kept)
        return self


def performance(model: Any, X_train: Any, y_train: Any, X_test: Any, y_test: Any) -> float:
    """Return the score that the search reached on the training rows, or NaN if there was no search."""
    return float(getattr(getattr(model[-1], "weigher_", None), "performance_", np.nan))


def _model(weigher: Any) -> Pipeline:
    """Return the classifier of a method: 1-NN on standardised features, with the given weigher."""
    return Pipeline([("scale", StandardScaler()), ("knn", WeightedKNeighborsClassifier(1, weigher))])


def _methods(name: str, *, quick: bool, built_in: bool = False) -> dict[str, Pipeline]:
    """Return the methods for a problem: 1-NN without weights, all combinations, and the classical selectors.

    For an imbalanced problem, 1-NN and each combination are also returned with undersampling before it. With
    ``built_in``, the selectors of imbalanced-learn are left out, so that nothing else needs to be installed.
    """
    size, evaluations = (50, 1000) if quick else (100, 10_000)  # paper 004, section 4.1

    def search(tasks: str, fitness: str, undersample: bool = False) -> Pipeline:
        return _model(
            EvolutionaryWeigher(
                tasks,
                fitness,
                undersample=undersample,
                population_size=size,
                max_evaluations=evaluations,
                **SWITCHES,
            )
        )

    classical = {
        other: _model(_selector(made, name in STANDARD))
        for other, made in SELECTORS.items()
        if not (built_in and isinstance(made, str))
    }
    if name in STANDARD:
        classical = {other: model for other, model in classical.items() if other not in IMBALANCED_ONLY}
        return {NONE: _model(None)} | {tasks: search(tasks, "accuracy") for tasks in COMBINATIONS} | classical
    plain = {NONE: _model(None)} | {tasks: search(tasks, "g_mean") for tasks in COMBINATIONS}
    under = {NONE: _model(Undersample())} | {tasks: search(tasks, "g_mean", True) for tasks in COMBINATIONS}
    return plain | {tasks + UNDERSAMPLED: model for tasks, model in under.items()} | classical


def _selector(made: Any, all_classes: bool) -> Any:
    """Return a selector. Those of imbalanced-learn spare the smallest class unless ``all_classes``."""
    return made() if isinstance(made, type) else Resample(made, "all" if all_classes else "auto")


def _load(name: str, *, data_home: str | os.PathLike[str] | None, quick: bool) -> StudyData:
    """Return a problem without rows that have missing values, with KEEL's folds if it has them and not ``quick``."""
    group = (STANDARD | IMBALANCED)[name]
    data = load_dataset(name, group, data_home=data_home)
    # The 1-NN of the paper needs numbers, so each category becomes a column.
    table = pd.get_dummies(data.X, dtype=float)
    whole = table.notna().all(axis=1).to_numpy()
    # float32 needs half the memory of float64, and makes the searches faster.
    X, y = table[whole].reset_index(drop=True).astype(np.float32), np.asarray(data.y)[whole].astype(str)
    if quick or group != KEEL:
        return StudyData(X, y)
    folds = np.loadtxt(data_directory(data_home) / group / f"{name}.folds.txt", dtype=int)[whole]
    parts = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]
    # Each fold stands three times: the searches of the repetitions have other seeds.
    return StudyData(X, y, splits=N_REPEATS * parts)


def _load_built_in(name: str) -> StudyData:
    """Return a problem of `BUILT_IN`."""
    table, positive = BUILT_IN[name]
    data = load_builtin(table)
    y = np.asarray(data.y).astype(str)
    if positive is not None:
        y = np.where(y == positive, "positive", "negative")
    return StudyData(data.X.astype(np.float32), y)


def data_sets(quick: bool) -> tuple[str, ...]:
    """Return the names of 40 standard and 43 imbalanced problems, or with ``quick`` of three problems of each kind."""
    return QUICK if quick else (*STANDARD, *IMBALANCED)


def build(quick: bool, data_home: str | os.PathLike[str] | None) -> Definition:
    """Return the definition of the study: ten folds (three with ``quick``).

    There are 27 methods for each standard problem and 45 for each imbalanced problem.
    """
    places = {name: ((STANDARD | IMBALANCED)[name], name) for name in data_sets(quick)}
    built_in = {name: partial(_load_built_in, name) for name in BUILT_IN} if quick else None
    read = partial(_load, data_home=data_home, quick=quick)
    data, absent, used = find_tables(places, read, data_home=data_home, built_in=built_in)
    return Definition(
        data,
        partial(_methods, quick=quick, built_in=used),
        cv=3 if quick else 10,
        n_repeats=1 if quick else N_REPEATS,
        scoring=("accuracy", "g_mean"),
        measures={"performance": performance},
        random_state=SEED,
        absent=absent,
        built_in=used,
    )


def per_data_set(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the means over the folds for each problem and combination, in three blocks.

    The blocks are "standard", scored by accuracy, and "imbalanced" and "undersampled", both scored by G-mean.
    """
    under = cells["method"].str.endswith(UNDERSAMPLED)
    standard = cells["dataset"].isin(list(STANDARD))
    labelled = cells.assign(
        # A combination with undersampling has the same name of tasks, in another block.
        block=np.select([standard, under], ["standard", "undersampled"], "imbalanced"),
        tasks=cells["method"].str.removesuffix(UNDERSAMPLED),
        score=cells["accuracy"].where(standard, cells["g_mean"]),
        reduction=cells["reduction"].fillna(0.0),
    )
    grouped = labelled.groupby(["block", "dataset", "tasks"], sort=False)
    return grouped.agg(
        score=("score", "mean"),
        std=("score", "std"),
        training=("performance", "mean"),
        reduction=("reduction", "mean"),
        seconds=("fit_seconds", "mean"),
        folds=("score", "size"),
    ).reset_index()


def _wide(per_set: pd.DataFrame, block: str) -> pd.DataFrame:
    """Return the scores of a block as a table with one row per problem and one column per combination."""
    part = per_set[per_set["block"] == block]
    return part.pivot_table("score", "dataset", "tasks", sort=False)[[NONE, *COMBINATIONS]]


def _testable(per_set: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the score tables of the blocks that have at least two problems, by block."""
    found = {block: _wide(per_set, block) for block in per_set["block"].unique()}
    return {block: table for block, table in found.items() if len(table) > 1}


def by_combination(per_set: pd.DataFrame) -> pd.DataFrame:
    """Return the mean score, rank, reduction and time of each combination in each block."""
    per_set = per_set[per_set["tasks"].isin((NONE, *COMBINATIONS))]
    # Rank 1 is the best, and ties share their mean rank.
    ranks = per_set.groupby(["block", "dataset"])["score"].rank(ascending=False)
    grouped = per_set.assign(rank=ranks).groupby(["block", "tasks"], sort=False)
    columns = ["score", "rank", "training", "reduction", "seconds"]
    return grouped[columns].mean().assign(data_sets=grouped.size()).reset_index()


def by_selector(per_set: pd.DataFrame) -> pd.DataFrame:
    """Return the means of the classical selectors, of 1-NN and of the search for instances in each block.

    The columns ``wins`` to ``holm`` compare a selector with the search for instances alone (IS), by Wilcoxon's
    signed-rank test over the problems.
    """
    found = []
    for block in ("standard", "imbalanced"):
        part = per_set[(per_set["block"] == block) & per_set["tasks"].isin((NONE, "IS", *SELECTORS))]
        scores = part.pivot_table("score", "dataset", "tasks", sort=False)
        others = [name for name in scores.columns if name != "IS"]
        if len(scores) < 2 or "IS" not in scores or len(others) < 2:
            continue
        means = part.groupby("tasks", sort=False)[["score", "reduction", "seconds"]].mean()
        tests = _signed_ranks(scores, [(name, "IS") for name in others]).drop(columns="second")
        means = means.reset_index().rename(columns={"tasks": "selector"})
        found.append(means.merge(tests.rename(columns={"first": "selector"}), "left").assign(block=block))
    return _first_column("block", found) if found else pd.DataFrame()


def omnibus(per_set: pd.DataFrame) -> pd.DataFrame:
    """Return Friedman's test and Iman and Davenport's test for each block."""
    found = [
        test(table).frame().assign(block=block)
        for block, table in _testable(per_set).items()
        for test in (friedman, iman_davenport)
    ]
    return _first_column("block", found)


def _first_column(name: str, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the tables joined into one, with the column ``name`` first."""
    table = pd.concat(frames, ignore_index=True)
    return table[[name, *(column for column in table.columns if column != name)]]


def against_best(per_set: pd.DataFrame) -> pd.DataFrame:
    """Compare each combination with the best ranked combination of its block, with Holm's adjustment."""
    found = []
    for block, table in _testable(per_set).items():
        # The smallest mean rank is the best one.
        best = friedman(table).mean_ranks.idxmin()
        rows = posthoc(table, control=best, adjust="holm").frame()
        found.append(rows.rename(columns={"first": "best", "second": "tasks", "adjusted": "holm"}).assign(block=block))
    return _first_column("block", found)


def _signed_ranks(table: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """Return Wilcoxon's signed-rank test for each pair of columns in ``pairs``, with Holm's adjustment."""
    rows = []
    for first, second in pairs:
        counts = dict(zip(("wins", "ties", "losses"), wins(table, first, second), strict=True))
        gain = float((table[first] - table[second]).mean())
        p = wilcoxon(table[first], table[second]).p_value
        rows.append({"first": first, "second": second, **counts, "mean_difference": gain, "p_value": p})
    frame = pd.DataFrame(rows)
    return frame.assign(holm=holm(frame["p_value"]))


def wilcoxon_pairs(per_set: pd.DataFrame) -> pd.DataFrame:
    """Return Wilcoxon's signed-rank test for all pairs of methods in each block, with Holm's adjustment."""
    found = [
        _signed_ranks(table, list(combinations(table.columns, 2))).assign(block=block)
        for block, table in _testable(per_set).items()
    ]
    return _first_column("block", found)


def undersampling(per_set: pd.DataFrame) -> pd.DataFrame:
    """Compare each combination with undersampling to the same combination without it.

    The test is Wilcoxon's signed-rank test, with Holm's adjustment.
    """
    both = _both(per_set)
    pairs = [(tasks + UNDERSAMPLED, tasks) for tasks in (NONE, *COMBINATIONS)]
    table = _signed_ranks(both, pairs).rename(columns={"second": "tasks"}).drop(columns="first")
    means = both.mean()
    table.insert(1, "g_mean", table["tasks"].map(means))
    table.insert(2, "g_mean_undersampled", (table["tasks"] + UNDERSAMPLED).map(means))
    return table


def _both(per_set: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of the imbalanced problems for all 32 methods, without and with undersampling."""
    return _wide(per_set, "imbalanced").join(_wide(per_set, "undersampled").add_suffix(UNDERSAMPLED))


def _place(values: pd.Series, name: str, *, largest: bool = False) -> tuple[bool, str]:
    """Return whether ``name`` has the smallest value (or the largest), and a text that says its place."""
    ordered = values.sort_values(kind="stable")
    first, last = ordered.index[0], ordered.index[-1]
    place = int((values < values[name]).sum()) + 1
    description = f"{name} {values[name]:.2f}, place {place} of {len(values)}"
    description += f"; first {first} {values[first]:.2f}, last {last} {values[last]:.2f}"
    return bool(values[name] == (values.max() if largest else values.min())), description


def _standard_claims(per_set: pd.DataFrame, table: pd.DataFrame) -> list[tuple[str, str, bool]]:
    """Return the claims of the paper on the standard problems, what was found, and whether each claim holds."""
    part = by_combination(per_set).query("block == 'standard' and tasks != @NONE").set_index("tasks")
    ranks = friedman(table[list(COMBINATIONS)]).mean_ranks
    best, best_description = _place(ranks, "FW")
    worst, worst_description = _place(ranks, "FS", largest=True)
    most, most_description = _place(100 - 100 * part["reduction"], "IS+FS")
    adjusted = against_best(per_set).query("block == 'standard'").set_index("tasks")["holm"]
    near = float(adjusted.get("IS+FS", 1.0))  # IS+FS is not in the table if it is the best combination itself
    means = 100 * table.mean()
    more = _signed_ranks(table, [("IS+FS+FW", "IS+FS"), ("IS+FS+IW", "IS+FS"), ("IS+FS+IW+FW", "IS+FS")])
    gains = ((more["holm"] <= 0.05) & (more["mean_difference"] > 0)).any()
    told_more = "; ".join(
        f"{row['first']} {100 * row['mean_difference']:+.1f} points, p {row['holm']:.2g}"
        for row in more.to_dict("records")
    )
    return [
        ("FW has the best accuracy", f"mean ranks: {best_description}", best),
        ("FS has the worst accuracy", f"mean ranks: {worst_description}", worst),
        ("IS+FS reduces most", f"per cent of the table left: {most_description}", most),
        (
            "IS+FS classifies well",
            f"Holm's p against the best ranked: {near:.2g}; {means['IS+FS']:.1f} % right, 1-NN {means[NONE]:.1f} %",
            near > 0.05,
        ),
        ("weights added to IS+FS do not improve it significantly", f"by Wilcoxon: {told_more}", not gains),
    ]


def claims(per_set: pd.DataFrame) -> pd.DataFrame:
    """Return the conclusions of the paper (section 6) with what was found, for the blocks that can be tested."""
    tables, rows = _testable(per_set), []
    if "standard" in tables:
        rows += [("standard", *row) for row in _standard_claims(per_set, tables["standard"])]
    if "undersampled" in tables:
        both = _both(per_set)
        best, description = _place(
            friedman(both.drop(columns=[NONE, NONE + UNDERSAMPLED])).mean_ranks, "IS+FS" + UNDERSAMPLED
        )
        rows.append(("imbalanced", "IS+FS with undersampling has the best G-mean", f"mean ranks: {description}", best))
    return pd.DataFrame(rows, columns=["block", "claim", "found", "holds"])


def tables(results: StudyResults) -> Tables:
    """Return the means, ranks and tests of each block, and the comparison with the paper's conclusions."""
    per_set = per_data_set(results.cells)
    found = {"combinations": by_combination(per_set), "data_sets": per_set}
    if not (testable := _testable(per_set)):
        return found
    if len(selectors := by_selector(per_set)):
        found["selectors"] = selectors
    found |= {
        "claims": claims(per_set),
        "omnibus": omnibus(per_set),
        "holm": against_best(per_set),
        "wilcoxon": wilcoxon_pairs(per_set),
    }
    return found | ({"undersampling": undersampling(per_set)} if "undersampled" in testable else {})


def summary(tables: Tables) -> str:
    """Return a text with one line for each conclusion of the paper, and one line for each omnibus test."""
    if "claims" not in tables:
        return "Fewer than two data sets of a kind: nothing to compare."
    lines = [
        f"{row.block}: {row.claim}: {'yes' if row.holds else 'no'} ({row.found})."
        for row in tables["claims"].itertuples()
    ]
    for row in tables["omnibus"].query("test == 'Iman-Davenport'").itertuples():
        lines.append(
            f"{row.block}: Iman-Davenport F{row.df} = {row.statistic:.3f}, p = {row.p_value:.3g} over {row.n_datasets} "
            f"data sets and {row.n_methods} methods."
        )
    return "\n".join(lines)


PRESET = Preset(
    name="ifsw",
    title="Instance and feature selection and weighting",
    paper=(
        "J. Pérez-Rodríguez, A. G. Arroyo-Peña, N. García-Pedrajas, Simultaneous instance and feature selection and "
        "weighting using evolutionary computation: Proposal and study, Applied Soft Computing 37, 2015"
    ),
    statement=(
        "1-NN; features standardised in each training part, categories as indicator columns, rows with missing cells "
        "left out. Population 100, 10 000 evaluations; the fitness is the accuracy on standard problems and the G-mean "
        "on imbalanced ones, which are run without and with random undersampling in front. Classical selectors stand "
        "beside them; those of imbalanced-learn may drop rows of all classes on standard problems, and spare the "
        "smallest class on imbalanced ones. Ten stratified folds, three times as in the paper: where KEEL has ten, "
        "these; for the others ten are drawn in each repetition, from seed 0. With --quick 1000 evaluations of 50 "
        "individuals and three folds."
    ),
    data_sets=data_sets,
    build=build,
    tables=tables,
    summary=summary,
    offline=(
        "Tables that come with scikit-learn, since no directory of data sets is named: iris, wine and wdbc, which the "
        "study has as well, and one class of iris or wine against the others as imbalanced problems. 1-NN; features "
        "standardised in each training part. Searches with 1000 evaluations of 50 individuals, three stratified folds "
        "(seed 0). Classical selectors of this library only. Fitness, undersampling and tests as in the full study."
    ),
    switches=SWITCHES,
)
