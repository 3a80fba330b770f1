"""The weighted k-NN for numeric targets: weighers, values chosen for "auto", further rows, scikit-learn's tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from naive.neighbors import mean_target, nearest
from scipy import sparse
from sklearn.datasets import load_diabetes, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from support.stubs import VarianceWeigher

from weighbors import (
    GradientWeights,
    LearnedVotesRegressor,
    NCAWeights,
    RReliefF,
    WeightedKNeighborsClassifier,
    WeightedKNeighborsRegressor,
    Weights,
)
from weighbors.exceptions import InvalidDataError, InvalidWeightsError
from weighbors.models import choice

RNG = np.random.default_rng
NCA = NCAWeights(max_iter=5, tol=1.0)


def problem(n=60, n_outputs=1, seed=0):
    """Rows without equal distances, of which two features matter, and targets."""
    rng = RNG(seed)
    X = rng.normal(size=(n, 4))
    y = 3 * X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=n)
    return X, y if n_outputs == 1 else np.column_stack([y, *(100 * rng.normal(size=(n_outputs - 1, n)))])


def naive_choice(X, y, counts, kinds, powers):
    """R² and squared error of every candidate: each row is predicted by its nearest other rows."""
    tried, every = {}, range(len(X))
    for p in powers:
        for k in counts:
            for kind in kinds:
                found = nearest(X, X, k, p=p, own=every)
                left_out = [mean_target(one, y, how=kind) for one in found]
                tried[p, k, kind] = r2_score(y, left_out), mean_squared_error(y, left_out)
    return tried


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("seed", range(2))
def test_without_a_weigher_the_choice_is_that_of_a_loop(n_outputs, seed):
    X, y = problem(14 + 5 * seed, n_outputs, seed)
    counts = (1, 3, 7)
    tried = naive_choice(X, y, counts, ["uniform", "distance"], [2, 1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "N_NEIGHBORS", counts)
        model = WeightedKNeighborsRegressor("auto", weights="auto", p="auto").fit(X, y)
    frame = model.choice_
    assert list(frame.columns) == ["weigher", "p", "n_neighbors", "weights", "r2", "squared_error", "chosen"]
    assert [(row.p, row.n_neighbors, row.weights) for row in frame.itertuples()] == list(tried)
    np.testing.assert_allclose(frame[["r2", "squared_error"]], list(tried.values()), rtol=1e-9)
    best = max(tried, key=lambda setting: round(tried[setting][0], 9))
    assert (model.p_, model.n_neighbors_, model.vote_kind_) == best
    assert frame["chosen"].sum() == 1
    chosen = WeightedKNeighborsRegressor(best[1], weights=best[2], p=best[0]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), chosen.predict(X))


def test_rows_count_by_their_weights_in_the_choice():
    X, y = problem(40)
    weight = RNG(1).integers(1, 4, size=40)
    model = WeightedKNeighborsRegressor("auto").fit(X, y, weight)
    expected = []
    for k in model.choice_["n_neighbors"]:
        left_out = WeightedKNeighborsRegressor(k).fit(X, y, weight).predict(None)
        expected.append(r2_score(y, left_out, sample_weight=weight))
    np.testing.assert_allclose(model.choice_["r2"], expected, rtol=1e-9)


class PositiveVotes(VarianceWeigher):
    """Only rows of positive targets vote, so that the weights have seen the targets of their rows."""

    def fit(self, X, y, sample_weight=None):
        assert y.ndim == 1
        self.weights_ = Weights(feature_weights=np.ones(X.shape[1]), votes=np.where(np.asarray(y) > 0, 1.0, 1e-9))
        self.n_rows_ = len(X)
        return self


def test_weights_are_learned_inside_folds():
    X, y = problem(50)
    model = WeightedKNeighborsRegressor("auto", PositiveVotes()).fit(X, y)
    assert model.weigher_.n_rows_ == 50
    assert model.choice_["weigher"].unique().tolist() == ["PositiveVotes"]
    folds = list(sklearn.model_selection.KFold(5, shuffle=True, random_state=0).split(X))
    for k in (1, 5):
        left_out = np.empty(50)
        for train, test in folds:  # Votes belong to rows, so that only rows of the other folds are neighbours.
            part = WeightedKNeighborsRegressor(k, PositiveVotes()).fit(X[train], y[train])
            left_out[test] = part.predict(X[test])
        found = model.choice_.query("n_neighbors == @k")["r2"].item()
        assert found == pytest.approx(r2_score(y, left_out), rel=1e-9)


def test_all_values_are_chosen_the_same_for_all_threads():
    X, y = problem(80)
    model = WeightedKNeighborsRegressor("auto", "auto", weights="auto", p="auto").fit(X, y)
    assert model.choice_["weigher"].unique().tolist() == ["none", "RReliefF", "GradientWeights"]
    again = WeightedKNeighborsRegressor("auto", "auto", weights="auto", p="auto", n_jobs=2).fit(X, y)
    pd.testing.assert_frame_equal(model.choice_, again.choice_)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert model.weigher_ is not None  # two features of four matter
    assert model.weigher_.target_type_ == "numeric"
    assert model.weights_ == model.weigher_.weights_
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    several = WeightedKNeighborsRegressor("auto", "auto").fit(X, np.column_stack([y, -y]))
    assert set(several.choice_["weigher"]) == {"none"}  # weighers take one target
    model.set_params(n_neighbors=3)
    assert model.n_neighbors_ == 3
    with pytest.raises(InvalidDataError, match="was set after fit"):
        WeightedKNeighborsRegressor(3).fit(X, y).set_params(p="auto").predict(X)
    with pytest.raises(NotFittedError):
        WeightedKNeighborsRegressor("auto").n_neighbors_  # noqa: B018


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_extreme_targets_are_judged_like_others(scale):
    X, y = problem(40)
    plain = WeightedKNeighborsRegressor("auto", weights="auto").fit(X, y)
    extreme = WeightedKNeighborsRegressor("auto", weights="auto").fit(X, y * scale)
    np.testing.assert_allclose(extreme.choice_["r2"], plain.choice_["r2"], rtol=1e-9)
    np.testing.assert_allclose(extreme.predict(X), plain.predict(X) * scale, rtol=1e-9)


def test_outputs_that_are_constant_do_not_count_in_the_choice():
    X, y = problem(40)
    one = WeightedKNeighborsRegressor("auto").fit(X, y)
    two = WeightedKNeighborsRegressor("auto").fit(X, np.column_stack([np.full(40, 0.1), y]))
    np.testing.assert_allclose(two.choice_["r2"], one.choice_["r2"], rtol=1e-12)
    assert WeightedKNeighborsRegressor("auto").fit(X[:1], y[:1]).choice_["r2"].isna().all()
    assert WeightedKNeighborsRegressor("auto").fit(X[:3], y[:3]).n_neighbors_ == 1


class MultiTarget(VarianceWeigher):
    """A weigher that says that it takes several outputs."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@pytest.mark.parametrize(
    ("weigher", "n_outputs"),
    [
        *[(weigher, n) for weigher in (None, Weights(feature_weights=[3.0, 1, 0, 2]), MultiTarget()) for n in (1, 2)],
        (NCA, 1),
    ],
)
def test_grown_equals_fresh(weigher, n_outputs):
    X, y = problem(120, n_outputs)
    weight = RNG(0).integers(0, 3, size=120)
    for options in ({}, {"p": 1, "weights": "distance"}):
        for w in (None, weight):
            parts = [None if w is None else w[rows] for rows in (slice(60), slice(60, 61), slice(61, None))]
            grown = WeightedKNeighborsRegressor(5, weigher, **options).partial_fit(X[:60], y[:60], parts[0])
            grown.partial_fit(X[60:61], y[60:61], parts[1] if w is None or w[60] else [1])
            given = None if w is None else np.r_[w[:60], max(w[60], 1), w[61:]]
            grown.partial_fit(X[61:], y[61:], parts[2], refresh=True)
            fresh = WeightedKNeighborsRegressor(5, weigher, **options).fit(X, y, given)
            assert grown.predict(X + 0.1).tobytes() == fresh.predict(X + 0.1).tobytes()
            assert grown.predict(None).tobytes() == fresh.predict(None).tobytes()
            assert grown.weights_ == fresh.weights_
            assert grown.n_samples_fit_ == 120


