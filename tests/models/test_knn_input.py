"""The weighted k-NN: its tables, its habits, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from naive.neighbors import nearest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.stubs import VarianceWeigher, three_classes

from weighbors import ReliefF, WeightedKNeighborsClassifier, Weights
from weighbors.exceptions import (
    ForeignWeightsError,
    InvalidDataError,
    NoVoteWarning,
    UnknownCategoryError,
)

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def problem():
    return three_classes()


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


@pytest.mark.parametrize(
    ("model", "weigher", "told"),
    [
        ([0], [1], r"ReliefF has categorical_features=\[1\], the columns \['b'\], .* those in \['a'\]"),
        (["a"], ["a", "b"], r"the columns \['a', 'b'\]"),
        ([0], None, r"the columns \[\]"),
        (None, [0], r"those in \[\]"),
        ("from_dtype", [0], r"those in \[\]"),
    ],
)
def test_other_categories_than_the_weigher_are_refused(model, weigher, told):
    rng = np.random.default_rng(0)
    frame, y = pd.DataFrame(rng.integers(0, 3, size=(30, 3)), columns=list("abc")), np.arange(30) % 2
    learner = ReliefF(2, categorical_features=weigher)
    with pytest.raises(InvalidDataError, match=told):
        WeightedKNeighborsClassifier(1, learner, categorical_features=model).fit(frame, y)
    if model != ["a"]:
        with pytest.raises(InvalidDataError, match="Give both the same"):
            WeightedKNeighborsClassifier(1, learner, categorical_features=model).fit(frame.to_numpy().tolist(), y)


def test_the_same_categories_in_other_words():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, size=(30, 3)), columns=list("abc"))
    y = (frame["a"] > 0).to_numpy()
    for model, weigher in ((["a"], [0]), ([0, 2], [True, False, True]), ([0], "from_dtype"), (None, []), ([-3], ["a"])):
        learner = ReliefF(2, categorical_features=weigher)
        fitted = WeightedKNeighborsClassifier(1, learner, categorical_features=model).fit(frame, y)
        np.testing.assert_array_equal(fitted.weigher_._coder.nominal, fitted._table.nominal)
        assert fitted.partial_fit(frame, y, refresh=True).n_samples_fit_ == 60


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


class Spread(BaseEstimator):
    """A user's own weigher, which takes all columns for numbers."""

    def fit(self, X, y):
        if len(y) < 3:
            raise ValueError("too few rows")
        self.weights_ = Weights(feature_weights=np.asarray(X).std(axis=0))
        return self


def test_an_own_weigher_that_fails_on_categories_says_which_columns_they_are():
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "blue"]})
    with pytest.raises(TypeError) as raised:
        WeightedKNeighborsClassifier(1, Spread()).fit(table, [0, 1, 0, 1])
    assert "Spread got a table with categories (column 'colour')" in raised.value.__notes__[0]
    with pytest.raises(ValueError, match="too few") as refused:  # categories did not cause this error
        WeightedKNeighborsClassifier(1, Spread()).fit(table[["size"]][:2], [0, 1])
    assert not hasattr(refused.value, "__notes__")


def test_the_weigher_learns_which_columns_are_categories():
    X, y = np.array([[0.0, 1], [1, 2], [0, 3], [1, 4]]), [0, 1, 0, 1]
    model = WeightedKNeighborsClassifier(1, VarianceWeigher(), categorical_features=[0]).fit(X, y)
    assert model.weigher_.categorical_features.tolist() == [True, False]


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


def test_kneighbors_of_the_training_rows_leaves_each_one_out():
    X = np.array([[0.0], [0.0], [5.0], [7.0]])
    model = WeightedKNeighborsClassifier(2).fit(X, [0, 1, 0, 1])
    assert model.kneighbors(return_distance=False).tolist() == [[1, 2], [0, 2], [3, 0], [2, 0]]
    assert model.kneighbors_graph(mode="distance").toarray()[2].tolist() == [5.0, 0, 0, 2.0]
    with pytest.raises(InvalidDataError, match="only 3 training rows besides the query itself"):
        model.kneighbors(n_neighbors=4)
    with pytest.raises(InvalidDataError, match="mode must be"):
        model.kneighbors_graph(mode="other")


def test_bad_queries_are_refused(problem):
    X, y, Q = problem
    model = WeightedKNeighborsClassifier(3).fit(X, y)
    with pytest.raises(InvalidDataError, match="overflow"):
        model.predict(Q * 1e300)
    for k in (0, 1.5, -3):
        with pytest.raises(InvalidDataError, match="whole number of at least 1"):
            model.kneighbors(Q, k)


def test_more_neighbours_than_rows_are_refused(problem):
    X, y, _ = problem
    with pytest.raises(InvalidDataError, match="n_neighbors=200.*only 160 training rows.*smaller"):
        WeightedKNeighborsClassifier(200).fit(X, y).predict(X)
    few = Weights(instance_mask=np.arange(160) < 4)
    with pytest.raises(InvalidDataError, match="only 4 training rows"):
        WeightedKNeighborsClassifier(5, few).fit(X, y).predict(X)


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
    assert "scan" in str(model.fit(X, y).plan_)
    text = WeightedKNeighborsClassifier(3).fit(X, np.array(["x", "y", "z"])[y])
    assert set(text.predict(Q)) <= {"x", "y", "z"}
    assert text.score(X, np.array(["x", "y", "z"])[y]) > 0.7


@pytest.mark.parametrize("backend", ["scan", "tree", "single"])
def test_backends_give_the_same_answers(problem, backend):
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
    model = WeightedKNeighborsClassifier(5)
    with pytest.raises(InvalidDataError):
        model.fit(X, np.zeros(len(y)))
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
    with pytest.raises(InvalidDataError, match="column 'z' holds complex numbers"):
        WeightedKNeighborsClassifier(1).fit(frame.drop(columns="when").assign(z=[1j, 2]), [0, 1])


def test_weights_as_repetitions_at_the_border():
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    WeightedKNeighborsClassifier(6).fit(X, y, sample_weight=np.full(60, 0.1)).predict(X[:2])
    few = WeightedKNeighborsClassifier(5).fit(X[:3], [0, 1, 1], sample_weight=[3, 3, 3])
    repeated = WeightedKNeighborsClassifier(5).fit(np.repeat(X[:3], 3, axis=0), np.repeat([0, 1, 1], 3))
    np.testing.assert_allclose(few.predict_proba([[0.2]]), repeated.predict_proba([[0.2]]))
    kept = Weights(instance_mask=np.arange(60) < 4)
    light = np.r_[np.full(4, 0.2), np.full(56, 1.0)]  # the kept rows sum to 0.8: they are scaled
    model = WeightedKNeighborsClassifier(3, kept).fit(X, y, sample_weight=light)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[2 / 3, 1 / 3]])
    with pytest.raises(InvalidDataError, match="n_neighbors=5.*only 4 training rows.*sum to 4"):
        model.set_params(n_neighbors=5).predict(X)
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
