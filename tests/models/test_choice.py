"""The values chosen for "auto": by naive leave-one-out, honest where weights are learned, the same for all threads."""

import pickle
import warnings
from typing import ClassVar

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from support.per_class import PerClassRelief

from weighbors import MBIW, ClassRelief, IBk, ReliefF, WeightedKNeighborsClassifier, Weights
from weighbors.exceptions import InvalidDataError, InvalidWeightsError
from weighbors.models import choice

RNG = np.random.default_rng
ALL = {"n_neighbors": "auto", "weigher": "auto", "weights": "auto", "p": "auto"}
COUNTS = [1, 3, 5, 7, 9, 11, 15, 21, 31]


def automatic(**options):
    return WeightedKNeighborsClassifier(**{**ALL, **options})


def tables():
    """Ten small tables without equal distances, scaled."""
    found = {}
    for name, load in {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}.items():
        X, y = load(return_X_y=True)
        drawn = RNG(1).permutation(len(X))[:24]
        found[name] = X[drawn], y[drawn]
    for seed in range(7):
        n = [6, 9, 12, 16, 20, 24, 28][seed]
        found[f"random {seed}"] = make_classification(
            n, 6, n_informative=3, n_classes=2 + (seed > 3), flip_y=0.2, random_state=seed
        )
    # scikit-learn's order of equal distances is arbitrary, so that rows must not be equal.
    return {name: (StandardScaler().fit_transform(X) + RNG(0).normal(0, 1e-6, X.shape), y)
            for name, (X, y) in found.items()}  # fmt: skip


def naive_choice(X, y, counts, kinds, powers):
    """Leave one row out, fit scikit-learn's k-NN to the others, and so on for all rows and candidates."""
    classes, tried = np.unique(y), {}
    for p in powers:
        for i in range(len(X)):
            others = np.delete(np.arange(len(X)), i)
            plain = KNeighborsClassifier(p=p, algorithm="brute").fit(X[others], y[others])
            for k in counts:
                for kind in kinds:
                    found = plain.set_params(n_neighbors=k, weights=kind).predict_proba(X[i : i + 1])[0]
                    share = np.zeros(len(classes))
                    share[np.searchsorted(classes, plain.classes_)] = found
                    error = ((share - (classes == y[i])) ** 2).sum()
                    tried.setdefault((p, k, kind), []).append((classes[share.argmax()] == y[i], error))
    tried = {setting: np.mean(rows, axis=0) for setting, rows in tried.items()}
    best = min(tried, key=lambda setting: (-tried[setting][0], round(tried[setting][1], 9)))
    return best, tried


