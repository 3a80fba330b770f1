"""The classifier with learned votes: explanations, weights, what a fitted model keeps, and bad input."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.preprocessing import scale
from support.vote_tables import MODES, model_of, table

from weighbors import (
    GradientWeights,
    IntervalTable,
    LearnedVotesClassifier,
    NCAWeights,
    ReliefF,
    RepresentativeIntervals,
    Stratified,
    Weights,
)
from weighbors.exceptions import ForeignWeightsError, InvalidDataError, InvalidWeightsError

# --- explanations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [None, 3, 0])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_explanations_add_up_to_the_scores(mode, classes, top):
    X, y = table(50, classes=classes)
    labels = np.array(["a", "b", "c"])[y]
    s = np.random.default_rng(0).uniform(1.0, 3.0, 50)
    model = model_of(mode).fit(X, labels, s)
    queries = X[:5] + 0.05
    told = model.explain(queries, top=top)
    votes = [f"vote for {label}" for label in model.classes_]
    sums = told.groupby("query")[votes].sum().to_numpy()
    np.testing.assert_allclose(sums, model._scores(queries), atol=1e-10)
    rows = told[told["voter"] == "row"]
    assert (rows["label"].to_numpy() == labels[rows["row"].to_numpy()]).all()
    shares = rows[[f"share of x{j}" for j in range(4)]].to_numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    weights = model.feature_importances_
    for (_, row), share in zip(rows.iterrows(), shares, strict=True):
        terms = weights * np.abs(queries[row["query"]] - X[row["row"]]) ** model.p_
        np.testing.assert_allclose(share, terms / terms.sum(), atol=1e-9)
        assert row["distance"] == pytest.approx(terms.sum() ** (1 / model.p_))
    if top is not None:
        assert (told.groupby("query").size() <= top + 2).all()


def test_explanations_of_repeated_rows_add_up():
    X, y = table(20)
    model = LearnedVotesClassifier(None, None).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    told = model.explain(X[:3])
    np.testing.assert_allclose(
        told.groupby("query")[[f"vote for {c}" for c in range(3)]].sum(), model.decision_function(X[:3]), atol=1e-10
    )
    assert (told["voter"] == "row").sum() == 60  # 20 different rows for each of 3 queries


def test_explanations_of_float32_add_up():
    X, y = table(50)
    for mode in MODES:
        model = model_of(mode).fit(X.astype(np.float32), y)
        told = model.explain(X[:5].astype(np.float32))
        sums = told.groupby("query")[[f"vote for {c}" for c in range(3)]].sum()
        np.testing.assert_allclose(sums, model.decision_function(X[:5].astype(np.float32)), atol=1e-5)


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["all rows", "nearest rows"])
def test_given_feature_weights_are_scaled_columns(mode):
    X, y = table()
    a = np.array([2.0, 0.5, 0.0, 1.0])
    weighed = model_of(mode, weigher=Weights(feature_weights=a)).fit(X, y)
    columns = model_of(mode).fit(X * a, y)
    np.testing.assert_allclose(weighed.decision_function(X), columns.decision_function(X * a), atol=1e-8)
    assert (weighed.feature_importances_ == a).all()
    mask = np.array([True, False, True, True])
    masked = model_of(mode, weigher=Weights(feature_mask=mask)).fit(X, y)
    np.testing.assert_allclose(
        masked.decision_function(X), model_of(mode).fit(X[:, mask], y).decision_function(X[:, mask]), atol=1e-8
    )
    assert "given weights" in str(masked.plan_)
    assert (masked.explain(X[:1])["share of x1"].dropna() == 0).all()


def test_rows_that_a_mask_leaves_out_are_not_there():
    X, y = table()
    mask = np.arange(60) % 3 == 0
    model = LearnedVotesClassifier(weigher=Weights(instance_mask=mask)).fit(X, y)
    alone = LearnedVotesClassifier(weigher=None).fit(X[mask], y[mask])
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(model.alpha_[mask], alone.alpha_)
    assert not model.alpha_[~mask].any()
    assert model.loo_rows_.tolist() == np.flatnonzero(mask).tolist()
    assert model.loo_score_ == alone.loo_score_
    assert set(model.explain(X[:1])["row"]) == {-1, *np.flatnonzero(mask)}
    near = LearnedVotesClassifier(5, Weights(instance_mask=mask)).fit(X, y)
    assert set(near.explain(X)["row"]) <= {-1, *np.flatnonzero(mask)}


def test_a_missing_value_is_at_the_range_of_all_rows():
    X, y = table()
    X[0, 0], X[1, 0], X[3, 0] = 9.0, -9.0, np.nan  # row 0 is selected, row 1 is not
    mask = np.arange(60) % 3 == 0
    model = LearnedVotesClassifier(None, Weights(instance_mask=mask), width=1.0, ridge=0.1).fit(X, y)
    distance = model.explain(X[[6]])["distance"][model.explain(X[[6]])["row"] == 3].item()
    others = np.abs(X[3, 1:] - X[6, 1:]).sum()
    np.testing.assert_allclose(distance - others, 18.0)


def test_many_selected_rows_are_searched_for_the_nearest(monkeypatch):
    X, y = table()
    monkeypatch.setattr("weighbors.votes.fit.ALL_ROWS", 10)
    mask = np.arange(60) % 3 == 0
    model = LearnedVotesClassifier(weigher=Weights(instance_mask=mask)).fit(X, y)
    assert "nearest rows vote: 20 different rows" in str(model.plan_)
    assert set(model.explain(X)["row"]) <= {-1, *np.flatnonzero(mask)}


def test_a_mask_and_votes_stay_with_their_rows_if_others_have_weight_zero():
    X, y = table()
    weight = np.where(np.arange(60) < 5, 0.0, 1.0)
    mask = np.arange(60) % 3 == 0
    one = LearnedVotesClassifier(weigher=Weights(instance_mask=mask)).fit(X, y, weight)
    other = LearnedVotesClassifier(weigher=Weights(instance_mask=mask[5:])).fit(X[5:], y[5:])
    assert (one.decision_function(X) == other.decision_function(X)).all()
    assert ((one.alpha_ != 0).any(axis=1) == mask & (weight > 0)).all()
    votes = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    one = LearnedVotesClassifier(None, Weights(votes=votes)).fit(X, y, weight)
    other = LearnedVotesClassifier(None, Weights(votes=votes[5:])).fit(X[5:], y[5:])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-12)
    with pytest.raises(ForeignWeightsError, match="60 training rows"):
        LearnedVotesClassifier(None, Weights(votes=votes)).fit(X[5:], y[5:])


def test_given_votes_multiply_the_sample_weights():
    X, y = table()
    votes = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    one = LearnedVotesClassifier(None, Weights(votes=votes)).fit(X, y)
    other = LearnedVotesClassifier(None, None).fit(X, y, votes / votes.mean())
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)
    never = Weights(votes=np.where(np.arange(60) == 3, 0.0, 1.0))
    assert np.isfinite(LearnedVotesClassifier(None, never).fit(X, y).decision_function(X)).all()


def refused():
    n, m = 60, 4
    X, y = table()
    intervals = RepresentativeIntervals(discretize="mdlp").fit(X, y).weights_
    assert isinstance(intervals.intervals, IntervalTable)
    return {
        "class": Weights(feature_weights=np.random.default_rng(0).uniform(size=(3, m)), classes=[0, 1, 2]),
        "instance": Weights(feature_weights=np.random.default_rng(0).uniform(size=(n, m))),
        "scales": Weights(instance_scales=np.linspace(1, 2, n)),
        "interval": intervals,
    }


@pytest.mark.parametrize("kind", ["class", "instance", "scales", "interval"])
@pytest.mark.parametrize("mode", ["all rows", "nearest rows"])
def test_weights_of_the_stored_side_are_refused(mode, kind):
    X, y = table()
    with pytest.raises(InvalidWeightsError, match="same in both directions.*Use weights per feature"):
        model_of(mode, weigher=refused()[kind]).fit(X, y)


def test_weights_of_other_columns_are_refused():
    X, y = table()
    with pytest.raises(ForeignWeightsError, match="3 features"):
        LearnedVotesClassifier(weigher=Weights(feature_weights=[1.0, 2.0, 3.0])).fit(X, y)


@pytest.mark.parametrize("mode", ["all rows", "nearest rows"])
def test_a_weigher_is_cloned_and_fitted(mode):
    X, y = table()
    weigher = ReliefF(5)
    model = model_of(mode, weigher=weigher).fit(X, y)
    assert not hasattr(weigher, "weights_")
    np.testing.assert_array_equal(model.feature_importances_, ReliefF(5).fit(X, y).weights_.feature_weights)
    given = model_of(mode, weigher=model.weights_).fit(X, y)
    np.testing.assert_allclose(given.decision_function(X), model.decision_function(X), atol=1e-12)


def test_sample_weights_are_routed_to_the_weigher():
    seen = []

    class Recorder(ReliefF):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight)
            return super().fit(X, y)

    X, y = table()
    s = np.linspace(0.5, 2.0, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LearnedVotesClassifier(weigher=Recorder().set_fit_request(sample_weight=True))
        model.set_fit_request(sample_weight=True)
        model.fit(X, y, sample_weight=s)
        assert model.get_metadata_routing().consumes("fit", ["sample_weight"]) == {"sample_weight"}
    np.testing.assert_array_equal(seen[-1], s)


# --- objects and plans -----------------------------------------------------------------------------------------------


def test_the_plan_says_who_votes_and_where_the_weights_come_from(monkeypatch):
    X, y = table(80)
    assert "all rows vote: 80 different rows" in str(LearnedVotesClassifier().fit(X, y).plan_)
    assert "equal weights" in str(LearnedVotesClassifier(weigher=None).fit(X, y).plan_)
    for mode in ("nearest rows", "all rows"):
        plan = str(model_of(mode, weigher="auto").fit(X, y).plan_)
        assert "learned" in plan
        assert "given" not in plan
    monkeypatch.setattr("weighbors.votes.fit.ALL_ROWS", 50)
    plan = str(LearnedVotesClassifier(weigher=None).fit(X, y).plan_)
    assert "nearest rows vote: 80 different rows are more than 50" in plan
    assert "79 vote for a query" in plan
    assert "all rows vote: n_neighbors=None" in str(LearnedVotesClassifier(None, None).fit(X, y).plan_)


def test_the_choice_lists_what_was_tried():
    X, y = table(80)
    model = LearnedVotesClassifier().fit(X, y)
    tried = model.choice_
    grid = tried[tried["choice"] == "width and ridge"]
    assert len(grid) == 40
    best = grid.loc[grid["loss"].idxmin()]
    assert (best["width"], best["ridge"]) == (model.width_, model.ridge_)
    assert len(tried[tried["choice"] == "feature weights"]) == 7


# --- bad input -------------------------------------------------------------------------------------------------------


def test_bad_data_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match="class|row|sample"):
        LearnedVotesClassifier().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="2 classes"):
        LearnedVotesClassifier().fit(X, y, (y == 0).astype(float))
    model = LearnedVotesClassifier(weigher=None).fit(X, y)
    for method in (model.predict, model.predict_proba, model.decision_function, model.explain):
        with pytest.raises(ValueError, match="features"):
            method(X[:, :3])


def test_what_does_not_fit_into_memory_is_refused_with_alternatives(monkeypatch):
    X, y = table()
    monkeypatch.setattr("weighbors.votes.fit.available_bytes", lambda: 1000)
    with pytest.raises(InvalidDataError, match="n_neighbors=100"):
        LearnedVotesClassifier(weigher=None).fit(X, y)
    LearnedVotesClassifier(10, None).fit(X, y)
    monkeypatch.setattr("weighbors.votes.fit.available_bytes", lambda: None)
    LearnedVotesClassifier(weigher=None).fit(scale(X), y)


def test_explanations_of_repeated_neighbours_with_a_tiny_ridge_add_up():
    X, y = table(30, classes=2)
    model = LearnedVotesClassifier(10, None, width=5.0, ridge=1e-15).fit(np.r_[X, X], np.r_[y, 1 - y])
    sums = model.explain(X).groupby("query")[["vote for 0", "vote for 1"]].sum()
    np.testing.assert_allclose(sums, model._scores(X), atol=1e-5)


@pytest.mark.parametrize("mode", ["all rows", "nearest rows"])
@pytest.mark.parametrize("weigher", [GradientWeights(1.0), GradientWeights(), NCAWeights()], ids=str)
def test_weights_learned_on_strata(weigher, mode):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.where(X[:, 1] + 0.5 * X[:, 4] > 0, "up", "down")
    strata = Stratified(weigher, 2, random_state=0)
    model = model_of(mode, weigher=strata).fit(X[:240], y[:240])
    assert model.weights_ == clone(strata).fit(X[:240], y[:240]).weights_
    assert set(np.argsort(model.feature_importances_)[-2:]) == {1, 4}
    assert model.score(X[240:], y[240:]) > 0.8
