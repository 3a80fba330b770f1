"""What all classical instance selectors share: input, attributes, samplers, bad input, repeatability."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import scale
from sklearn.utils import shuffle
from support.per_class import PerClassRelief

from weighbors import (
    DROP3,
    DROP5,
    FCNN,
    HMNEI,
    IB2,
    IB3,
    ICF,
    Democratic,
    NCAWeights,
    ReliefF,
    Stratified,
    WeightedKNeighborsClassifier,
    Weights,
)
from weighbors.exceptions import ForeignWeightsError, InvalidDataError, InvalidWeightsError, LostClassWarning

SELECTORS = {
    "FCNN": FCNN(),
    "IB2": IB2(),
    "IB3": IB3(),
    "DROP3": DROP3(),
    "DROP5": DROP5(),
    "ICF": ICF(),
    "HMNEI": HMNEI(),
}
X, Y = shuffle(*load_wine(return_X_y=True), random_state=3)  # wine is sorted by class
X = scale(X)
every_selector = pytest.mark.parametrize("name", SELECTORS)
quietly = pytest.mark.filterwarnings("ignore::weighbors.exceptions.LostClassWarning")


def fit(name, rows=X, labels=Y, **params):
    return clone(SELECTORS[name]).set_params(**params).fit(rows, labels)


@every_selector
@quietly
def test_what_fit_leaves(name):
    selector = fit(name, pd.DataFrame(X).add_prefix("f"), np.array(["a", "b", "c"])[Y])
    kept = selector.sample_indices_
    assert 3 <= len(kept) < len(X)
    assert selector.instance_support_.nonzero()[0].tolist() == kept.tolist()
    assert selector.reduction_ == pytest.approx(1 - len(kept) / len(X))
    assert selector.classes_.tolist() == ["a", "b", "c"]
    assert set(np.array(["a", "b", "c"])[Y[kept]]) == {"a", "b", "c"}
    weights = selector.weights_
    assert weights.instance_mask.tolist() == selector.instance_support_.tolist()
    assert (weights.n_samples, weights.feature_names) == (178, tuple(f"f{j}" for j in range(13)))
    rows, labels = selector.reduce(pd.DataFrame(X).add_prefix("f"), Y)
    np.testing.assert_array_equal(rows.to_numpy(), X[kept])
    np.testing.assert_array_equal(labels, Y[kept])


@every_selector
@quietly
def test_a_k_nn_takes_the_selector(name):
    whole = WeightedKNeighborsClassifier(1, weigher=SELECTORS[name]).fit(X, Y)
    selector = fit(name)
    by_hand = WeightedKNeighborsClassifier(1).fit(X[selector.sample_indices_], Y[selector.sample_indices_])
    queries = X + 0.1
    np.testing.assert_array_equal(whole.predict(queries), by_hand.predict(queries))
    with pytest.raises(ForeignWeightsError, match="learned from other rows"):
        WeightedKNeighborsClassifier(1, weigher=selector.weights_).fit(X[::-1], Y[::-1])
    with pytest.raises(ForeignWeightsError, match="reduce takes the rows that were fitted"):
        selector.reduce(X[::-1])


@every_selector
@quietly
def test_the_order_of_rows_matters_only_where_the_paper_says(name):
    order = np.random.default_rng(0).permutation(len(X))
    there = order[fit(name, X[order], Y[order]).sample_indices_]
    if name not in ("IB2", "IB3"):
        np.testing.assert_array_equal(np.sort(there), fit(name).sample_indices_)


@quietly
def test_the_incremental_ones_take_rows_in_their_order():
    order = np.random.default_rng(0).permutation(len(X))
    for name in ("IB2", "IB3"):
        kept, again = (fit(name).sample_indices_.tolist() for _ in range(2))
        assert kept == again != np.sort(order[fit(name, X[order], Y[order]).sample_indices_]).tolist()
    assert fit("IB2").sample_indices_[0] == 0  # the first row is kept


@every_selector
@quietly
def test_weights_act_as_scaled_columns(name):
    a = 2.0 ** np.random.default_rng(0).integers(-2, 3, 13) ** 2
    weighted = fit(name, weigher=Weights(feature_weights=a**2))
    np.testing.assert_array_equal(weighted.sample_indices_, fit(name, X * a).sample_indices_)
    assert weighted.weights_.feature_weights.tolist() == (a**2).tolist()
    np.testing.assert_array_equal(
        fit(name, weigher=Weights(feature_weights=a), p=1).sample_indices_, fit(name, X * a, p=1).sample_indices_
    )


@every_selector
@quietly
def test_weighers_are_fitted_first(name):
    selector = fit(name, weigher=ReliefF())
    weights = ReliefF().fit(X, Y).weights_
    assert selector.weigher_.weights_ == weights
    np.testing.assert_array_equal(selector.sample_indices_, fit(name, weigher=weights).sample_indices_)
    assert len(fit(name, weigher=PerClassRelief()).sample_indices_)
    scales = Weights(instance_scales=np.linspace(0.5, 2, len(X)))
    assert fit(name, weigher=scales).weights_.instance_scales is not None
    assert (
        fit(name, X[::3], Y[::3].astype(float), weigher=NCAWeights(max_iter=3, tol=1.0)).weigher_.target_type_
        == "classes"
    )


def mixed(n=120, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(["low", "high"], n)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + 3 * (labels == "high")),
            "colour": np.where(rng.random(n) < 0.8, np.where(labels == "high", "red", "blue"), "green"),
        }
    )
    frame.loc[rng.random(n) < 0.05, "colour"] = None
    return frame, labels


@every_selector
@quietly
def test_mixed_tables(name):
    frame, labels = mixed()
    selector = fit(name, frame, labels)
    rows, kept = selector.reduce(frame, labels)
    assert isinstance(rows, pd.DataFrame)
    assert len(rows) == len(kept) == len(selector.sample_indices_) < 120
    np.testing.assert_array_equal(
        WeightedKNeighborsClassifier(1, weigher=SELECTORS[name]).fit(frame, labels).weights_.instance_mask,
        selector.instance_support_,
    )


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.int8, st.tuples(st.integers(4, 40), st.integers(1, 3)), elements=st.integers(0, 5)), st.integers(0, 2**16)
)
def test_fcnn_is_consistent_on_the_training_set(values, seed):
    """Every row finds its own class among the kept rows, unless copies of it have another class."""
    rows = np.unique(values, axis=0).astype(float)
    labels = np.random.default_rng(seed).integers(0, 3, len(rows))
    if len(np.unique(labels)) < 2:
        return
    kept = FCNN().fit(rows, labels).sample_indices_
    model = WeightedKNeighborsClassifier(1).fit(rows[kept], labels[kept]) if len(np.unique(labels[kept])) > 1 else None
    np.testing.assert_array_equal(model.predict(rows), labels)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_fcnn_is_consistent_on_real_tables(load):
    rows, labels = load(return_X_y=True)
    _, first = np.unique(rows, axis=0, return_index=True)
    rows, labels = scale(rows[first]), labels[first]
    kept = FCNN().fit(rows, labels).sample_indices_
    assert len(kept) < len(rows) / 3
    assert WeightedKNeighborsClassifier(1).fit(rows[kept], labels[kept]).score(rows, labels) == 1.0


# --- bad input ---


@every_selector
def test_weights_that_select_rows_are_refused(name):
    with pytest.raises(InvalidWeightsError, match=f"{type(SELECTORS[name]).__name__} selects rows itself"):
        fit(name, weigher=Weights(instance_mask=np.arange(len(X)) % 2 == 0))
    with pytest.raises(ForeignWeightsError, match="for 2 features"):
        fit(name, weigher=Weights(feature_weights=[1.0, 2.0]))


@pytest.mark.parametrize("name", ["DROP3", "DROP5", "ICF"])
def test_fewer_rows_than_neighbours_are_refused(name):
    with pytest.raises(InvalidDataError, match="with n_neighbors=3 needs more than 3 rows; got n_samples = 3"):
        fit(name, X[[0, 1, -1]], Y[[0, 1, -1]])


@every_selector
@quietly
def test_a_class_smaller_than_k_keeps_a_row(name):
    labels = np.where(Y == 0, 0, 1)
    labels[[100, 150]] = 2
    assert set(labels[fit(name, X, labels).sample_indices_]) == {0, 1, 2}


@every_selector
@quietly
def test_equal_rows_end(name):
    labels = np.arange(20) % 3
    kept = fit(name, np.ones((20, 4)), labels).sample_indices_
    assert set(labels[kept]) == {0, 1, 2}


@pytest.mark.parametrize("name", ["DROP3", "ICF"])
def test_mislabelled_rows_leave_one_row_per_class(name):
    """Pairs of near rows with different classes: the editing removes every row."""
    rows = np.repeat(np.arange(10.0), 2)[:, None] + np.tile([0.0, 0.1], 10)[:, None]
    with pytest.warns(LostClassWarning, match=r"would remove all rows of 2 class\(es\) \(\[0, 1\]\)"):
        selector = fit(name, rows, np.tile([0, 1], 10), n_neighbors=1)
    assert selector.sample_indices_.tolist() == [8, 9]  # nearest to the centres, the first of equally near ones


def test_a_class_that_would_be_removed_is_kept_and_said():
    rows = np.concatenate([np.arange(20.0), [5.5, 12.5]])[:, None]
    labels = np.array([0] * 10 + [1] * 10 + [2] * 2)
    with pytest.warns(LostClassWarning, match=r"ICF would remove all rows of 1 class\(es\) \(\[2\]\).*centre"):
        selector = ICF().fit(rows, labels)
    assert 20 in selector.sample_indices_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FCNN().fit(rows, labels)


# --- with other parts of the library and imbalanced-learn ---


@quietly
def test_strata_take_selectors():
    strata = Stratified(DROP3(), 2, random_state=0).fit(X, Y)
    assert 6 <= len(strata.sample_indices_) < 60
    rounds = Democratic(ICF(), 3, n_strata=2, random_state=0).fit(X, Y)
    assert len(rounds.sample_indices_) < 178