def test_mixed_tables_grow_with_new_categories_and_sparse_rows_grow():
    frame = pd.DataFrame({"kind": list("xyxyzzwx"), "n": [1.0, 2, np.nan, 4, 5, 6, 7, 8]})
    y = np.arange(8.0)
    grown = WeightedKNeighborsRegressor(2).fit(frame[:4], y[:4]).partial_fit(frame[4:], y[4:])
    fresh = WeightedKNeighborsRegressor(2).fit(frame, y)
    np.testing.assert_array_equal(grown.predict(frame), fresh.predict(frame))
    X = sparse.random(60, 10, 0.3, format="csr", random_state=0)
    targets = RNG(0).normal(size=60)
    grown = WeightedKNeighborsRegressor(2).fit(X[:30], targets[:30]).partial_fit(X[30:], targets[30:])
    np.testing.assert_array_equal(grown.predict(X), WeightedKNeighborsRegressor(2).fit(X, targets).predict(X))


def test_what_does_not_fit_is_refused_and_changes_nothing():
    X, y = problem(60)
    model = WeightedKNeighborsRegressor(3).fit(X[:30], y[:30])
    before = model.predict(X)
    for args, message in [
        ((X[30:], y[30:, None]), r"shape \(30, 1\); the targets so far have the shape \(30,\).*fit again"),
        ((X[30:], np.column_stack([y, y])[30:]), "as many outputs|many outputs"),
        ((X[30:], y[31:]), "inconsistent"),
        ((X[30:, :2], y[30:]), "4 features"),
        ((X[30:], None), "target y is None"),
        ((X[30:], y[30:].astype(str)), "must hold numbers"),
        ((X[30:], np.full(30, np.nan)), "contains NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(*args)
        np.testing.assert_array_equal(model.predict(X), before)
    bound = WeightedKNeighborsRegressor(3, Weights(votes=np.ones(30))).fit(X[:30], y[:30])
    with pytest.raises(InvalidWeightsError, match="new rows have none"):
        bound.partial_fit(X[30:], y[30:])
    assert WeightedKNeighborsRegressor(3, VarianceWeigher()).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])


