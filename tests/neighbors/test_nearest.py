"""`WeightedNearestNeighbors` beside scikit-learn's `NearestNeighbors`, and beside the distance by the book."""

import numpy as np
import pandas as pd
import pytest
from naive.neighbors import nearest
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.neighbors import NearestNeighbors
from support.per_class import PerClassRelief

from weighbors import (
    MBIW,
    NCAWeights,
    ReliefF,
    WeightedKNeighborsClassifier,
    WeightedNearestNeighbors,
    Weights,
)
from weighbors.engine import NeighborEngine
from weighbors.engine import engine as engine_module
from weighbors.exceptions import BackendError, ForeignWeightsError, InvalidDataError, InvalidWeightsError

REAL = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}


def made(seed):
    """A table of 20 to 320 rows and 1 to 30 columns without equal distances."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(20 + 15 * seed, 1 + (7 * seed) % 30)) * rng.uniform(0.1, 10)


TABLES = {
    **{f"made {seed}": made(seed) for seed in range(16)},
    **{name: load().data[:300] for name, load in REAL.items()},
}


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("name", TABLES)
def test_neighbours_are_scikit_learns(name, p):
    X = TABLES[name]
    ours, theirs = WeightedNearestNeighbors(6, p=p).fit(X[::2]), NearestNeighbors(n_neighbors=6, p=p).fit(X[::2])
    for queries in (None, X[1::2]):
        distance, row = ours.kneighbors(queries)
        wanted, wanted_row = theirs.kneighbors(queries)
        np.testing.assert_allclose(distance, wanted, rtol=1e-9, atol=1e-9)
        for d, one, other in zip(distance, row, wanted_row, strict=True):
            if name not in REAL:
                assert one.tolist() == other.tolist()
            # Real tables have ties. Rows nearer than the last one are neighbours whatever their order.
            certain = d < d[-1] * (1 - 1e-9)
            assert set(one[certain]) == set(other[: certain.sum()])
        np.testing.assert_array_equal(ours.kneighbors(queries, return_distance=False), row)
    assert ours.effective_metric_ == theirs.effective_metric_
    assert (ours.n_samples_fit_, ours.n_features_in_) == (theirs.n_samples_fit_, theirs.n_features_in_)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("name", TABLES)
def test_rows_within_a_radius_are_scikit_learns(name, p):
    X = TABLES[name]
    ours, theirs = WeightedNearestNeighbors(p=p).fit(X[::2]), NearestNeighbors(p=p).fit(X[::2])
    # Halfway between two distances, so that rounding decides nothing.
    found = np.unique(theirs.kneighbors(X[1::2], 5)[0])
    gap = np.diff(found).argmax() if name in REAL else len(found) // 2
    radius = float(found[gap : gap + 2].mean())
    for queries in (None, X[1::2]):
        distance, row = ours.radius_neighbors(queries, radius)
        wanted, wanted_row = theirs.radius_neighbors(queries, radius, sort_results=True)
        for one, other, at, there in zip(distance, wanted, row, wanted_row, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)
            assert sorted(at.tolist()) == sorted(there.tolist())
        for mode in ("connectivity", "distance"):
            graph, expected = (one.radius_neighbors_graph(queries, radius, mode) for one in (ours, theirs))
            np.testing.assert_allclose(graph.toarray(), expected.toarray(), rtol=1e-7, atol=1e-7)


def test_graphs_are_scikit_learns():
    X = TABLES["made 9"]
    ours, theirs = WeightedNearestNeighbors(4).fit(X), NearestNeighbors(n_neighbors=4).fit(X)
    for queries in (None, X[:7] + 0.1):
        for mode in ("connectivity", "distance"):
            graph, wanted = (one.kneighbors_graph(queries, 3, mode=mode) for one in (ours, theirs))
            np.testing.assert_allclose(graph.toarray(), wanted.toarray(), atol=1e-9)
            assert graph.format == "csr"


def messy(seed=0, n=40):
    """Numbers and categories with ties, copies and missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 4, n).astype(float),
            "b": rng.normal(size=n).round(1),
            "c": rng.choice(["x", "y", "z"], n),
        }
    )
    frame.loc[rng.random(n) < 0.15, "a"] = np.nan
    frame.loc[rng.random(n) < 0.1, "c"] = None
    return pd.concat([frame, frame[:5]], ignore_index=True), rng


