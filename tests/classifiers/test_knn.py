"""The weighted k-NN: its votes, its weights, its tables, and what it refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from naive.neighbors import nearest, vote
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import IntervalTable, WeightedKNeighborsClassifier, Weights
from weighbors.exceptions import (
    ForeignWeightsError,
    InvalidDataError,
    InvalidWeightsError,
    NoVoteWarning,
    UnknownCategoryError,
)
from weighbors.weights import fingerprint

RNG = np.random.default_rng


class VarianceWeigher(BaseEstimator):
    """The least a weigher can be: fit(X, y) leaves weights_."""

    def __init__(self, power=1.0, categorical_features="from_dtype"):
        self.power = power
        self.categorical_features = categorical_features

    def fit(self, X, y, sample_weight=None):
        self.seen_ = X
        self.sample_weight_ = sample_weight
        values = X.select_dtypes("number").to_numpy() if isinstance(X, pd.DataFrame) else np.asarray(X)
        self.weights_ = Weights(
            feature_weights=np.ones(np.shape(X)[1]),
            votes=np.abs(values[:, 0]) ** self.power + 1,
            instance_mask=np.arange(len(values)) % 3 != 0,
        )
        return self


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(n_samples=240, n_features=6, n_informative=4, n_classes=3, random_state=0)
    return X[:160], y[:160], X[160:]


@pytest.mark.parametrize("how", ["uniform", "distance", "complement"])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighed", [False, True])
def test_probabilities_equal_the_oracle(how, p, weighed):
    X = RNG(0).integers(0, 4, size=(80, 5)).astype(float) / 4
    Q = RNG(1).integers(0, 4, size=(40, 5)).astype(float) / 4 + 0.125
    y = RNG(2).integers(0, 3, size=80)
    parts, given = {}, None
    if weighed:
        a, omega, v = (
            2.0 ** RNG(3).integers(-3, 3, size=5),
            RNG(4).random(80),
            2.0 ** RNG(5).integers(-1, 2, size=80),
        )
        given, parts = Weights(feature_weights=a, votes=omega, instance_scales=v), {"a": a, "v": v}
    found = WeightedKNeighborsClassifier(6, given, weights=how, p=p).fit(X, y)
    expected = [
        vote(neighbors, y, [0, 1, 2], how=how, omega=omega if weighed else None, span=5 ** (1 / p))
        for neighbors in nearest(Q, X, 6, p=p, **parts)
    ]
    np.testing.assert_allclose(found.predict_proba(Q), expected, rtol=1e-12, atol=1e-12)
    assert found.predict(Q).tolist() == np.argmax(found.predict_proba(Q), axis=1).tolist()


def test_equal_votes_go_to_the_first_class_and_equal_distances_to_the_lower_row():
    X, y = np.array([[1.0], [-1.0]]), np.array(["b", "a"])
    assert WeightedKNeighborsClassifier(2).fit(X, y).predict([[0.0]]).tolist() == ["a"]
    assert WeightedKNeighborsClassifier(1).fit(X, y).predict([[0.0]]).tolist() == ["b"]


def test_omega_multiplies_votes_never_their_number():
    X, y = np.array([[0.0], [1.0], [2.0], [30.0]]), [0, 1, 1, 0]
    heavy = Weights(votes=[5.0, 1.0, 1.0, 100.0])
    model = WeightedKNeighborsClassifier(3, heavy).fit(X, y)
    assert model.predict_proba([[0.5]]).tolist() == [[5 / 7, 2 / 7]]


def test_integer_sample_weights_are_repeated_rows():
    rng = RNG(0)
    X, y, repeats = (
        rng.integers(0, 5, size=(60, 3)).astype(float),
        rng.integers(0, 3, size=60),
        rng.integers(0, 4, size=60),
    )
    Q = rng.integers(0, 5, size=(50, 3)) + 0.5
    for how in ("uniform", "distance"):
        for k in (1, 4, 9):
            weighted = WeightedKNeighborsClassifier(k, weights=how).fit(X, y, sample_weight=repeats)
            repeated = WeightedKNeighborsClassifier(k, weights=how).fit(
                np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
            )
            np.testing.assert_allclose(weighted.predict_proba(Q), repeated.predict_proba(Q), rtol=1e-12)


def test_small_sample_weights_reach_further():
    X, y = np.arange(10.0)[:, None], [0, 1] * 5
    model = WeightedKNeighborsClassifier(2).fit(X, y, sample_weight=np.full(10, 0.5))
    np.testing.assert_allclose(model.predict_proba([[-1.0]]), [[0.5, 0.5]])
    assert model.kneighbors([[-1.0]])[1].tolist() == [[0, 1]]  # always k columns
    with pytest.raises(InvalidDataError, match="sum to 1, below n_neighbors=2.*mean of 1"):
        WeightedKNeighborsClassifier(2).fit(X, y, sample_weight=np.full(10, 0.1))


def test_rows_of_weight_zero_are_gone_but_rows_keep_their_numbers():
    X, y = np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1]
    model = WeightedKNeighborsClassifier(1).fit(X, y, sample_weight=[0, 1, 1, 1, 1, 1])
    assert model.kneighbors([[0.0]])[1].tolist() == [[1]]
    assert model.kneighbors_graph([[0.0]]).shape == (1, 6)
    with pytest.raises(InvalidDataError, match="rows of weight 0 left out, there is 1 class"):
        WeightedKNeighborsClassifier(1).fit(X, y, sample_weight=[0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        WeightedKNeighborsClassifier(1).fit(X, y, sample_weight=[-1, 1, 1, 1, 1, 1])


def test_class_weight_multiplies_sample_weight(problem):
    X, y, Q = problem
    weight = {0: 3, 1: 1, 2: 2}
    a = WeightedKNeighborsClassifier(5, class_weight=weight).fit(X, y)
    b = WeightedKNeighborsClassifier(5).fit(X, y, sample_weight=[weight[label] for label in y])
    np.testing.assert_array_equal(a.predict_proba(Q), b.predict_proba(Q))
    balanced = WeightedKNeighborsClassifier(5, class_weight="balanced").fit(X, y)
    even = WeightedKNeighborsClassifier(5).fit(X, y, sample_weight=160 / 3 / np.bincount(y)[y])
    np.testing.assert_allclose(balanced.predict_proba(Q), even.predict_proba(Q))


def test_a_weigher_is_cloned_fitted_and_used(problem):
    X, y, Q = problem
    weigher = VarianceWeigher()
    model = WeightedKNeighborsClassifier(3, weigher).fit(X, y)
    assert not hasattr(weigher, "weights_")
    assert model.weights_ == model.weigher_.weights_
    assert (model.kneighbors(Q, return_distance=False) % 3 != 0).all()
    given = WeightedKNeighborsClassifier(3, model.weights_).fit(X, y)
    np.testing.assert_array_equal(given.predict_proba(Q), model.predict_proba(Q))


def test_sample_weight_reaches_a_weigher_that_takes_it(problem):
    X, y, _ = problem
    weight = RNG(0).integers(0, 3, size=len(X)).astype(float)
    model = WeightedKNeighborsClassifier(3, VarianceWeigher()).fit(X, y, sample_weight=weight)
    assert model.weigher_.sample_weight_.tolist() == weight[weight > 0].tolist()
    assert len(model.weigher_.seen_) == (weight > 0).sum()


def test_metadata_routing(problem):
    X, y, _ = problem
    weight = np.ones(len(X)) * 2
    with sklearn.config_context(enable_metadata_routing=True):
        asks = VarianceWeigher().set_fit_request(sample_weight=True)
        model = WeightedKNeighborsClassifier(3, asks).set_fit_request(sample_weight=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model).fit(
            X, y, sample_weight=weight
        )
        assert routed[-1].weigher_.sample_weight_.tolist() == weight.tolist()
        silent = VarianceWeigher().set_fit_request(sample_weight=False)
        model = WeightedKNeighborsClassifier(3, silent).fit(X, y, sample_weight=weight)
        assert model.weigher_.sample_weight_ is None


def test_a_weigher_without_weights_is_refused(problem):
    class Nothing(BaseEstimator):
        def fit(self, X, y):
            return self

    with pytest.raises(InvalidWeightsError, match="must leave a Weights as weights_"):
        WeightedKNeighborsClassifier(3, Nothing()).fit(*problem[:2])


def test_foreign_weights_are_refused(problem):
    X, y, _ = problem
    with pytest.raises(ForeignWeightsError, match="for 2 features; X has 6"):
        WeightedKNeighborsClassifier(3, Weights(feature_weights=[1, 2])).fit(X, y)
    with pytest.raises(ForeignWeightsError, match="belong to 2 training rows"):
        WeightedKNeighborsClassifier(3, Weights(votes=[1, 2])).fit(X, y)
    bound = Weights(votes=np.ones(len(X)), fingerprint=fingerprint(X))
    WeightedKNeighborsClassifier(3, bound).fit(X, y)
    with pytest.raises(ForeignWeightsError, match="other rows than X"):
        WeightedKNeighborsClassifier(3, bound).fit(X[::-1], y)
    per_class = Weights(feature_weights=np.ones((2, 6)), classes=[0, 1])
    with pytest.raises(ForeignWeightsError, match=r"also have \[2\]"):
        WeightedKNeighborsClassifier(3, per_class).fit(X, y)


def test_weights_per_class_follow_labels_not_positions():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array(["low", "high"])
    weights = Weights(feature_weights=[[1.0, 0.0], [0.0, 1.0]], classes=["low", "high"])
    distance, row = WeightedKNeighborsClassifier(2, weights).fit(X, y).kneighbors([[3.0, 5.0]])
    assert dict(zip(row[0].tolist(), distance[0].tolist(), strict=True)) == {0: 3.0, 1: 4.0}


def test_intervals_weigh_like_their_dense_copy():
    rng = RNG(0)
    X, y = rng.integers(0, 10, size=(90, 3)).astype(float), rng.integers(0, 2, size=90)
    table = IntervalTable(
        start=np.arange(0, 14, 2),
        low=[0, 6] * 6,
        high=[4, 9] * 6,
        weight=rng.random(12),
        n_features=3,
        normalize="instance",
        smoothing=0.02,
    )
    intervals = WeightedKNeighborsClassifier(5, Weights(intervals=table, classes=[0, 1])).fit(X, y)
    dense = WeightedKNeighborsClassifier(5, Weights(feature_weights=table.lookup(X, y))).fit(X, y)
    for got, expected in zip(intervals.kneighbors(X + 0.25), dense.kneighbors(X + 0.25), strict=True):
        assert got.tobytes() == expected.tobytes()


def test_explain_adds_up(problem):
    X, y, Q = problem
    names = [f"gene {j}" for j in range(6)]
    weights = Weights(feature_weights=[3, 1, 0, 2, 1, 1], votes=RNG(0).random(len(X)))
    model = WeightedKNeighborsClassifier(4, weights, weights="distance").fit(pd.DataFrame(X, columns=names), y)
    told = model.explain(pd.DataFrame(Q, columns=names)[:7])
    assert told.columns[:6].tolist() == ["query", "rank", "row", "label", "distance", "vote"]
    shares = told[[f"share of {name}" for name in names]]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares["share of gene 2"] == 0).all()
    row = model.kneighbors(pd.DataFrame(Q, columns=names)[:7], return_distance=False)
    assert told["row"].tolist() == row.ravel().tolist()
    assert (told["label"] == y[told["row"]]).all()
    first = told.loc[0].to_dict()
    expected = 3 * (Q[0, 0] - X[int(first["row"]), 0]) ** 2 / first["distance"] ** 2
    assert np.isclose(first["share of gene 0"], expected)
    votes = told.pivot_table(index="query", columns="label", values="vote", aggfunc="sum", fill_value=0)
    votes = votes.reindex(columns=model.classes_, fill_value=0)
    np.testing.assert_allclose(votes, model.predict_proba(pd.DataFrame(Q, columns=names)[:7]))


def test_explain_covers_categories_missing_values_scales_and_repetition():
    frame = pd.DataFrame({"colour": ["red", "blue", "red", None], "size": [1.0, 2.0, np.nan, 4.0]})
    model = WeightedKNeighborsClassifier(2, Weights(instance_scales=[1, 2, 1, 1])).fit(
        frame, [0, 1, 0, 1], sample_weight=[0.5, 1, 1, 2]
    )
    told = model.explain(pd.DataFrame({"colour": ["red"], "size": [1.0]}))
    assert told["row"].tolist() == [0, 1, 2, 3]  # half a row, so more than two neighbours were needed
    assert told["distance"].tolist() == [0.0, 2 * np.sqrt(2), 3.0, np.sqrt(10)]
    assert told["share of size"].tolist() == [0.0, 0.5, 1.0, 0.9]
    assert told["vote"].tolist() == [0.25, 0.5, 0.25, 0.0]


def test_mixed_tables_work_as_they_are():
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(["red", "red", "blue", "blue", "green", None]),
            "size": [1, 2, 8, 9, 5, 6],
            "flag": [True, False, True, False, True, False],
            "note": ["a", "b", "a", "b", "a", "b"],
        }
    )
    y = ["s", "s", "l", "l", "m", "m"]
    model = WeightedKNeighborsClassifier(1).fit(frame, y)
    coded = np.array(
        [[0, 1, 1, 0], [0, 2, 0, 1], [1, 8, 1, 0], [1, 9, 0, 1], [2, 5, 1, 0], [np.nan, 6, 0, 1]], dtype=float
    )
    by_hand = nearest(coded, coded, 3, nominal=[True, False, False, True])
    distance, row = model.kneighbors(frame, 3)
    assert row.tolist() == [[i for _, i in found] for found in by_hand]
    np.testing.assert_allclose(distance, [[d for d, _ in found] for found in by_hand])
    assert model.predict(frame).tolist() == y


@pytest.mark.parametrize("how", ["frame", "numbers", "text"])
def test_unknown_categories(how):
    if how == "frame":
        X = pd.DataFrame({"c": ["a", "b", "a", "b"], "n": [0.0, 0.0, 1.0, 1.0]})
        Q, options = pd.DataFrame({"c": ["z"], "n": [0.0]}), {}
    elif how == "numbers":
        X, Q = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]]), np.array([[7.0, 0]])
        options = {"categorical_features": [0]}
    else:
        X = np.array([["a", 0.0], ["b", 0.0], ["a", 1.0], ["b", 1.0]], dtype=object)
        Q, options = np.array([["z", 0.0]], dtype=object), {"categorical_features": [True, False]}
    model = WeightedKNeighborsClassifier(2, **options).fit(X, [0, 1, 0, 1])
    distance, row = model.kneighbors(Q)
    assert (distance.tolist(), row.tolist()) == ([[1.0, 1.0]], [[0, 1]])
    strict = clone(model).set_params(handle_unknown="error").fit(X, [0, 1, 0, 1])
    strict.predict(X)
    with pytest.raises(UnknownCategoryError, match="not there in fit.*handle_unknown='different'"):
        strict.predict(Q)


def test_categorical_features_by_name_number_and_mask():
    frame = pd.DataFrame({"a": [0, 5, 9, 5], "b": [0.0, 1.0, 2.0, 3.0]})
    y = [0, 1, 0, 1]
    answers = [
        WeightedKNeighborsClassifier(2, categorical_features=named).fit(frame, y).kneighbors(frame)[0].tolist()
        for named in (["a"], [0], [True, False], [-2])
    ]
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert answers[0] != WeightedKNeighborsClassifier(2).fit(frame, y).kneighbors(frame)[0].tolist()
    for named, message in [
        (["z"], "columns that X lacks: \\['z'\\]. Columns: a, b"),
        ([5], "columns \\[5\\], but the data have 2"),
        ([True], "one entry per column \\(2\\)"),
    ]:
        with pytest.raises(InvalidDataError, match=message):
            WeightedKNeighborsClassifier(2, categorical_features=named).fit(frame, y)
    with pytest.raises(InvalidDataError, match="dense table"):
        WeightedKNeighborsClassifier(2, categorical_features=[0]).fit(sparse.csr_matrix(frame), y)


def test_the_weigher_learns_which_columns_are_categories():
    X, y = np.array([[0.0, 1], [1, 2], [0, 3], [1, 4]]), [0, 1, 0, 1]
    model = WeightedKNeighborsClassifier(1, VarianceWeigher(), categorical_features=[0]).fit(X, y)
    assert model.weigher_.categorical_features.tolist() == [True, False]


def test_a_text_column_where_numbers_were():
    frame = pd.DataFrame({"c": ["a", "b"] * 3, "n": range(6)})
    model = WeightedKNeighborsClassifier(1).fit(frame, [0, 1] * 3)
    with pytest.raises(InvalidDataError, match="column 'n' was numeric in fit"):
        model.predict(frame.assign(n=["x"] * 6))


def test_missing_values_are_at_full_range():
    X = np.array([[0.0, 0.0], [10.0, 0.0], [np.nan, 1.0], [4.0, 2.0]])
    model = WeightedKNeighborsClassifier(4).fit(X, [0, 1, 0, 1])
    distance, row = model.kneighbors([[0.0, 1.0]])
    expected = {0: 1.0, 1: np.sqrt(101), 2: 10.0, 3: np.sqrt(17)}
    assert row[0].tolist() == [0, 3, 2, 1]
    np.testing.assert_allclose(distance[0], [expected[i] for i in row[0]])
    only_query = WeightedKNeighborsClassifier(1).fit(X[:2], [0, 1])
    assert only_query.kneighbors([[np.nan, 0.0]])[0].tolist() == [[10.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_dense_agree(problem, dtype):
    X, y, Q = (np.asarray(part) for part in problem)
    X, Q = np.where(np.abs(X) > 1, X, 0).astype(dtype), np.where(np.abs(Q) > 1, Q, 0).astype(dtype)
    dense, csr = (WeightedKNeighborsClassifier(3).fit(kind(X), y) for kind in (np.asarray, sparse.csr_matrix))
    for got, expected in zip(csr.kneighbors(sparse.csr_matrix(Q)), dense.kneighbors(Q), strict=True):
        assert got.tobytes() == expected.tobytes()
    np.testing.assert_array_equal(csr.predict(sparse.csc_matrix(Q)), dense.predict(Q))
    assert csr.explain(sparse.csr_matrix(Q[:2]))["row"].tolist() == dense.explain(Q[:2])["row"].tolist()


def test_bits_do_not_depend_on_jobs_order_or_container(problem):
    X, y, Q = problem
    reference = WeightedKNeighborsClassifier(5, weights="distance").fit(X, y).predict_proba(Q)
    for n_jobs in (1, 2, 4, -1):
        model = WeightedKNeighborsClassifier(5, weights="distance", n_jobs=n_jobs).fit(np.asfortranarray(X), list(y))
        assert model.predict_proba(pd.DataFrame(Q).to_numpy()).tobytes() == reference.tobytes()


def test_kneighbors_of_the_training_rows_leaves_each_one_out():
    X = np.array([[0.0], [0.0], [5.0], [7.0]])
    model = WeightedKNeighborsClassifier(2).fit(X, [0, 1, 0, 1])
    assert model.kneighbors(return_distance=False).tolist() == [[1, 2], [0, 2], [3, 0], [2, 0]]
    assert model.kneighbors_graph(mode="distance").toarray()[2].tolist() == [5.0, 0, 0, 2.0]
    with pytest.raises(InvalidDataError, match="only 3 training rows besides the query itself"):
        model.kneighbors(n_neighbors=4)
    with pytest.raises(InvalidDataError, match="mode must be"):
        model.kneighbors_graph(mode="other")


BAD_INPUT = {
    "infinity": (np.array([[1.0], [np.inf]]), [0, 1], "infinity.*row 1, column 0"),
    "one class": ([[1.0], [2.0]], [3, 3], "at least 2 classes are needed; got 1 class \\(3\\)"),
    "labels missing": ([[1.0], [2.0]], [0, np.nan], "1 labels are missing \\(the first in row 1\\)"),
    "labels None": ([[1.0], [2.0]], np.array(["a", None], dtype=object), "1 labels are missing"),
    "no labels": ([[1.0], [2.0]], None, "target y is None"),
    "continuous labels": ([[1.0], [2.0]], [0.5, 1.7], "Unknown label type"),
    "two outputs": ([[1.0], [2.0]], [[0, 1], [1, 0]], "1d array"),
    "too few labels": ([[1.0], [2.0]], [0], "inconsistent numbers of samples|at least 2 classes"),
    "one dimension": ([1.0, 2.0], [0, 1], "2D array"),
    "three dimensions": (np.ones((2, 2, 2)), [0, 1], "dim 3|2D|2-dim"),
    "no rows": (np.ones((0, 2)), [], "0 sample"),
    "no columns": (np.ones((2, 0)), [0, 1], "0 feature"),
    "complex": (np.ones((2, 2)) * 1j, [0, 1], "Complex data not supported"),
    "text": (np.array([["a"], ["b"]]), [0, 1], "convert"),
    "objects": (np.array([[{}], [1]], dtype=object), [0, 1], "number|float"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_refused(name):
    X, y, message = BAD_INPUT[name]
    with pytest.raises((ValueError, TypeError), match=message):
        WeightedKNeighborsClassifier(1).fit(X, y)


def test_bad_queries_are_refused(problem):
    X, y, Q = problem
    model = WeightedKNeighborsClassifier(3).fit(X, y)
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.predict(Q[:, :3])
    with pytest.raises(InvalidDataError, match="infinity"):
        model.predict(Q * np.inf)
    with pytest.raises(InvalidDataError, match="overflow"):
        model.predict(Q * 1e300)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(Q[:0])
    for k in (0, 1.5, -3):
        with pytest.raises(InvalidDataError, match="whole number of at least 1"):
            model.kneighbors(Q, k)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"weigher": 3}, "weigher"),
        ({"weights": "inverse"}, "weights"),
        ({"p": 3}, "'p'"),
        ({"backend": "ball"}, "backend"),
        ({"handle_unknown": "ignore"}, "handle_unknown"),
        ({"categorical_features": "all"}, "categorical_features"),
        ({"class_weight": "fair"}, "class_weight"),
    ],
)
def test_bad_parameters_are_refused(problem, options, message):
    with pytest.raises(ValueError, match=message):
        WeightedKNeighborsClassifier(**options).fit(*problem[:2])


def test_more_neighbours_than_rows_are_refused(problem):
    X, y, _ = problem
    with pytest.raises(InvalidDataError, match="n_neighbors=200.*only 160 training rows.*smaller"):
        WeightedKNeighborsClassifier(200).fit(X, y)
    few = Weights(instance_mask=np.arange(160) < 4)
    with pytest.raises(InvalidDataError, match="only 4 training rows"):
        WeightedKNeighborsClassifier(5, few).fit(X, y)


def test_complement_votes_can_all_be_silent():
    model = WeightedKNeighborsClassifier(2, weights="complement").fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.warns(NoVoteWarning):
        assert model.predict([[50.0]]).tolist() == [1]


def test_scikit_learn_habits(problem):
    X, y, Q = problem
    model = WeightedKNeighborsClassifier(3, VarianceWeigher())
    search = GridSearchCV(model, {"n_neighbors": [1, 3], "weigher__power": [0.5, 2.0]}, cv=3).fit(X, y)
    assert set(search.best_params_) == {"n_neighbors", "weigher__power"}
    assert cross_val_score(make_pipeline(StandardScaler(), WeightedKNeighborsClassifier(5)), X, y).mean() > 0.6
    fitted = model.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(Q), fitted.predict_proba(Q))
    assert "scan" in str(fitted.plan_)
    text = WeightedKNeighborsClassifier(3).fit(X, np.array(["x", "y", "z"])[y])
    assert set(text.predict(Q)) <= {"x", "y", "z"}
    assert text.score(X, np.array(["x", "y", "z"])[y]) > 0.7


def test_feature_names_are_kept_and_checked():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = WeightedKNeighborsClassifier(3).fit(X, y)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])


@pytest.mark.parametrize("backend", ["scan", "tree", "faiss"])
def test_backends_give_the_same_answers(problem, backend):
    if backend == "faiss":
        pytest.importorskip("faiss")
    X, y, Q = problem
    expected = KNeighborsClassifier(5).fit(X, y).predict_proba(Q)
    np.testing.assert_array_equal(WeightedKNeighborsClassifier(5, backend=backend).fit(X, y).predict_proba(Q), expected)


def test_what_is_set_after_fit_is_checked_and_used(problem):
    X, y, Q = problem
    model = WeightedKNeighborsClassifier(3).fit(X, y).set_params(n_neighbors=500)
    with pytest.raises(InvalidDataError, match="n_neighbors=500"):
        model.predict(Q)
    model.set_params(n_neighbors=3, n_jobs=2)
    assert model.predict(Q).shape == (80,)


def test_a_failed_fit_leaves_nothing_to_predict_with(problem):
    X, y, Q = problem
    model = WeightedKNeighborsClassifier(500)
    with pytest.raises(InvalidDataError):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(Q)


def test_without_queries_the_training_rows_are_left_out_one_by_one(problem):
    X, y, _ = problem
    for weigher in (None, Weights(instance_mask=np.arange(len(X)) % 2 == 0)):
        model = WeightedKNeighborsClassifier(3, weigher).fit(X, y)
        kept = np.arange(len(X)) if weigher is None else np.flatnonzero(weigher.instance_mask)
        for i in (0, 1, 57):
            rest = kept[kept != i]
            alone = WeightedKNeighborsClassifier(3).fit(X[rest], y[rest])
            np.testing.assert_array_equal(model.predict_proba(None)[i], alone.predict_proba(X[[i]])[0])
    expected = KNeighborsClassifier(3).fit(X, y).predict(None)
    np.testing.assert_array_equal(WeightedKNeighborsClassifier(3).fit(X, y).predict(None), expected)


def test_scikit_learns_other_spellings(problem):
    X, y, Q = problem
    expected = WeightedKNeighborsClassifier(3).fit(X, y).predict(Q)
    assert WeightedKNeighborsClassifier(3, weights=None, p=2.0).fit(X, y).predict(Q).tolist() == expected.tolist()
    with np.errstate(divide="ignore"):
        inverse = WeightedKNeighborsClassifier(3, weights=lambda d: 1 / d).fit(X, y).predict_proba(X[:3])
    by_name = WeightedKNeighborsClassifier(3, weights="distance").fit(X, y).predict_proba(X[:3])
    np.testing.assert_array_equal(inverse, by_name)


def test_codes_do_not_depend_on_the_container():
    rng = RNG(0)
    frame = pd.DataFrame({"c": pd.Categorical(rng.choice([1, 2, 0], 200)), "n": rng.random(200) * 0.1})
    y = frame["c"].to_numpy().astype(int)
    model = WeightedKNeighborsClassifier(3).fit(frame, y)
    with pytest.warns(UserWarning, match="feature names"):
        assert model.score(frame.to_numpy(dtype=float), y) == model.score(frame, y) == 1.0
    numbers = WeightedKNeighborsClassifier(3, categorical_features=[0]).fit(frame.to_numpy(dtype=float), y)
    with pytest.warns(UserWarning, match="feature names"):
        assert numbers.score(frame, y) == 1.0
    lists = WeightedKNeighborsClassifier(1, categorical_features=[0]).fit([["a", 1], ["b", 2], ["a", 3]], [0, 1, 0])
    assert lists.predict([["b", 2]]).tolist() == [1]


def test_names_of_weights_are_checked():
    frame = pd.DataFrame({"a": [0.0, 1, 2], "b": [0.0, 1, 2]})
    with pytest.raises(ForeignWeightsError, match="column 0 is 'a' in X and 'b' in the weights"):
        WeightedKNeighborsClassifier(1, Weights(feature_weights=[1, 2], feature_names=["b", "a"])).fit(frame, [0, 1, 0])


@pytest.mark.parametrize("other", [[], ["category"]])
def test_dates_and_complex_numbers_are_refused_by_name(other):
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", None]), "n": [1.0, 2.0]})
    for kind in other:
        frame["c"] = pd.Series(["x", "y"]).astype(kind)
    with pytest.raises(InvalidDataError, match="column 'when' holds dates.*days since"):
        WeightedKNeighborsClassifier(1).fit(frame, [0, 1])
    with pytest.raises(InvalidDataError, match="Complex data not supported: column 'z'"):
        WeightedKNeighborsClassifier(1).fit(frame.drop(columns="when").assign(z=[1j, 2]), [0, 1])


def test_weights_as_repetitions_at_the_border():
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    WeightedKNeighborsClassifier(6).fit(X, y, sample_weight=np.full(60, 0.1)).predict(X[:2])
    few = WeightedKNeighborsClassifier(5).fit(X[:3], [0, 1, 1], sample_weight=[3, 3, 3])
    repeated = WeightedKNeighborsClassifier(5).fit(np.repeat(X[:3], 3, axis=0), np.repeat([0, 1, 1], 3))
    np.testing.assert_allclose(few.predict_proba([[0.2]]), repeated.predict_proba([[0.2]]))
    kept = Weights(instance_mask=np.arange(60) < 4)
    with pytest.raises(InvalidDataError, match="below n_neighbors=3"):
        WeightedKNeighborsClassifier(3, kept).fit(X, y, sample_weight=np.r_[np.full(4, 0.2), np.full(56, 1.0)])
    for weight in ({0: np.inf, 1: 1}, {0: -1, 1: 1}, {0: np.nan, 1: 1}):
        with pytest.raises(InvalidDataError, match="class_weight must be finite"):
            WeightedKNeighborsClassifier(1, class_weight=weight).fit(X, y)
    WeightedKNeighborsClassifier(3, VarianceWeigher()).fit(X, y, sample_weight=2.0)


def test_mixed_frames_keep_float32():
    frame = pd.DataFrame({"c": ["a", "b"] * 4, "n": np.arange(8, dtype=np.float32)})
    assert WeightedKNeighborsClassifier(1).fit(frame, [0, 1] * 4).kneighbors(frame)[0].dtype == np.float32


def test_sparse_formats_reach_a_weigher(problem):
    X, y, _ = problem

    class Counting(BaseEstimator):
        def fit(self, X, y):
            self.weights_ = Weights(feature_weights=np.ones(X.shape[1]))
            return self

    assert WeightedKNeighborsClassifier(3, Counting()).fit(sparse.coo_matrix(X), y).score(X, y) > 0.5
