"""WIB-K: its parts, tables that are not integers, and partial_fit."""

import pickle

import numpy as np
import pandas as pd
import pytest
from naive import intervals as naive
from naive.neighbors import nearest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from weighbors import WIBK, RepresentativeIntervals, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError

RNG = np.random.default_rng


def integers(seed, n=90, m=4, classes=3):
    rng = RNG(seed)
    y = rng.integers(0, classes, n)
    return rng.integers(-6, 12, size=(n, m)) + 3 * y[:, None] * (np.arange(m) % 2), y


def mixed(n=120, seed=0):
    rng = RNG(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n) + 5 * y,
            "children": rng.integers(0, 4, n),
            "income": rng.normal(30, 8, n).round(2) + 14 * y,
            "town": rng.choice(["Ulm", "Rom", "Oslo"], n),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
            "member": rng.random(n) < 0.5,
        }
    )
    frame.loc[rng.random(n) < 0.1, ["income", "town"]] = None
    frame.loc[rng.random(n) < 0.1, "grade"] = None
    return frame, np.array(["no", "yes"])[y]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "options", [{}, {"weight": "overlap", "vote_ties": "nearest"}, {"normalize": None, "overlap": "length"}]
)
def test_labels_equal_the_oracle(seed, options):
    X, y = integers(seed)
    Q = integers(seed + 100)[0][:40]
    parts = {"kind": options.get("weight", "nonoverlap"), "normalize": options.get("normalize", "instance")}
    a = naive.cell_weights(X.tolist(), y.tolist(), overlap=options.get("overlap", "values"), **parts)
    model = WIBK(4, **options).fit(X, y)
    by_hand = nearest(Q, X, 5, a=np.array(a))
    clear = [found[4][0] - found[3][0] > 1e-9 for found in by_hand]  # rounding cannot change who the four are
    expected = [naive.majority(found[:4], y.tolist(), options.get("vote_ties", "first")) for found in by_hand]
    got = model.predict(Q).tolist()
    assert sum(clear) > 20
    if "vote_ties" not in options:
        assert [g for g, c in zip(got, clear, strict=True) if c] == [
            e for e, c in zip(expected, clear, strict=True) if c
        ]
    else:  # the nearest of two at the same distance is a matter of rounding too
        apart = [c and len({round(d, 9) for d, _ in found[:4]}) == 4 for c, found in zip(clear, by_hand, strict=True)]
        assert sum(apart) > 10
        assert [g for g, c in zip(got, apart, strict=True) if c] == [
            e for e, c in zip(expected, apart, strict=True) if c
        ]


def test_it_is_the_k_nn_with_the_weigher():
    X, y = integers(0)
    model = WIBK(3, vote_ties="nearest").fit(X, y)
    same = WeightedKNeighborsClassifier(3, RepresentativeIntervals(), vote_ties="nearest").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    assert model.predict(None).tolist() == same.predict(None).tolist()
    assert model.weights_ == same.weights_
    assert str(model.plan_) == str(same.plan_)
    assert "a weight per instance and feature" in str(model.plan_)
    pd.testing.assert_frame_equal(model.intervals_, same.weigher_.intervals_)
    pd.testing.assert_frame_equal(model.explain(X[:3]).frame(), same.explain(X[:3]).frame())
    assert model.kneighbors(X[:2], 4)[1].tolist() == same.kneighbors(X[:2], 4)[1].tolist()
    assert model.kneighbors(return_distance=False).shape == (90, 3)
    dense = WIBK(3).fit(sparse.csr_matrix(X), y)
    assert dense.predict(sparse.csr_matrix(X)).tolist() == WIBK(3).fit(X, y).predict(X).tolist()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(
            clone(model).set_params(n_jobs=n_jobs).fit(X, y).predict_proba(X), model.predict_proba(X)
        )


@pytest.mark.parametrize("how", ["mdlp", "frequency"])
def test_a_mixed_table_works_as_it_is(how):
    frame, y = mixed()
    model = WIBK(5, discretize=how).fit(frame, y)
    told = model.intervals_
    assert told.loc[told["feature"] == "town", "low"].isin(["Ulm", "Rom", "Oslo"]).all()
    assert told.loc[told["feature"] == "grade", "low"].isin(["low", "mid", "high"]).all()
    income = told[told["feature"] == "income"]
    assert income["low"].between(frame["income"].min(), frame["income"].max()).all()
    assert income["magnitude"].sum() == frame["income"].notna().sum()
    assert (told.loc[told["feature"] == "children", "high"] <= 3).all()  # few integers stay integers
    new = mixed(30, 1)[0]
    labels = model.predict(new)
    one_by_one = [model.predict(new.iloc[[i]])[0] for i in range(30)]
    assert labels.tolist() == one_by_one
    assert "share of town" in model.explain(new[:2]).columns