def coded(frame):
    return np.column_stack([frame["a"], frame["b"], pd.factorize(frame["c"], use_na_sentinel=True)[0]]).astype(float)


def weights_of(kind, n, rng):
    return {
        "none": {},
        "feature": {"a": np.array([0.5, 2.0, 1.5])},
        "a column left out": {"a": np.array([0.5, 0.0, 1.5])},
        "instance": {"a": rng.uniform(0.5, 2, (n, 3))},
        "scales": {"v": rng.uniform(0.5, 2, n)},
        "mask": {"t": rng.random(n) < 0.7},
    }[kind]


NAMES = {"a": "feature_weights", "v": "instance_scales", "t": "instance_mask"}


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", ["none", "feature", "a column left out", "instance", "scales", "mask"])
def test_mixed_tables_are_searched_by_the_book(kind, p):
    frame, rng = messy()
    parts = weights_of(kind, len(frame), rng)
    weights = Weights(**{NAMES[name]: value for name, value in parts.items()})
    model = WeightedNearestNeighbors(7, weights, p=p).fit(frame)
    codes = coded(frame)
    codes[codes[:, 2] < 0, 2] = np.nan
    book = nearest(codes, codes, len(codes), p=p, nominal=[False, False, True], own=range(len(codes)), **parts)
    distance, row = model.kneighbors()
    near, within = model.radius_neighbors(radius=1.0)
    for number, found in enumerate(book):
        np.testing.assert_allclose(distance[number], [d for d, _ in found[:7]], rtol=1e-12)
        inside = [(d, i) for d, i in found if d <= 1.0 + 1e-12]
        np.testing.assert_allclose(near[number], [d for d, _ in inside], rtol=1e-12)
        if kind not in ("feature", "a column left out", "instance", "scales"):  # their rounding breaks ties of the book
            assert row[number].tolist() == [i for _, i in found[:7]]
            assert within[number].tolist() == [i for _, i in inside]


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["none", "feature", "a column left out", "instance", "scales", "mask"])
def test_lists_within_a_radius_are_the_beginnings_of_all_neighbours(kind, dtype, p, monkeypatch):
    """To the bit, also where a distance is exactly the radius, in parts of references, batches and threads."""
    frame, rng = messy(1, 150)
    X = coded(frame).astype(dtype)
    weights = Weights(**{NAMES[name]: value for name, value in weights_of(kind, len(X), rng).items()})
    options = {"weights": weights, "p": p, "nominal": np.array([False, False, True])}
    engine, own = NeighborEngine(X, **options), np.arange(len(X))
    distance, row = engine.search(X, engine.n_references, own_row=own)
    in_parts = NeighborEngine(X, **options, part_bytes=1)
    monkeypatch.setattr(engine_module, "_MOST_FOUND", 1)
    for radius in (0.0, 0.5, 1.0, float(distance[3, 9]), float(distance[4, 11]), 50.0):
        inside = (distance <= radius) & (row >= 0)
        for one, n_jobs in ((engine, 1), (engine, 2), (in_parts, 1)):
            found = one.search_radius(X, radius, own_row=own, n_jobs=n_jobs)
            np.testing.assert_array_equal(found.start, np.append(0, np.cumsum(inside.sum(axis=1))))
            np.testing.assert_array_equal(found.row, row[inside])
            np.testing.assert_array_equal(found.distance, distance[inside])


def test_a_search_within_limits_needs_one_group():
    engine = NeighborEngine(np.eye(3), groups=np.array([0, 1, 1]), n_groups=2)
    with pytest.raises(InvalidDataError, match="one group"):
        next(engine.search_within(np.eye(3), np.ones(3)))


