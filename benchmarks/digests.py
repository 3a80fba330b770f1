"""Digests of what the library computes on fixed inputs, to compare two builds bit by bit.

    python benchmarks/digests.py > before.txt           # with one build; --large: also 1 000 000 rows
    python benchmarks/digests.py > after.txt            # with the other one
    diff before.txt after.txt                           # nothing: the same bits

Every line is a name and a digest of arrays. Part one fits every weigher and lazy learner to small tables of every
kind. Part two has tables that are large or wide enough for every backend of the search and every form of the
evaluations of a population. Results must not depend on the number of threads, so this script uses two of them.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.feature_selection import f_classif, mutual_info_regression
from sklearn.preprocessing import scale

import weighbors as wb
from weighbors.evaluation import Study, permutation_test, redundancy_groups, stability_curve

Found = Iterator[tuple[str, str]]


def digest(*parts: Any) -> str:
    """Digest of arrays with their dtypes and shapes."""
    out = hashlib.blake2b(digest_size=12)
    for part in parts:
        array = np.ascontiguousarray(part)
        out.update(f"{array.dtype} {array.shape} ".encode())
        out.update(array.tobytes() if array.dtype != object else repr(array.tolist()).encode())
    return out.hexdigest()


def attempt(compute: Callable[[], Any]) -> str:
    """Digest of what ``compute`` returns, or the name of the error with which it refuses."""
    try:
        found = compute()
    except ValueError as error:  # also where a selection leaves fewer rows than neighbours
        return f"refused: {type(error).__name__}"
    return digest(*found) if isinstance(found, tuple | list) else digest(found)


def mixed_table(n: int, seed: int) -> pd.DataFrame:
    """Numbers and categories with missing cells, and rows that are equal."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 6)).round(1), columns=list("abcdef"))
    frame["kind"] = pd.Categorical(np.array(["x", "y", "z"])[rng.integers(0, 3, n)])
    frame["place"] = pd.Categorical(np.array(list("pqrst"))[rng.integers(0, 5, n)])
    for column in ("b", "e"):
        frame.loc[rng.integers(0, n, n // 15), column] = np.nan
    frame.loc[rng.integers(0, n, n // 15), "kind"] = None
    return frame


def tables() -> dict[str, tuple[Any, Any]]:
    """Inputs: doubles, floats, a mixed table with missing cells, sparse rows, a wide table."""
    wine, cancer = load_wine(return_X_y=True), load_breast_cancer(return_X_y=True)
    wide = make_classification(80, 2000, n_informative=20, random_state=0)
    rng = np.random.default_rng(0)
    mixed = pd.DataFrame(scale(wine[0][:, :4]), columns=list("abcd"))
    mixed["kind"] = pd.Categorical(np.array(["x", "y", "z"])[rng.integers(0, 3, len(mixed))])
    mixed.loc[rng.integers(0, len(mixed), 12), "b"] = np.nan
    lacking = scale(cancer[0]).copy()
    lacking[rng.random(lacking.shape) < 0.03] = np.nan
    few = sparse.random(150, 400, 0.05, format="csr", random_state=0)
    return {
        "wine": (scale(wine[0]), wine[1]),
        "cancer": (scale(cancer[0]).astype(np.float32), cancer[1]),
        "wide": (scale(wide[0]).astype(np.float32), wide[1]),
        "mixed": (mixed, wine[1]),
        "lacking": (lacking, cancer[1]),
        "sparse": (few, rng.integers(0, 3, 150)),
    }


def numeric_tables() -> dict[str, tuple[Any, Any]]:
    """Inputs with numeric targets."""
    diabetes = load_diabetes(return_X_y=True)
    mixed = mixed_table(200, 1)
    target = mixed["a"].to_numpy() + (mixed["kind"] == "x") + np.random.default_rng(2).normal(size=200)
    return {"diabetes": (scale(diabetes[0]), diabetes[1]), "mixed numbers": (mixed, target)}


def search(tasks: str, **options: Any) -> wb.EvolutionaryWeigher:
    """Return a short evolutionary search."""
    settings = {"population_size": 20, "max_evaluations": 400, "random_state": 0, "n_jobs": 2, **options}
    return wb.EvolutionaryWeigher(tasks, **settings)


def weighers() -> dict[str, Any]:
    """One weigher of each kind, with settings that use different parts of the code."""
    return {
        "relief": wb.Relief(5, n_jobs=2),
        "relief ties": wb.Relief(3, ties="index"),
        "relievedf": wb.RelievedF(3, n_jobs=2),
        "relieff": wb.ReliefF(10, n_jobs=2),
        "relieff sigma": wb.ReliefF(7, n_features_to_select=0.5, sigma=3.0),
        "relieff drawn": wb.ReliefF(5, n_samples=40, random_state=1),
        "surf": wb.SURF(),
        "surf*": wb.SURFStar(),
        "multisurf": wb.MultiSURF(n_jobs=2),
        "multisurf*": wb.MultiSURFStar(),
        "turf": wb.TuRF(wb.ReliefF(5)),
        "turf surf": wb.TuRF(wb.MultiSURF(), share=0.3),
        "irelief": wb.IRelief(),
        "class relief": wb.ClassRelief(5),
        "class relief paper": wb.ClassRelief(1, credit="neighbor", skip_zero=True),
        "mbiw": wb.MBIW(),
        "mbiw 3": wb.MBIW(3),
        "simba": wb.Simba(random_state=0),
        "simba 1/n": wb.Simba(step="1/n", random_state=0),
        "simba passes": wb.Simba(5, random_state=0),
        "simbambiw": wb.SimbaMBIW(),
        "simbambiw sample": wb.SimbaMBIW("sample", scale="mean", random_state=0),
        "simbambiw normal": wb.SimbaMBIW("normal", n_passes=3, random_state=0),
        "simbambiw synergy": wb.SimbaMBIW(synergy=True),
        "simbambiw last": wb.SimbaMBIW(compose="simba_first", random_state=0),
        "intervals": wb.RepresentativeIntervals(discretize="mdlp"),
        "intervals width": wb.RepresentativeIntervals(discretize="frequency", weight="overlap", overlap="length"),
        "nca": wb.NCAWeights(0.01),
        "npdr": wb.NPDR(5),
        "gradient": wb.GradientWeights(random_state=0),
        "f": wb.ScoreWeigher(f_classif),
        "stratified": wb.Stratified(wb.ReliefF(3), n_strata=3, random_state=0),
        "stratified search": wb.Stratified(search("IS+FW"), n_strata=2, random_state=0),
        "democratic": wb.Democratic(search("IS"), n_rounds=2, random_state=0),
        "fcnn": wb.FCNN(),
        "ib2": wb.IB2(),
        "ib3": wb.IB3(),
        "drop3": wb.DROP3(3),
        "drop5": wb.DROP5(3),
        "icf": wb.ICF(),
        "hmnei": wb.HMNEI(),
        "hmnei weighed": wb.HMNEI(wb.ReliefF(3)),
        **{f"evolution {tasks}": search(tasks) for tasks in ("IS", "FS", "IW", "FW", "IS+FS+IW+FW")},
        "evolution k 3": search("IS+FW", n_neighbors=3),
        "evolution g-mean": search("IS+FS", fitness="g_mean", n_neighbors=2),
        "evolution classes": search("FW", per_class=True),
        "evolution classes IS": search("IS+FW", per_class=True, n_neighbors=3),
        "evolution undersample": search("IS+FS", undersample=True),
        "pareto": search("IS+FS", objective="pareto"),
        "pareto margins": search("FW", objective=("error", "margins")),
    }


def numeric_weighers() -> dict[str, Any]:
    """Weighers that take numeric targets."""
    return {
        "rrelieff": wb.RReliefF(10, n_jobs=2),
        "rrelieff sigma": wb.RReliefF(10, sigma=3.0, n_samples=70, random_state=0),
        "surf": wb.SURF(target_type="numeric"),
        "surf*": wb.SURFStar(target_type="numeric"),
        "multisurf": wb.MultiSURF(target_type="numeric", n_jobs=2),
        "multisurf*": wb.MultiSURFStar(target_type="numeric"),
        "turf": wb.TuRF(wb.RReliefF(5), target_type="numeric"),
        "nca": wb.NCAWeights(0.01, target_type="numeric"),
        "npdr": wb.NPDR(5, target_type="numeric"),
        "gradient": wb.GradientWeights(target_type="numeric", random_state=0),
        "mutual information": wb.ScoreWeigher(partial(mutual_info_regression, random_state=0), target_type="numeric"),
        "stratified": wb.Stratified(wb.RReliefF(3), n_strata=3, target_type="numeric", random_state=0),
        "evolution IS": search("IS", fitness="r2", target_type="numeric"),
        "evolution FW": search("FW", fitness="r2", target_type="numeric", n_neighbors=3),
        "evolution all": search("IS+FS+IW+FW", fitness="r2", target_type="numeric"),
    }


def parts_of(weights: wb.Weights) -> list[Any]:
    """The arrays of weights, in a fixed order."""
    names = ("feature_weights", "instance_scales", "votes", "feature_mask", "instance_mask")
    return [value for name in names if (value := getattr(weights, name)) is not None]


def take(X: Any, rows: slice) -> Any:
    """Some rows of a table."""
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def in_blocks(X: Any, y: Any) -> tuple[Any, Any]:
    """A table and its target as Dask collections of seven partitions."""
    if isinstance(X, pd.DataFrame):
        return dd.from_pandas(X, npartitions=7), dd.from_pandas(pd.Series(y, index=X.index), npartitions=7)
    rows = X.toarray() if sparse.issparse(X) else X
    return da.from_array(rows, chunks=(-(-len(rows) // 7), rows.shape[1])), y


def fitted_weights(X: Any, y: Any) -> Found:
    """Every weigher on a table, and the k-NN with its weights."""
    for name, weigher in weighers().items():
        model = wb.WeightedKNeighborsClassifier(5, weigher, n_jobs=2)
        yield name, attempt(lambda model=model: parts_of(model.fit(X, y).weights_))
        if hasattr(model, "weights_"):
            near = attempt(lambda model=model: (*model.kneighbors(take(X, slice(40))), model.predict_proba(None)))
            yield f"{name}, neighbours", near


def numeric_weights(X: Any, y: Any) -> Found:
    """Every weigher of numeric targets, and the regressor with its weights."""
    for name, weigher in numeric_weighers().items():
        model = wb.WeightedKNeighborsRegressor(5, weigher)
        yield name, attempt(lambda model=model: parts_of(model.fit(X, y).weights_))
        if hasattr(model, "weights_"):
            yield f"{name}, means", attempt(lambda model=model: model.predict(None))


def classifiers(X: Any, y: Any) -> Found:
    """Lazy learners and other votes."""
    queries = take(X, slice(None, None, 3))
    models = {
        "ib1": wb.IB1(),
        "ibk": wb.IBk(5),
        "lwl": wb.LWL(n_neighbors=30),
        "k*": wb.KStar(),
        "wibk": wb.WIBK(3, discretize="mdlp"),
        "p = 1": wb.WeightedKNeighborsClassifier(7, p=1, weights="distance"),
        "complement": wb.WeightedKNeighborsClassifier(3, weights="complement", vote_ties="nearest"),
        "auto": wb.WeightedKNeighborsClassifier("auto", wb.ReliefF(5), weights="auto", p="auto"),
        "learned votes": wb.LearnedVotesClassifier(random_state=0),
        "blocks": wb.WeightedKNeighborsClassifier(5, wb.ReliefF(5)),
        "blocks, classes": wb.WeightedKNeighborsClassifier(5, wb.ClassRelief(5)),
        "blocks, mbiw": wb.WeightedKNeighborsClassifier(5, wb.MBIW()),
    }
    for name, model in models.items():
        given = in_blocks(X, y) if name.startswith("blocks") else (X, y)
        yield name, attempt(lambda model=model, given=given: model.fit(*given).predict_proba(queries))


def measured(X: Any, y: Any) -> Found:
    """Digests of stability, p-values, lists and a study."""
    curve = stability_curve(wb.ReliefF(5), X, y, n_repeats=2, cv=3, random_state=0)
    yield "stability curve", digest(curve.frame().select_dtypes("number").to_numpy())
    tested = {
        "ReliefF": wb.ReliefF(5),
        "ReliefF sigma": wb.ReliefF(5, sigma=2.0, n_samples=50, random_state=0),
        "RELIEF": wb.Relief(3),
        "RelievedF": wb.RelievedF(3),
        "ClassRelief": wb.ClassRelief(3),
        "SURF": wb.SURF(),
        "MultiSURF*": wb.MultiSURFStar(),
        "SIMBA": wb.Simba(random_state=0),
        "F": wb.ScoreWeigher(f_classif),
    }
    for name, weigher in tested.items():
        found = permutation_test(weigher, X, y, n_permutations=20, random_state=0, n_jobs=2)
        yield f"permutation test {name}", digest(found.frame().select_dtypes("number").to_numpy())
    for name, weigher in {"ReliefF": wb.ReliefF(5), "F": wb.ScoreWeigher(f_classif), "SURF": wb.SURF()}.items():
        selection = wb.StabilitySelection(weigher, n_pairs=6, n_permutations=2, random_state=0).fit(X, y)
        yield f"stability selection {name}", digest(selection.q_values_, selection.get_support())
    yield "redundancy", digest(redundancy_groups(X).groups)
    methods = {
        "plain": wb.WeightedKNeighborsClassifier(3),
        "relieff": wb.WeightedKNeighborsClassifier(3, wb.ReliefF(5)),
    }
    with tempfile.TemporaryDirectory() as place:
        cells = Study({"table": (X, y)}, methods, place, cv=3, n_repeats=2).run().cells
    yield "study", digest(cells["accuracy"].to_numpy(), cells["id"].to_numpy(dtype=str))


#: Rows, columns, dtype and p of tables, each beside the limits at which another way of searching begins.
SHAPES = (
    *((n, 1, "float64", 2) for n in (4_999, 5_000)),
    *((n, 2, "float32", 1) for n in (19_999, 20_000)),
    (30_000, 3, "float64", 2),
    (50_000, 4, "float32", 2),
    (2_000, 20, "float32", 1),
    (2_000, 20, "float64", 1),
    (1_999, 30, "float64", 2),
    (2_000, 30, "float64", 2),
    (2_000, 30, "float32", 2),
    (16_000, 10, "float32", 2),
    (6_000, 20, "float64", 2),
    (5_000, 64, "float32", 2),
    (5_000, 64, "float64", 2),
    (8_000, 300, "float32", 2),
    *((130, m, "float64", p) for m in (1_023, 1_024, 1_025) for p in (1, 2)),
    *((420, m, "float32", 2) for m in (1_023, 1_024, 1_025, 9_000)),
    (127, 5_000, "float64", 2),
    (128, 5_000, "float64", 2),
)
LARGE = (
    (1_000_000, 16, "float32", 2),
    (1_000_000, 3, "float64", 2),
    (100, 20_000, "float32", 2),
    (200, 20_000, "float64", 2),
)


def neighbors(n: int, m: int, dtype: str, p: int) -> Found:
    """Neighbours of queries and of the rows themselves; some rows are equal, so that distances tie."""
    rng = np.random.default_rng(n + m)
    X = rng.standard_normal((n, m)).astype(dtype)
    X[5:9] = X[4]
    queries = np.concatenate([X[:20], rng.standard_normal((200, m)).astype(dtype)])
    weight = rng.random(m)
    weight[:: max(2, m // 3)] = 0 if m > 2 else 1
    ways = {
        "plain": None,
        "weighed": wb.Weights(feature_weights=weight),
        "scaled": wb.Weights(feature_weights=weight, instance_scales=rng.random(n) + 0.5),
    }
    for name, weights in ways.items():
        model = wb.WeightedNearestNeighbors(5, weights, p=p, n_jobs=2).fit(X)
        yield f"{name}, queries", digest(*model.kneighbors(queries), *model.kneighbors(queries[:1], 1))
        if n <= 20_000:
            yield f"{name}, leave one out", digest(*model.kneighbors())
    some = wb.WeightedNearestNeighbors(5, p=p, radius=0.4 * np.sqrt(m)).fit(X).radius_neighbors(queries[:30])
    yield "radius", digest(*(np.concatenate(list(part)) for part in some))


def large_relief(n: int, m: int, dtype: str) -> Found:
    """RELIEF and its kin where there are many rows or columns."""
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, m)).astype(dtype), rng.integers(0, 2, n)
    X[:, 0] += y
    many = n > 3_000
    draw = {"n_samples": 300, "random_state": 0} if many else {}
    for weigher in (wb.ReliefF(10, n_jobs=2, **draw), *(() if many else (wb.Relief(3), wb.ClassRelief(3)))):
        yield type(weigher).__name__, digest(weigher.fit(X, y).feature_weights_)
    yield (
        "ReliefF, sparse",
        digest(wb.ReliefF(5, **draw).fit(sparse.csr_matrix(np.maximum(X, 1) - 1), y).feature_weights_),
    )
    yield "RReliefF", digest(wb.RReliefF(10, **draw).fit(X, X[:, 0] + y).feature_weights_)
    if not many:
        yield "MultiSURF", digest(wb.MultiSURF(n_jobs=2).fit(X, y).feature_weights_)
        yield "SIMBA", digest(wb.Simba(random_state=0).fit(X, y).feature_weights_)
        yield "MBIW", digest(wb.MBIW().fit(X, y).instance_weights_)
        for weigher in (wb.ReliefF(5), wb.MultiSURF()):
            found = permutation_test(weigher, X, y, n_permutations=20, random_state=0, n_jobs=2).frame()
            yield f"permutation test {type(weigher).__name__}", digest(found.select_dtypes("number").to_numpy())


def populations(n: int, m: int) -> Found:
    """Evolutionary searches whose tables are large enough for other forms of evaluation."""
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, m)), rng.integers(0, 3, n)
    X[:, 0] += y
    for tasks in ("IS", "FS", "FW", "IW", "IS+FS+IW+FW"):
        for k in (1, 3):
            found = search(tasks, n_neighbors=k, population_size=10, max_evaluations=60).fit(X, y)
            yield f"{tasks}, k = {k}", digest(found.fitness_, *parts_of(found.weights_))
    found = search("IS+FW", fitness="r2", target_type="numeric", population_size=10, max_evaluations=60).fit(X, X[:, 0])
    yield "IS+FW, numbers", digest(found.fitness_, *parts_of(found.weights_))


def sections(large: bool) -> Iterator[tuple[str, Found]]:
    """Every part with its name."""
    for name, (X, y) in tables().items():
        yield name, fitted_weights(X, y)
        yield name, classifiers(X, y)
        if name == "wine":
            yield name, measured(X, y)
    for name, (X, y) in numeric_tables().items():
        yield name, numeric_weights(X, y)
    for shape in (*SHAPES, *(LARGE if large else ())):
        yield "{} x {} {} p = {}".format(*shape), neighbors(*shape)
    reliefs = ((2_500, 30, "float64"), (1_500, 40, "float32"), (130, 1_100, "float64"))
    for size in (*reliefs, *(((1_000_000, 16, "float32"), (100, 20_000, "float32")) if large else ())):
        yield "{} x {} {}".format(*size), large_relief(*size)
    for size in ((300, 12), (1_100, 30), (90, 400), *(((5_000, 20), (9_000, 20)) if large else ())):
        yield "search {} x {}".format(*size), populations(*size)
    X, y = mixed_table(3_000, 3), np.random.default_rng(4).integers(0, 4, 3_000)
    yield (
        "mixed 3000",
        ((type(w).__name__, digest(w.fit(X, y).feature_weights_)) for w in (wb.ReliefF(10), wb.SURF(), wb.Relief(2))),
    )


def main() -> None:
    """Print a line per result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", action="store_true", help="also 1 000 000 rows and 20 000 columns (some minutes)")
    warnings.simplefilter("ignore")
    for section, found in sections(parser.parse_args().large):
        for name, value in found:
            print(f"{section}: {name}: {value}", flush=True)


if __name__ == "__main__":
    main()
