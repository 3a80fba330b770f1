"""Digests of what the library computes on fixed inputs, to compare two builds bit by bit.

    python benchmarks/digests.py > before.txt      # with one build
    python benchmarks/digests.py > after.txt       # with the other one
    diff before.txt after.txt                      # nothing: the same bits

Every line is a name and a digest of arrays: weights of all weighers, neighbours and votes of the k-NN
under every kind of weights, searches, strata, stability, permutation p-values and the cells of a study.
"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.preprocessing import scale

import weighbors as wb
from weighbors import distributed
from weighbors.evaluation import Study, permutation_test, stability_curve


def digest(*parts: Any) -> str:
    """Digest of arrays with their dtypes and shapes."""
    out = hashlib.blake2b(digest_size=12)
    for part in parts:
        array = np.ascontiguousarray(part)
        out.update(f"{array.dtype} {array.shape} ".encode())
        out.update(array.tobytes() if array.dtype != object else repr(array.tolist()).encode())
    return out.hexdigest()


def tables() -> dict[str, tuple[Any, Any]]:
    """Inputs: doubles, floats, a mixed table with missing cells, a wide table."""
    wine, cancer = load_wine(return_X_y=True), load_breast_cancer(return_X_y=True)
    wide = make_classification(80, 2000, n_informative=20, random_state=0)
    rng = np.random.default_rng(0)
    mixed = pd.DataFrame(scale(wine[0][:, :4]), columns=list("abcd"))
    mixed["kind"] = pd.Categorical(np.array(["x", "y", "z"])[rng.integers(0, 3, len(mixed))])
    mixed.loc[rng.integers(0, len(mixed), 12), "b"] = np.nan
    return {
        "wine": (scale(wine[0]), wine[1]),
        "cancer": (scale(cancer[0]).astype(np.float32), cancer[1]),
        "wide": (scale(wide[0]).astype(np.float32), wide[1]),
        "mixed": (mixed, wine[1]),
    }


def weighers() -> dict[str, Any]:
    """One weigher of each kind, with settings that use different parts of the code."""
    quick = {"population_size": 20, "max_evaluations": 400, "random_state": 0}
    searches = {
        f"evolution {tasks}": wb.EvolutionaryWeigher(tasks, **quick)
        for tasks in ("IS", "FS", "IW", "FW", "IS+FS+IW+FW")
    }
    return {
        "relief": wb.Relief(5),
        "relievedf": wb.RelievedF(3),
        "relieff": wb.ReliefF(10),
        "surf": wb.SURF(),
        "surf*": wb.SURFStar(),
        "multisurf": wb.MultiSURF(),
        "multisurf*": wb.MultiSURFStar(),
        "turf": wb.TuRF(wb.ReliefF(5)),
        "irelief": wb.IRelief(),
        "class relief": wb.ClassRelief(5),
        "mbiw": wb.MBIW(),
        "simba": wb.Simba(random_state=0),
        "simba 1/n": wb.Simba(step="1/n", random_state=0),
        "simbambiw": wb.SimbaMBIW(),
        "simbambiw sample": wb.SimbaMBIW("sample", scale="mean", random_state=0),
        "simbambiw synergy": wb.SimbaMBIW(synergy=True),
        "intervals": wb.RepresentativeIntervals(discretize="mdlp"),
        "pareto": wb.EvolutionaryWeigher("IS+FS", objective="pareto", **quick),
        "stratified": wb.Stratified(wb.ReliefF(3), n_strata=3, random_state=0),
        "democratic": wb.Democratic(wb.EvolutionaryWeigher("IS", **quick), n_rounds=2, random_state=0),
        **searches,
    }


def parts_of(weights: wb.Weights) -> list[Any]:
    """The arrays of weights, in a fixed order."""
    names = ("feature_weights", "instance_scales", "votes", "feature_mask", "instance_mask")
    return [value for name in names if (value := getattr(weights, name)) is not None]


def fitted_weights(X: Any, y: Any) -> Iterator[tuple[str, str]]:
    """Every weigher on a table, and the k-NN with its weights."""
    for name, weigher in weighers().items():
        try:
            model = wb.WeightedKNeighborsClassifier(5, weigher).fit(X, y)
            distance, row = model.kneighbors(X[:40] if not isinstance(X, pd.DataFrame) else X.iloc[:40])
        except ValueError as error:  # also where a selection leaves fewer rows than neighbours
            yield name, f"refused: {type(error).__name__}"
            continue
        yield name, digest(*parts_of(model.weights_))
        yield f"{name}, neighbours", digest(distance, row, model.predict_proba(None))


def classifiers(X: Any, y: Any) -> Iterator[tuple[str, str]]:
    """Lazy learners and other votes."""
    queries = X.iloc[::3] if isinstance(X, pd.DataFrame) else X[::3]
    models = {
        "ib1": wb.IB1(),
        "ibk": wb.IBk(5),
        "lwl": wb.LWL(n_neighbors=30),
        "k*": wb.KStar(),
        "wibk": wb.WIBK(3, discretize="mdlp"),
        "p = 1": wb.WeightedKNeighborsClassifier(7, p=1, weights="distance"),
        "complement": wb.WeightedKNeighborsClassifier(3, weights="complement", vote_ties="nearest"),
        "blocks": distributed.WeightedKNeighborsClassifier(5, distributed.ReliefF(5), max_bytes=2**16),
    }
    for name, model in models.items():
        try:
            yield name, digest(model.fit(X, y).predict_proba(queries))
        except ValueError as error:
            yield name, f"refused: {type(error).__name__}"


def measured(X: Any, y: Any) -> Iterator[tuple[str, str]]:
    """Digests of stability, p-values and a study."""
    curve = stability_curve(wb.ReliefF(5), X, y, n_repeats=2, cv=3, random_state=0)
    yield "stability curve", digest(curve.frame().select_dtypes("number").to_numpy())
    found = permutation_test(wb.ReliefF(5), X, y, n_permutations=20, random_state=0)
    yield "permutation test", digest(found.frame().select_dtypes("number").to_numpy())
    methods = {
        "plain": wb.WeightedKNeighborsClassifier(3),
        "relieff": wb.WeightedKNeighborsClassifier(3, wb.ReliefF(5)),
    }
    with tempfile.TemporaryDirectory() as place:
        cells = Study({"table": (X, y)}, methods, place, cv=3, n_repeats=2).run().cells
    yield "study", digest(cells["accuracy"].to_numpy(), cells["id"].to_numpy(dtype=str))


def main() -> None:
    """Print a line per result."""
    warnings.simplefilter("ignore")
    for table, (X, y) in tables().items():
        ways = [fitted_weights, classifiers] + ([measured] if table == "wine" else [])
        for way in ways:
            for name, found in way(X, y):
                print(f"{table}: {name}: {found}", flush=True)


if __name__ == "__main__":
    main()
