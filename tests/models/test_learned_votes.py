"""The classifier with learned votes: what it answers, and that nothing else than the data changes the answer."""

import numpy as np
import pandas as pd
import pytest
from naive import learned_votes as naive
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.vote_tables import MODES, coded_table, model_of, scores_of, table

from weighbors import LearnedVotesClassifier, Weights
from weighbors.exceptions import InvalidDataError, WeighborsError

# --- what it computes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_scores_of_all_rows_are_those_of_the_book(p, missing):
    coded = coded_table(0, 40, categories=2, missing=missing if p == 1 else missing / 5, classes=3)
    frame = pd.DataFrame(coded.X)
    for j in np.flatnonzero(coded.nominal):
        frame[j] = frame[j].map(lambda v: None if np.isnan(v) else f"c{int(v)}").astype("category")
    frame.columns = [f"f{j}" for j in range(frame.shape[1])]
    model = LearnedVotesClassifier(None, None, p=p, width=1.5, ridge=0.1).fit(frame, coded.codes)
    K = naive.kernel(naive.all_distances(coded.X, p=p, nominal=coded.nominal), 1.5)
    alpha = naive.ridge_votes(K, coded.Y, 0.1)
    np.testing.assert_allclose(model.alpha_, alpha, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, coded.Y.mean(axis=0))
    left_out = naive.left_out_scores(K, coded.Y, 0.1)
    np.testing.assert_allclose(model.loo_decision_function_, left_out, atol=1e-8)
    assert (model.loo_predictions_ == left_out.argmax(axis=1)).all()
    assert model.loo_score_ == np.mean(left_out.argmax(axis=1) == coded.codes)
    to_rows = naive.distances(coded.X[:9], coded.X, p=p, nominal=coded.nominal)
    expected = coded.Y.mean(axis=0) + naive.kernel(to_rows, 1.5) @ alpha
    np.testing.assert_allclose(model.decision_function(frame[:9]), expected, atol=1e-9)
    assert (model.predict(frame[:9]) == expected.argmax(axis=1)).all()


def test_the_nearest_rows_vote_as_the_loop_says():
    coded = coded_table(1, 40, classes=3)
    model = LearnedVotesClassifier(6, None, width=1.0, ridge=0.1).fit(coded.X, coded.codes)
    queries = coded.X[:8] + 0.1
    expected = naive.local_scores(queries, coded.X, coded.Y, 6, 1.0, 0.1, p=1)
    np.testing.assert_allclose(model.decision_function(queries), expected, atol=1e-9)
    left_out = naive.local_scores(coded.X, coded.X, coded.Y, 6, 1.0, 0.1, p=1, own=range(40))
    np.testing.assert_allclose(model.loo_decision_function_, left_out, atol=1e-9)
    assert model.alpha_ is None


def test_two_classes_have_one_decision_and_its_sign_is_the_class():
    X, y = table(classes=2)
    model = LearnedVotesClassifier(weigher=None).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (60,)
    assert ((decision > 0) == (model.predict(X) == 1)).all()
    np.testing.assert_allclose(model.loo_decision_function_.sum(axis=1), 1.0)


@pytest.mark.parametrize("mode", MODES)
def test_probabilities_are_positive_sum_to_one_and_keep_the_order(mode):
    X, y = table()
    model = model_of(mode).fit(X, y)
    chance, scores = model.predict_proba(X), model.decision_function(X)
    assert (chance > 0).all()
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert (chance.argsort(axis=1) == scores.argsort(axis=1)).all()
    assert (model.classes_[chance.argmax(axis=1)] == model.predict(X)).all()


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_it_is_a_good_classifier(load):
    X, y = load(return_X_y=True)
    for options in ({}, {"n_neighbors": 30}):
        model = make_pipeline(StandardScaler(), LearnedVotesClassifier(weigher=None, **options))
        assert cross_val_score(model, X, y, cv=3).mean() > 0.93