def test_a_weigher_learns_from_the_target():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = (X - X.mean()) / X.std()
    model = WeightedNearestNeighbors(5, ReliefF()).fit(X, y)
    knn = WeightedKNeighborsClassifier(5, ReliefF()).fit(X, y)
    assert model.weights_ == knn.weights_
    np.testing.assert_array_equal(model.kneighbors()[1], knn.kneighbors()[1])
    assert model.effective_metric_ == "minkowski"
    theirs = NearestNeighbors(
        n_neighbors=5, metric="minkowski", p=2, metric_params={"w": model.effective_metric_params_["w"]}
    )
    np.testing.assert_allclose(theirs.fit(X).kneighbors()[0], model.kneighbors()[0])
    numeric = WeightedNearestNeighbors(5, NCAWeights()).fit(X[:60], X["alcohol"][:60] + 0.25)
    assert numeric.weigher_.target_type_ == "numeric"
    per_class = WeightedNearestNeighbors(5, PerClassRelief()).fit(X, y)
    assert per_class.effective_metric_ == "weighted"
    assert per_class.effective_metric_params_ == {}
    assert WeightedNearestNeighbors(5, MBIW()).fit(X, y).effective_metric_ == "euclidean"  # votes change no distance


def test_copies_come_by_row_number_and_a_row_is_never_its_own_neighbour():
    X = np.repeat(np.eye(3), 4, axis=0)
    model = WeightedNearestNeighbors(4).fit(X)
    assert model.kneighbors(X)[1][5].tolist() == [4, 5, 6, 7]
    assert model.kneighbors(n_neighbors=3)[1][5].tolist() == [4, 6, 7]
    assert model.radius_neighbors(radius=0.0)[1][5].tolist() == [4, 6, 7]
    assert model.radius_neighbors_graph(radius=0.0, mode="distance").nnz == 36  # distances of 0 are stored


def test_dbscan_takes_the_graph():
    X = np.concatenate([made(3)[:30, :2], made(4)[:30, :2] + 30])
    graph = WeightedNearestNeighbors(radius=5.0).fit(X).radius_neighbors_graph(X, mode="distance", sort_results=True)
    ours = DBSCAN(eps=5.0, metric="precomputed").fit_predict(graph)
    np.testing.assert_array_equal(ours, DBSCAN(eps=5.0).fit_predict(X))


def test_the_plan_says_what_runs():
    assert "scan" in str(WeightedNearestNeighbors().fit(made(2)).plan_)
    assert WeightedNearestNeighbors(backend="tree").fit(made(2)).plan_.backend == "tree"
    with pytest.raises(BackendError, match="missing values"):
        WeightedNearestNeighbors(backend="tree").fit([[1.0], [np.nan], [2.0]])


def test_bad_input_is_refused():
    X = made(2)
    model = WeightedNearestNeighbors(3).fit(X)
    with pytest.raises(InvalidDataError, match="only 49 training rows besides the query itself"):
        model.kneighbors(n_neighbors=50)
    with pytest.raises(InvalidDataError, match="n_neighbors must be a whole number of at least 1; got 0"):
        model.kneighbors(X, 0)
    for bad in (-1.0, np.nan, "1", True, None):
        with pytest.raises((InvalidDataError, ValueError), match="radius"):
            clone(model).set_params(radius=bad).fit(X).radius_neighbors()
    with pytest.raises(InvalidDataError, match="radius must be a number of at least 0; got -2"):
        model.radius_neighbors(radius=-2)
    with pytest.raises(InvalidDataError, match="mode must be"):
        model.kneighbors_graph(mode="weights")
    with pytest.raises(InvalidDataError, match="sort_results"):
        model.radius_neighbors(sort_results=True, return_distance=False)
    with pytest.raises(
        InvalidDataError, match=r"ReliefF requires y to be passed, but the target y is None. Use fit\(X, y\)"
    ):
        WeightedNearestNeighbors(3, ReliefF()).fit(X)
    per_class = Weights(feature_weights=np.ones((2, X.shape[1])), classes=[0, 1])
    with pytest.raises(InvalidWeightsError, match="weights per class need the class of every row"):
        WeightedNearestNeighbors(3, per_class).fit(X)
    with pytest.raises(ForeignWeightsError, match="for 2 features"):
        WeightedNearestNeighbors(3, Weights(feature_weights=[1, 2])).fit(X)
    with pytest.raises(ForeignWeightsError, match="belong to 3 training rows"):
        WeightedNearestNeighbors(3, Weights(instance_scales=[1, 2, 3])).fit(X)