def test_partial_fit_keeps_what_was_chosen_until_a_refresh():
    X, y = problem(90)
    model = WeightedKNeighborsRegressor("auto", weights="auto").partial_fit(X[:40], y[:40])
    first = model.choice_
    model.partial_fit(X[40:60], y[40:60])
    pd.testing.assert_frame_equal(model.choice_, first)
    model.partial_fit(X[60:], y[60:], refresh=True)
    fresh = WeightedKNeighborsRegressor("auto", weights="auto").fit(X, y)
    pd.testing.assert_frame_equal(model.choice_, fresh.choice_)
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


def test_weighers_of_numbers():
    X, y = problem(100)
    for weigher in (NCAWeights(), GradientWeights(0.5), RReliefF()):
        model = WeightedKNeighborsRegressor(5, weigher).fit(X[:60], y[:60].round())
        assert not hasattr(weigher, "weights_")
        assert model.weigher_.target_type_ == "numeric"  # also where whole numbers look like classes
        assert set(np.argsort(-model.feature_importances_)[:1]) == {0}
        plain = WeightedKNeighborsRegressor(5).fit(X[:60], y[:60].round())
        assert model.score(X[60:], y[60:]) > plain.score(X[60:], y[60:])
    column = WeightedKNeighborsRegressor(5, NCA).fit(X, y[:, None])
    np.testing.assert_array_equal(column.predict(X)[:, 0], WeightedKNeighborsRegressor(5, NCA).fit(X, y).predict(X))


@pytest.mark.parametrize("model", [WeightedKNeighborsRegressor(5, NCA), LearnedVotesRegressor(5, NCA)])
def test_weighers_of_one_target_are_refused_for_several_outputs(model):
    X, y = problem(60, 2)
    with pytest.raises(InvalidDataError, match=r"one numeric target, and y has 2 outputs.*MultiOutputRegressor"):
        model.fit(X, y)
    each = MultiOutputRegressor(WeightedKNeighborsRegressor(5, NCA)).fit(X, y)  # as the message says
    assert each.predict(X).shape == (60, 2)
    given = WeightedKNeighborsRegressor(5, Weights(feature_weights=[2.0, 1, 0, 0])).fit(X, y)
    assert given.predict(X).shape == (60, 2)


def test_metadata_routing():
    X, y = problem(60)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = VarianceWeigher().set_fit_request(sample_weight=True)
        model = WeightedKNeighborsRegressor(3, asks).set_fit_request(sample_weight=True)
        model.set_partial_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        model.fit(X[:30], y[:30], sample_weight=np.ones(30))
        model.partial_fit(X[30:], y[30:], sample_weight=np.full(30, 2.0), refresh=True)
        assert model.weigher_.sample_weight_.tolist() == [1.0] * 30 + [2.0] * 30
        scores = cross_val_score(model, X, y, params={"sample_weight": np.arange(60) % 3 + 1})
        assert np.isfinite(scores).all()
        chosen = WeightedKNeighborsRegressor(3, "auto", p=1).set_fit_request(sample_weight=True)
        assert chosen.fit(X, y, sample_weight=np.ones(60)).predict(X).shape == (60,)


def test_scikit_learns_tools():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    search = GridSearchCV(WeightedKNeighborsRegressor(), {"n_neighbors": [5, 15], "p": [1, 2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.3
    kept = SelectFromModel(WeightedKNeighborsRegressor(weigher=NCA), max_features=3, threshold=-np.inf).fit(X, y)
    assert kept.get_support().sum() == 3
    model = WeightedKNeighborsRegressor(5).fit(X, y)
    assert model.explain(X[:2]).columns[6:].tolist() == [f"share of {name}" for name in X.columns]
    assert (model.feature_importances_ == 1).all()
    assert model.kneighbors_graph().shape == (442, 442)


def test_classifier_and_regressor_find_the_same_neighbours_and_votes():
    X, y = make_regression(120, 5, random_state=0)
    weights = Weights(feature_weights=[1.0, 2, 3, 0, 1], votes=RNG(0).random(120))
    numbers = WeightedKNeighborsRegressor(7, weights, weights="distance").fit(X, y > 0)
    classes = WeightedKNeighborsClassifier(7, weights, weights="distance").fit(X, y > 0)
    np.testing.assert_allclose(numbers.predict(X + 0.1), classes.predict_proba(X + 0.1)[:, 1], rtol=1e-12)
    columns = ["query", "rank", "row", "distance", "vote"]
    pd.testing.assert_frame_equal(numbers.explain(X[:5])[columns], classes.explain(X[:5])[columns])