@pytest.mark.parametrize("name", tables())
def test_without_a_weigher_the_choice_is_that_of_a_loop(name):
    X, y = tables()[name]
    counts = [k for k in (1, 5, 11, 21) if k <= len(X) - 1]  # not all of them: the loop is slow
    (p, k, kind), tried = naive_choice(X, y, counts, ["uniform", "distance"], [2, 1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "N_NEIGHBORS", tuple(counts))
        model = automatic(weigher=None).fit(X, y)
    assert (model.n_neighbors_, model.vote_kind_, model.p_) == (k, kind, p)
    assert len(model.choice_) == len(tried)
    for row in model.choice_.itertuples():
        expected = tried[row.p, row.n_neighbors, row.weights]
        np.testing.assert_allclose((row.accuracy, row.squared_error), expected, rtol=1e-9, atol=1e-12)
    same = WeightedKNeighborsClassifier(k, weights=kind, p=p).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize("name", ALL)
def test_each_one_alone(name):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = WeightedKNeighborsClassifier(**{name: "auto"}).fit(X, y)
    tried = model.choice_
    candidates = {"n_neighbors": COUNTS, "weigher": ["none", "ReliefF", "GradientWeights"],
                  "weights": ["uniform", "distance"], "p": [2, 1]}[name]  # fmt: skip
    assert tried[name].tolist() == candidates
    assert tried.chosen.sum() == 1
    chosen = tried[tried.chosen].iloc[0]
    assert chosen.accuracy == tried.accuracy.max()
    fixed = {"n_neighbors": 5, "weigher": "none", "weights": "uniform", "p": 2}
    assert all((tried[other] == value).all() for other, value in fixed.items() if other != name)
    assert (model.n_neighbors_, model.vote_kind_, model.p_) == (chosen.n_neighbors, chosen.weights, chosen.p)
    assert type(model.weigher_).__name__ == {"none": "NoneType"}.get(chosen.weigher, chosen.weigher)
    assert getattr(model, name) == "auto"


def test_nothing_is_chosen_by_default():
    X, y = load_iris(return_X_y=True)
    model = WeightedKNeighborsClassifier().fit(X, y)
    assert model.choice_ is None
    assert (model.n_neighbors_, model.vote_kind_, model.p_, model.weigher_) == (5, "uniform", 2, None)
    assert model.set_params(n_neighbors=3).n_neighbors_ == 3  # as in scikit-learn, after fit, too
    with pytest.raises(InvalidDataError, match="n_neighbors='auto' was set after fit"):
        model.set_params(n_neighbors="auto").predict(X)


@pytest.mark.parametrize("weigher", ["auto", ReliefF(), ClassRelief(3), MBIW()])
def test_weights_are_judged_on_rows_they_have_not_seen(weigher):
    """On noise, weights that had seen the labels of the judged rows would look far better than chance."""
    seen, reported = [], []
    for seed in range(4):
        rng = RNG(seed)
        X, y = rng.normal(size=(100, 300)), np.repeat([0, 1], 50)
        tried = automatic(weigher=weigher, n_neighbors=5, weights="uniform").fit(X, y).choice_
        reported.append(tried[tried.weigher != "none"].accuracy.mean())
        if isinstance(weigher, ReliefF):
            seen.append((WeightedKNeighborsClassifier(5, weigher).fit(X, y).predict(None) == y).mean())
    assert 0.42 < np.mean(reported) < 0.56
    # What a judge would report whose weights have seen the labels:
    assert not seen or np.mean(seen) > 0.62


def test_folds_are_honest_for_weights_that_belong_to_rows():
    """Weights that belong to rows are known for four folds only, and the neighbours come from these."""

    class Tells(MBIW):
        """It leaves a note of the rows that it was fitted to."""

        fitted_to: ClassVar[list] = []

        def fit(self, X, y):
            self.fitted_to.append(np.asarray(X)[:, 0].astype(int))
            return super().fit(X, y)

    X, y = load_iris(return_X_y=True)
    X = np.column_stack([np.arange(150), X])
    automatic(weigher=Tells(), p=2).fit(X, y)
    *folds, everything = Tells.fitted_to
    assert [len(fold) for fold in folds] == [120] * 5
    assert len(everything) == 150
    left_out = np.concatenate([np.setdiff1d(np.arange(150), fold) for fold in folds])
    assert sorted(left_out) == list(range(150))


def test_irrelevant_features_make_a_weigher_win():
    rng = RNG(0)
    X, y = rng.normal(size=(200, 20)), np.repeat([0, 1], 100)
    X[:, 0] += 4 * y
    model = automatic().fit(X[::2], y[::2])
    assert model.weigher_ is not None
    assert model.score(X[1::2], y[1::2]) > WeightedKNeighborsClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])


