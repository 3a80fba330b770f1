"""The weighted k-NN for numeric targets: its means, its weights, its explanations, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naive.neighbors import mean_target, nearest
from scipy import sparse

from weighbors import (
    MBIW,
    NCAWeights,
    ReliefF,
    WeightedKNeighborsRegressor,
    Weights,
)
from weighbors.engine import mean_targets
from weighbors.exceptions import ForeignWeightsError, InvalidDataError, NoVoteWarning

RNG = np.random.default_rng


def ties(n=80, n_outputs=None):
    """Rows on a small grid, so that many distances are equal, queries between them, and targets."""
    X = RNG(0).integers(0, 4, size=(n, 5)).astype(float) / 4
    Q = np.concatenate([RNG(1).integers(0, 4, size=(30, 5)) / 4 + 0.125, X[:10]])
    y = RNG(2).normal(size=n if n_outputs is None else (n, n_outputs))
    return X, y, Q


@pytest.mark.parametrize("how", ["uniform", "distance", "complement"])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighed", ["no weights", "weights", "masks"])
@pytest.mark.parametrize("n_outputs", [None, 1, 3])
def test_means_equal_the_oracle(how, p, weighed, n_outputs):
    X, y, Q = ties(n_outputs=n_outputs)
    parts, omega, given = {}, None, None
    if weighed == "weights":
        a, omega, v = 2.0 ** RNG(3).integers(-3, 3, size=5), RNG(4).random(80), 2.0 ** RNG(5).integers(-1, 2, size=80)
        given, parts = Weights(feature_weights=a, votes=omega, instance_scales=v), {"a": a, "v": v}
    if weighed == "masks":
        a, s, t = RNG(3).integers(0, 8, (80, 5)) / 8, np.array([1, 0, 1, 1, 0], dtype=bool), RNG(6).random(80) < 0.7
        given, parts = Weights(feature_weights=a, feature_mask=s, instance_mask=t), {"a": a, "s": s, "t": t}
    model = WeightedKNeighborsRegressor(6, given, weights=how, p=p).fit(X, y)
    found = nearest(Q, X, 6, p=p, **parts)
    expected = [mean_target(one, y, how=how, omega=omega, span=5 ** (1 / p)) for one in found]
    predicted = model.predict(Q)
    assert predicted.dtype == np.float64
    np.testing.assert_allclose(predicted, expected, rtol=1e-11, atol=1e-12)
    told = model.explain(Q)
    targets = ["target"] if n_outputs is None else [f"target of output {t}" for t in range(n_outputs)]
    sums = told[targets].mul(told["vote"], axis=0).groupby(told["query"]).sum().to_numpy()
    np.testing.assert_allclose(sums.reshape(predicted.shape), predicted, rtol=1e-11, atol=1e-12)
    assert told.columns[:3].tolist() == ["query", "rank", "row"]
    np.testing.assert_array_equal(told[targets].to_numpy().ravel(), y[told["row"]].ravel())
    share = told.filter(like="share of").sum(axis=1)
    np.testing.assert_allclose(share, np.where(told["distance"] > 0, 1.0, 0.0))
    out = model.predict(None)
    kept = np.flatnonzero(parts["t"]) if "t" in parts else np.arange(80)
    left = [
        mean_target(nearest(X[i : i + 1], X, 6, p=p, own=[i], **parts)[0], y, how=how, omega=omega, span=5 ** (1 / p))
        for i in kept[:5]
    ]
    np.testing.assert_allclose(out[kept[:5]], left, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("p", [1, 2])
def test_categories_and_missing_values_equal_the_oracle(p):
    rng = RNG(0)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 5, 70) / 2, "kind": rng.choice(list("xyz"), 70), "b": rng.integers(0, 3, 70) / 4}
    )
    frame.loc[rng.random(70) < 0.2, "a"] = np.nan
    frame.loc[rng.random(70) < 0.2, "kind"] = None
    y = rng.normal(size=70)
    codes = frame["kind"].map({"x": 0.0, "y": 1.0, "z": 2.0})
    table = np.column_stack([frame["a"], codes, frame["b"]])
    model = WeightedKNeighborsRegressor(4, p=p, weights="distance").fit(frame[:50], y[:50])
    found = nearest(table[50:], table[:50], 4, nominal=[False, True, False], p=p)
    expected = [mean_target(one, y, how="distance") for one in found]
    np.testing.assert_allclose(model.predict(frame[50:]), expected, rtol=1e-11)
    polars = pl.from_pandas(frame)
    again = WeightedKNeighborsRegressor(4, p=p, weights="distance").fit(polars[:50], pl.Series(y[:50]))
    np.testing.assert_array_equal(again.predict(polars[50:]), model.predict(frame[50:]))


@pytest.mark.parametrize("how", ["uniform", "distance", "complement"])
@pytest.mark.parametrize("k", [1, 4, 9])
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoVoteWarning")
def test_integer_weights_are_repeated_rows(how, k):
    rng = RNG(0)
    X, y, repeats = rng.integers(0, 5, size=(60, 3)) / 4, rng.normal(size=(60, 2)), rng.integers(0, 4, size=60)
    Q = np.concatenate([rng.integers(0, 5, size=(30, 3)) / 4 + 0.125, X[:10], 50 + X[:5]])
    weighted = WeightedKNeighborsRegressor(k, weights=how).fit(X, y, sample_weight=repeats)
    copies = np.repeat(np.arange(60), repeats)
    repeated = WeightedKNeighborsRegressor(k, weights=how).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.predict(Q), repeated.predict(Q), rtol=1e-11, atol=1e-13)
    found = nearest(Q, X[copies], k)
    expected = [mean_target(one, y[copies], how=how, span=3**0.5) for one in found]
    np.testing.assert_allclose(weighted.predict(Q), expected, rtol=1e-11, atol=1e-13)
    assert set(weighted.explain(Q)["row"]) <= set(np.flatnonzero(repeats))


def test_small_weights_are_scaled_and_fractions_reach_further():
    X, y = np.arange(10.0)[:, None], np.arange(10.0) ** 2
    half = WeightedKNeighborsRegressor(2).fit(X, y, sample_weight=np.full(10, 0.5))
    assert half.predict([[-1.0]]).tolist() == [(0 + 1 + 4 + 9) / 4]
    weight = RNG(0).random(10) + 0.1
    for total in (1.0, 2.0, 1e-300):
        small = WeightedKNeighborsRegressor(2).fit(X, y, weight / weight.sum() * total)
        np.testing.assert_allclose(
            small.predict(X), WeightedKNeighborsRegressor(2).fit(X, y, weight / weight.mean()).predict(X), rtol=1e-9
        )


def test_only_neighbours_at_distance_zero_vote():
    X, y = [[0.0], [0.0], [1.0], [2.0]], [1.0, 3.0, 50.0, 60.0]
    model = WeightedKNeighborsRegressor(3, weights="distance").fit(X, y)
    assert model.predict([[0.0], [1.0]]).tolist() == [2.0, 50.0]
    assert model.explain([[0.0]])["vote"].tolist() == [0.5, 0.5, 0.0]


def test_where_no_neighbour_has_a_vote_they_count_by_their_sample_weights():
    X, y = [[0.0], [10.0], [20.0]], [1.0, 4.0, 100.0]
    with pytest.warns(NoVoteWarning, match="of 1 queries.*counted equally"):
        assert WeightedKNeighborsRegressor(2, weights="complement").fit(X, y).predict([[-50.0]]).tolist() == [2.5]
    silent = WeightedKNeighborsRegressor(2, Weights(votes=[0.0, 0.0, 1.0])).fit(X, y, sample_weight=[1.5, 1, 1])
    with pytest.warns(NoVoteWarning, match="by their sample weights alone"):
        assert silent.predict([[-50.0]]).tolist() == [(1.5 + 0.5 * 4) / 2]


def test_outputs_do_not_depend_on_each_other_or_on_the_other_queries():
    X, y, Q = ties(200, 3)
    model = WeightedKNeighborsRegressor(7, weights="distance").fit(X, y)
    together = model.predict(Q)
    for t in range(3):
        alone = WeightedKNeighborsRegressor(7, weights="distance").fit(X, y[:, t])
        np.testing.assert_array_equal(alone.predict(Q), together[:, t])
    np.testing.assert_array_equal(np.concatenate([model.predict(Q[i : i + 1]) for i in range(len(Q))]), together)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("p", "backends"), [(1, ("auto", "tree", "bytes")), (2, ("auto", "tree"))])
def test_the_same_bits_for_all_threads_backends_and_layouts(dtype, p, backends):
    rng = RNG(0)
    X, y, Q = rng.normal(size=(700, 4)).astype(dtype), rng.normal(size=(700, 2)), rng.normal(size=(300, 4))
    options = {"n_neighbors": 5, "weights": "distance", "p": p}
    expected = WeightedKNeighborsRegressor(**options, backend="scan").fit(X, y).predict(Q)
    for backend in backends:
        for n_jobs in (1, 2, 3):
            model = WeightedKNeighborsRegressor(**options, backend=backend, n_jobs=n_jobs).fit(X, y)
            assert model.predict(Q).tobytes() == expected.tobytes()
    model = WeightedKNeighborsRegressor(**options).fit(np.asfortranarray(X), np.asfortranarray(y))
    assert model.predict(np.asfortranarray(Q)).tobytes() == expected.tobytes()
    assert "scan" in str(WeightedKNeighborsRegressor(backend="scan").fit(X, y).plan_)


def test_whole_targets_give_floats_and_containers_do_not_matter():
    X, y, Q = ties()
    y = (10 * y).astype(int)
    expected = WeightedKNeighborsRegressor(3).fit(X, y).predict(Q)
    assert expected.dtype == np.float64
    for given in (y.tolist(), y.astype(object), pd.Series(y), pd.Series(y, dtype="Int64"), pl.Series(y), y * 1.0):
        np.testing.assert_array_equal(WeightedKNeighborsRegressor(3).fit(X, given).predict(Q), expected)
    two = np.column_stack([y, -y])
    for given in (two, two.tolist(), pd.DataFrame(two), pl.DataFrame(two), two.astype(object)):
        np.testing.assert_array_equal(
            WeightedKNeighborsRegressor(3).fit(X, given).predict(Q), np.column_stack([expected, -expected])
        )
    single = WeightedKNeighborsRegressor(3).fit(X.astype(np.float32), y.astype(np.float32)).predict(Q)
    assert single.dtype == np.float64


def test_extreme_targets_do_not_overflow():
    X, y = np.arange(6.0)[:, None], np.array([1.7e308] * 3 + [-1.7e308] * 3)
    for how in ("uniform", "distance", lambda d: np.full(d.shape, 1e308)):
        model = WeightedKNeighborsRegressor(3, weights=how).fit(X, y)
        np.testing.assert_allclose(model.predict([[1.1]]), 1.7e308)
    assert mean_targets(np.array([1e-320, 3e-320]), np.array([[0, 1]]), None)[0] == 2e-320


def test_constant_targets_and_one_row_are_enough_without_a_weigher():
    X, y, Q = ties()
    assert (WeightedKNeighborsRegressor(3).fit(X, np.full(80, 2.5)).predict(Q) == 2.5).all()
    assert WeightedKNeighborsRegressor(1).fit([[1.0]], [7]).predict([[5.0]]).tolist() == [7.0]
    chosen = WeightedKNeighborsRegressor("auto", "auto").fit(X, np.full(80, 2.5))
    assert chosen.n_neighbors_ == 1
    assert chosen.weigher_ is None
    assert chosen.choice_.r2.isna().all()
    with pytest.raises(InvalidDataError, match="y is constant"):
        WeightedKNeighborsRegressor(3, NCAWeights()).fit(X, np.full(80, 2.5))
    model = WeightedKNeighborsRegressor(3).fit(X[:2], y[:2])
    with pytest.raises(InvalidDataError, match="n_neighbors=3 neighbours are wanted, but there are only 2"):
        model.predict(Q)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["1.5", "2.5", "3.5"], r"must hold numbers.*'1.5'.*pandas.to_numeric.*use a classifier"),
        (np.array([1.5, "2.5", 3], dtype=object), r"must hold numbers.*pandas.to_numeric"),
        (pd.Series(["1", "2", "3"], dtype="string"), "must hold numbers"),
        ([1.0, np.nan, 2.0], r"Input y contains NaN: 1 targets are missing .the first in row 1"),
        ([[1.0, 2.0], [3.0, 4.0], [3.0, np.nan]], r"1 targets are missing .the first in row 2"),
        ([1.0, 2.0, -np.inf], r"Input y contains infinity: 1 targets .*row 2"),
        ([1 + 2j, 2, 3], "must hold numbers; got complex128.*y.real"),
        (np.array([1 + 2j, 2, 3], dtype=object), "must hold numbers; got object"),
        (np.array(["2020", "2021", "2022"], dtype="M8[Y]"), "must hold numbers; got datetime"),
        (np.zeros((3, 2, 2)), r"shape \(n_samples,\) or \(n_samples, n_outputs\); got the shape \(3, 2, 2\)"),
        (np.zeros((3, 0)), r"got the shape \(3, 0\)"),
        (3.0, r"got the shape \(\)"),
        (sparse.csr_matrix(np.eye(3)), r"sparse matrix.*y.toarray\(\)"),
    ],
)
def test_bad_targets_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        WeightedKNeighborsRegressor(1).fit([[0.0], [1.0], [2.0]], y)


def test_bad_tables_and_parameters_are_refused():
    X, y, _ = ties()
    with pytest.raises(TypeError, match="class_weight"):
        WeightedKNeighborsRegressor(class_weight="balanced")
    with pytest.raises(ForeignWeightsError, match="3 features; X has 5"):
        WeightedKNeighborsRegressor(weigher=Weights(feature_weights=[1.0, 2, 3])).fit(X, y)
    per_class = Weights(feature_weights=np.ones((2, 5)), classes=["a", "b"])
    with pytest.raises(ForeignWeightsError, match="per class, and a numeric target has no classes"):
        WeightedKNeighborsRegressor(weigher=per_class).fit(X, y)


@pytest.mark.parametrize(
    ("weigher", "message"),
    [
        (ReliefF(), "ReliefF needs classes, and this is a regressor. Use RReliefF; or give Weights"),
        (MBIW(), "MBIW needs classes.*a LearnedVotesRegressor learns a vote for each row"),
        (NCAWeights(target_type="classes"), "NCAWeights needs classes.*Write target_type='numeric'"),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_weighers_of_classes_are_refused_even_if_targets_are_whole(weigher, message, whole):
    X, y, _ = ties()
    with pytest.raises(InvalidDataError, match=message):
        WeightedKNeighborsRegressor(3, weigher).fit(X, y.round() if whole else y)