# --- what must not change the answer ---------------------------------------------------------------------------------


def test_threads_change_no_bit_of_large_tables():
    X, y = table(450, classes=2)  # so many that width and ridge are searched for
    one, two = (LearnedVotesClassifier(None, None, n_jobs=n).fit(X, y) for n in (1, 2))
    assert (one.decision_function(X) == two.decision_function(X)).all()


@pytest.mark.parametrize("mode", ["all rows", "nearest rows", "learned weights"])
def test_the_order_of_rows_changes_nothing(mode):
    X, y = table(80)
    order = np.random.default_rng(1).permutation(80)
    one, other = model_of(mode).fit(X, y), model_of(mode).fit(X[order], y[order])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(one.loo_decision_function_[order], other.loo_decision_function_, atol=1e-9)


@pytest.mark.parametrize("weigher", [None, "auto"])
@pytest.mark.parametrize("p", [1, 2])
def test_whole_weights_are_repetitions(weigher, p):
    X, y = table(45)
    s = np.random.default_rng(0).integers(1, 4, 45)
    rows = np.repeat(np.arange(45), s)
    one = LearnedVotesClassifier(None, weigher, p=p, random_state=0).fit(X, y, s)
    often = LearnedVotesClassifier(None, weigher, p=p, random_state=0).fit(X[rows], y[rows])
    assert (one.width_, one.ridge_) == pytest.approx((often.width_, often.ridge_))
    np.testing.assert_allclose(one.predict_proba(X), often.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(one.loo_decision_function_[rows], often.loo_decision_function_, atol=1e-8)
    np.testing.assert_allclose(one.feature_importances_, often.feature_importances_, atol=1e-9)
    # The votes of the copies of a row add up to the vote of the row.
    summed = np.zeros_like(one.alpha_)
    np.add.at(summed, rows, often.alpha_)
    np.testing.assert_allclose(summed, one.alpha_, atol=1e-8)


@pytest.mark.parametrize("mode", MODES)
def test_a_row_of_weight_zero_is_as_if_it_were_not_there(mode):
    X, y = table(50)
    weight = np.ones(50)
    gone = [0, 7, 8, 30]
    weight[gone] = 0.0
    kept = np.flatnonzero(weight)
    one, other = model_of(mode).fit(X, y, weight), model_of(mode).fit(X[kept], y[kept])
    assert (one.predict_proba(X) == other.predict_proba(X)).all()
    assert one.loo_score_ == other.loo_score_
    # Row numbers are those of the rows that were given.
    np.testing.assert_array_equal(one.loo_rows_, kept[other.loo_rows_])
    np.testing.assert_array_equal(one.loo_decision_function_, other.loo_decision_function_)
    if one.alpha_ is not None:
        assert one.alpha_.shape == (50, 3)
        assert (one.alpha_[gone] == 0).all()
        np.testing.assert_array_equal(one.alpha_[kept], other.alpha_)
    told, same = one.explain(X[:2]), other.explain(X[:2])
    numbers = same["row"].to_numpy(copy=True)
    numbers[numbers >= 0] = kept[numbers[numbers >= 0]]
    np.testing.assert_array_equal(told["row"], numbers)
    for row, label in zip(told["row"], told["label"], strict=True):
        assert row < 0 or y[row] == label


def test_weights_with_a_small_mean_only_say_which_rows_count_more():
    X, y = table(50)
    s = np.random.default_rng(0).uniform(0.5, 1.5, 50)
    s /= s.mean()
    one, small = (LearnedVotesClassifier(None, None).fit(X, y, weight) for weight in (s, s / 1000))
    np.testing.assert_allclose(one.decision_function(X), small.decision_function(X), atol=1e-9)


def test_class_weights_are_sample_weights():
    X, y = table(60, classes=2)
    by_class = LearnedVotesClassifier(None, None, class_weight={0: 1, 1: 3}).fit(X, y)
    by_row = LearnedVotesClassifier(None, None).fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=1e-12)
    balanced = LearnedVotesClassifier(None, None, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.intercept_, 0.5)
    without = LearnedVotesClassifier(None, None, class_weight={0: 1, 1: 1, 2: 0}).fit(*table(60))
    assert 2 not in without.predict(X)