def test_new_rows_are_cut_with_the_cuts_of_fit():
    X, y = load_wine(return_X_y=True)
    model = WIBK(3, discretize="mdlp").fit(X[::2], y[::2])
    cuts = [np.array(naive.mdlp(X[::2, j].tolist(), y[::2].tolist())) for j in range(13)]
    binned = np.column_stack([np.searchsorted(cut, X[:, j], side="right") for j, cut in enumerate(cuts)])
    by_hand = WIBK(3).fit(binned[::2], y[::2])
    assert model.predict(X[1::2]).tolist() == by_hand.predict(binned[1::2]).tolist()
    np.testing.assert_array_equal(model.kneighbors(X[1::2])[0], by_hand.kneighbors(binned[1::2])[0])


def test_ranks_and_unknown_categories():
    frame, y = mixed()
    only = frame[["grade", "children"]]
    model = WIBK(3).fit(only, y)
    ranks = only.assign(grade=only["grade"].cat.codes.replace(-1, np.nan))
    plain = WIBK(3).fit(ranks, y)
    assert model.predict(only).tolist() == plain.predict(ranks).tolist()
    strange = pd.DataFrame({"grade": ["top", "low"], "children": [1, 1]})
    missing = pd.DataFrame({"grade": [np.nan, 0.0], "children": [1, 1]})
    np.testing.assert_array_equal(model.kneighbors(strange)[0], plain.kneighbors(missing)[0])
    assert len(WIBK(3, discretize="mdlp").fit(frame, y).predict(frame.assign(town="Genf"))) == len(frame)


def test_bad_input_is_refused():
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(InvalidDataError, match=r"column 'sepal length \(cm\)' \(and 3 more.*discretize='mdlp'"):
        WIBK(3).fit(X, y)
    with pytest.raises(InvalidDataError, match=r"2\^53"):
        WIBK(1).fit([[2**60], [1], [2]], [0, 1, 1])
    with pytest.raises(InvalidDataError, match="n_neighbors=9"):
        WIBK(9).fit([[1], [2]], [0, 1]).predict([[1]])
    with pytest.raises(NotFittedError):
        _ = WIBK(1).intervals_


def test_scikit_learn_habits():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(WIBK(3), {"discretize": ["mdlp", "frequency"], "n_neighbors": [1, 5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert cross_val_score(WIBK(5, discretize="frequency"), X, y).mean() > 0.9


@pytest.mark.parametrize("how", [None, "mdlp", "frequency"])
def test_grown_equals_fresh(how):
    if how is None:
        X, y = integers(0, 150)
        X = pd.DataFrame(X, columns=list("abcd"))
    else:
        X, y = mixed(150)
    fresh = WIBK(4, discretize=how).fit(X, y)
    grown = WIBK(4, discretize=how).fit(X[:60], y[:60])
    old = grown.weights_
    grown.partial_fit(X[60:100], y[60:100])
    assert grown.weights_ == old
    assert grown.knn_.n_samples_fit_ == 100
    grown.partial_fit(X[100:], y[100:], refresh=True)
    np.testing.assert_array_equal(grown.predict_proba(X), fresh.predict_proba(X))
    assert grown.weights_ == fresh.weights_
    pd.testing.assert_frame_equal(grown.intervals_, fresh.intervals_)
    first = WIBK(4, discretize=how).partial_fit(X[:60], y[:60], classes=np.unique(y))
    np.testing.assert_array_equal(first.predict_proba(X), WIBK(4, discretize=how).fit(X[:60], y[:60]).predict_proba(X))


def test_growth_is_checked_and_a_failure_changes_nothing():
    X, y = integers(0)
    model = WIBK(3).fit(X[:60], y[:60])
    before = model.predict_proba(X)
    for new, labels, message in [
        (X[60:] + 0.5, y[60:], "not integers.*discretize"),
        (X[60:], y[60:] + 7, "not among the classes"),
        (X[60:, :2], y[60:], "expecting 4 features"),
        (X[60:], None, "y is None"),
        (X[60:], y[:3], "inconsistent"),
    ]:
        for refresh in (False, True):
            with pytest.raises(ValueError, match=message):
                model.partial_fit(new, labels, refresh=refresh)
            np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(InvalidDataError, match="classes must be passed"):
        WIBK(3).partial_fit(X, y)
    for refresh in (False, True):
        with pytest.raises(InvalidDataError, match="differ from those of the first call"):
            model.partial_fit(X, y, classes=[0, 1], refresh=refresh)
    lacking = WIBK(3).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"nothing about \[2\].*refresh=True"):
        lacking.partial_fit(X[y == 2], y[y == 2])
    assert lacking.partial_fit(X[y == 2], y[y == 2], refresh=True).predict(X).max() == 2