def test_threads_change_no_bit():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:200]
    one, two = (automatic(n_jobs=n_jobs).fit(X, y[:200]) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(one.choice_, two.choice_, check_exact=True)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_large_tables_are_judged_on_drawn_rows(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    monkeypatch.setattr(choice, "MOST_ROWS", 100)
    drawn = choice.draw_judged_rows(len(X))
    assert len(drawn) == len(np.unique(drawn)) == 100
    np.testing.assert_array_equal(drawn, choice.draw_judged_rows(len(X)))
    model = automatic(weigher=None, weights="uniform", p=2, n_neighbors="auto").fit(X, y)
    five = model.choice_[model.choice_.n_neighbors == 5].accuracy.item()
    left_out = WeightedKNeighborsClassifier(5).fit(X, y).predict(None)  # neighbours are all rows
    assert five == (left_out == y)[drawn].mean()
    tried = automatic().fit(X, y).choice_
    assert tried.accuracy.between(0.85, 1).all()


def test_sample_weights_weigh_the_judged_rows_and_the_votes():
    X, y = load_iris(return_X_y=True)
    weight = RNG(0).integers(1, 4, 150).astype(float)
    model = automatic(weigher=None).fit(X, y, weight)
    for row in model.choice_.itertuples():
        fixed = WeightedKNeighborsClassifier(row.n_neighbors, weights=row.weights, p=row.p).fit(X, y, weight)
        shares = fixed.predict_proba(None)
        assert row.accuracy == pytest.approx(np.average(shares.argmax(axis=1) == y, weights=weight), abs=1e-12)
        error = ((shares - np.eye(3)[y]) ** 2).sum(axis=1)
        assert row.squared_error == pytest.approx(np.average(error, weights=weight), abs=1e-12)
    tiny = automatic(weigher=None).fit(X, y, weight / weight.sum())  # as in boosting: they sum to 1
    assert set(tiny.choice_.n_neighbors) == set(COUNTS)
    tiny.predict(X)
    few = automatic(weigher=None).fit(X, y, np.where(np.arange(150) % 15 == 0, 1.0, 0.0))  # ten rows remain
    assert few.choice_.n_neighbors.max() == 9
    few.predict(None)
    automatic(class_weight="balanced").fit(X, y, weight).predict(X)


def test_given_weights_are_used_as_they_are():
    X, y = load_wine(return_X_y=True)
    scaled = Weights(feature_weights=1 / X.var(axis=0))
    model = automatic(weigher=scaled).fit(X, y)
    chosen = model.choice_[model.choice_.chosen].iloc[0]
    assert chosen.weigher == "Weights"
    assert chosen.accuracy == (model.predict(None) == y).mean()
    mask = np.zeros(178, dtype=bool)
    mask[::20] = True  # nine rows can be neighbours
    few = automatic(weigher=Weights(instance_mask=mask)).fit(X, y)
    assert few.choice_.n_neighbors.max() == 7
    few.predict(None)


def test_mixed_sparse_and_small_tables():
    X, y = load_iris(return_X_y=True, as_frame=True)
    mixed = X.assign(colour=pd.Categorical(np.array(["red", "green", "blue"])[np.arange(150) % 3]), label=y.map(str))
    mixed.iloc[::7, 0] = np.nan
    model = automatic().fit(mixed, y)
    assert model.score(mixed, y) > 0.9
    rows = sparse.csr_matrix(X.to_numpy().round())
    pd.testing.assert_frame_equal(
        automatic().fit(rows, y).choice_, automatic().fit(rows.toarray(), y).choice_, rtol=1e-6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # rare classes are no fault of the folds
        tiny = automatic(weigher=None).fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
        automatic(weigher=None).fit(X, np.where(np.arange(150) < 2, "rare", y.map(str)))
    assert tiny.choice_.n_neighbors.unique().tolist() == [1]
    automatic().fit([[0.0], [5.0]], ["a", "b"]).predict([[1.0]])
    automatic().fit([[0.0], [1.0], [5.0]], ["a", "b", "c"]).predict([[1.0]])


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.WeighborsWarning")
def test_a_class_that_is_in_one_fold_only():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) == 0, 7, y)
    for weigher in ("auto", PerClassRelief(3), MBIW()):  # the fit to all rows warns of the class
        model = automatic(weigher=weigher).fit(X, y)
        assert model.choice_.accuracy.max() > 0.9


def test_partial_fit_keeps_what_was_chosen():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = RNG(0).permutation(178)
    X, y = X[order], y[order]
    model = automatic().partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    first = model.choice_
    model.partial_fit(X[60:100], y[60:100])
    pd.testing.assert_frame_equal(model.choice_, first)
    assert model.n_samples_fit_ == 100
    model.partial_fit(X[100:], y[100:], refresh=True)
    fresh = automatic().fit(X, y)
    pd.testing.assert_frame_equal(model.choice_, fresh.choice_)
    np.testing.assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))
    one_row = automatic().partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    assert one_row.n_neighbors_ == 1
    assert one_row.choice_.accuracy.isna().all()
    one_row.partial_fit(X[1:], y[1:], refresh=True)
    np.testing.assert_array_equal(one_row.predict_proba(X), fresh.predict_proba(X))
    bound = WeightedKNeighborsClassifier("auto", Weights(votes=np.ones(60))).fit(X[:60], y[:60])
    with pytest.raises(InvalidWeightsError, match="new rows have none"):
        bound.partial_fit(X[60:], y[60:], refresh=True)


def test_parameters_stay_and_copies_work():
    X, y = load_iris(return_X_y=True)
    model = automatic()
    before = model.get_params()
    model.fit(X, y)
    assert model.get_params() == before == clone(model).get_params()
    with pytest.raises(NotFittedError):
        clone(model).n_neighbors_  # noqa: B018
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    pd.testing.assert_frame_equal(again.choice_, model.choice_)
    assert len(model.kneighbors(X)[0][0]) == model.n_neighbors_
    assert set(model.explain(X[:1]).groupby("query").size()) == {model.n_neighbors_}


@pytest.mark.parametrize("name", ALL)
def test_who_does_not_choose(name):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidDataError, match=f"{name}='auto' needs all rows in memory"):
        WeightedKNeighborsClassifier(**{name: "auto"}).fit(da.from_array(X, chunks=(50, 4)), y)
    if name in ("n_neighbors", "weights"):
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            IBk(**{name: "auto"}).fit(X, y)