def test_labels_may_be_text_or_bools():
    X, y = table()
    plain = LearnedVotesClassifier(weigher=None).fit(X, y)
    text = LearnedVotesClassifier(weigher=None).fit(X, np.array(["a", "b", "c"])[y])
    assert (text.predict(X) == np.array(["a", "b", "c"])[plain.predict(X)]).all()
    assert text.loo_predictions_.dtype.kind == "U"
    truth = LearnedVotesClassifier(weigher=None).fit(X, y == 1)
    assert truth.predict(X).dtype == bool


@pytest.mark.parametrize("mode", MODES)
def test_float32_is_close_to_float64(mode):
    X, y = table(60)
    single, double = (
        model_of(mode).fit(X.astype(np.float32), y),
        model_of(mode).fit(X.astype(np.float32).astype(float), y),
    )
    np.testing.assert_allclose(
        single.predict_proba(X.astype(np.float32)), double.predict_proba(X.astype(np.float32).astype(float)), atol=1e-4
    )


# --- tables that are hard --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_hundred_classes_some_of_one_row(mode):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(100), rng.integers(0, 50, 150)])
    X = rng.normal(size=(250, 4)) + y[:, None] % 10
    model = model_of(mode).fit(X, y)
    chance = model.predict_proba(X[:20])
    assert chance.shape == (20, 100)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)


@pytest.mark.parametrize("mode", MODES)
def test_duplicates_with_different_labels(mode):
    X, _ = table(30)
    X = np.tile(X[:10], (6, 1))
    y = np.arange(60) // 10 % 2
    model = model_of(mode, ridge=1e-9).fit(X, y)
    np.testing.assert_allclose(scores_of(model, X[:10]), 0.5, atol=0.35 if "nearest" in mode else 1e-3)


@pytest.mark.parametrize("mode", MODES)
def test_constant_features(mode):
    y = np.arange(40) % 2
    model = model_of(mode).fit(np.ones((40, 3)), y)
    assert np.isfinite(model.predict_proba(np.ones((2, 3)))).all()
    X, y = table(60)
    with_constant = model_of(mode).fit(np.column_stack([X, np.full(60, 7.0)]), y)
    without = model_of(mode).fit(X, y)
    np.testing.assert_allclose(
        with_constant.predict_proba(np.column_stack([X, np.full(60, 7.0)])), without.predict_proba(X), atol=1e-9
    )


@pytest.mark.parametrize("mode", MODES)
def test_two_rows_are_enough(mode):
    model = model_of(mode).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    chance = model.predict_proba([[0.1, 0.9], [0.9, 0.1]])
    assert np.isfinite(chance).all()
    if mode == "all rows":
        assert model.predict([[0.1, 0.9], [0.9, 0.1]]).tolist() == ["a", "b"]


def test_wide_tables():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3000))
    X[:, :40] += 2 * y[:, None]
    for options in ({"weigher": None}, {"n_neighbors": 10, "weigher": None}, {}):
        model = LearnedVotesClassifier(**options).fit(X[:40], y[:40])
        assert model.score(X[40:], y[40:]) > 0.8


def test_frames_with_categories_missing_and_unknown_ones():
    X, y = table(60)
    colour = np.array(["red", "green", "blue"])[y].astype(object)
    colour[::9] = None
    frame = pd.DataFrame(
        {"a": X[:, 0], "colour": pd.Categorical(colour), "b": np.where(X[:, 1] > 1.5, np.nan, X[:, 1])}
    )
    for mode in MODES:
        model = model_of(mode).fit(frame, y)
        assert model.feature_names_in_.tolist() == ["a", "colour", "b"]
        asked = frame[:4].assign(colour=["red", "violet", None, "blue"])
        assert np.isfinite(model.predict_proba(asked)).all()
        told = model.explain(asked)
        assert {"share of a", "share of colour", "share of b"} <= set(told.columns)
    assert LearnedVotesClassifier(random_state=0).fit(frame, y).weights_.feature_names == ("a", "colour", "b")
    strict = model_of("all rows", handle_unknown="error").fit(frame, y)
    with pytest.raises(WeighborsError, match="violet"):
        strict.predict(asked)
    # An unknown category differs from all known ones: it is as far as a missing one.
    unknown, missing = (model.decision_function(asked[:1].assign(colour=value)) for value in ("violet", None))
    np.testing.assert_allclose(unknown, missing)


def test_extreme_parameters_give_finite_scores():
    X, y = table(40, classes=2)
    for options in ({"width": 1e-320}, {"width": 1e308}, {"ridge": 1e-300}, {"ridge": 1e300}):
        for mode in ("all rows", "nearest rows"):
            model = model_of(mode, **options).fit(np.r_[X, X], np.r_[y, 1 - y])
            assert np.isfinite(model.predict_proba(X)).all(), (options, mode)


def test_large_numbers_are_only_a_scale():
    X, y = table(50)
    plain = LearnedVotesClassifier(None, None).fit(X, y)
    for factor in (1e-100, 1e100):
        other = LearnedVotesClassifier(None, None).fit(X * factor, y)
        np.testing.assert_allclose(other.decision_function(X * factor), plain.decision_function(X), atol=1e-9)
    with pytest.raises(InvalidDataError, match="rescale|Replace"):
        LearnedVotesClassifier(None, None).fit(X * 1e307, y)


@pytest.mark.parametrize("kind", ["dense", "missing", "sparse"])
@pytest.mark.parametrize("mode", MODES)
def test_a_row_alone_has_the_bits_that_it_has_among_others(mode, kind):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(90, 7)), rng.normal(size=(33, 7))
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
        Q[rng.random(Q.shape) < 0.1] = np.nan
    if kind == "sparse":
        X, Q = sparse.csr_matrix(X * (X > 1)), sparse.csr_matrix(Q * (Q > 1))
    model = model_of(mode).fit(X, rng.integers(0, 3, 90))
    together = model.decision_function(Q)
    np.testing.assert_array_equal(together, np.vstack([model.decision_function(Q[i : i + 1]) for i in range(33)]))


@pytest.mark.parametrize("k", [5, 6, 1000])
def test_as_many_neighbors_as_rows_are_all_rows(k):
    X, y = np.random.default_rng(0).normal(size=(5, 2)), [0, 1, 0, 1, 0]
    model, every = LearnedVotesClassifier(k, None).fit(X, y), LearnedVotesClassifier(None, None).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), every.decision_function(X))
    assert str(model.plan_).startswith(f"all rows vote: n_neighbors={k} is at least the number of rows, 5")
    masked = Weights(instance_mask=[True, True, True, True, False])
    assert LearnedVotesClassifier(4, masked).fit(X, y).plan_.voters == "all rows"
    assert LearnedVotesClassifier(4, None).fit(X, y).plan_.voters == "nearest rows"


def test_of_equal_probabilities_the_first_class_is_predicted(monkeypatch):
    model = LearnedVotesClassifier(None, None).fit([[0.0], [1.0], [3.0], [4.0]], ["a", "b", "a", "b"])
    scores = np.array([[0.5, np.nextafter(0.5, 1)], [0.25, 0.75]])
    monkeypatch.setattr(type(model), "_scores", lambda self, X: scores)
    probabilities = model.predict_proba(scores)
    assert probabilities[0, 0] == probabilities[0, 1]  # the larger score is lost in rounding
    assert model.predict(scores).tolist() == ["a", "b"]
