"""Warnings where a step of a pipeline passes on what the user may expect to be dropped, and of few neighbours."""

import pickle
import warnings

import numpy as np
import pytest
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from weighbors import (
    MBIW,
    ClassRelief,
    EvolutionaryWeigher,
    FeatureSelector,
    IRelief,
    MultiSURF,
    Relief,
    ReliefF,
    RelievedF,
    Simba,
    SimbaMBIW,
    Stratified,
    TuRF,
    WeightedKNeighborsClassifier,
)
from weighbors.evaluation import stability_curve
from weighbors.exceptions import FewNeighborsWarning, LonelyClassWarning, NothingSelectedWarning

X, Y = load_wine(return_X_y=True)
X = scale(X)
SMALL = np.r_[0:20, 59:79, 130:140]  # 20, 20 and 10 rows


def search(tasks, **options):
    return EvolutionaryWeigher(tasks, population_size=8, max_evaluations=80, random_state=0, **options)


def messages(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if one.category is NothingSelectedWarning]


@pytest.mark.parametrize(
    "weigher",
    [ReliefF(), Relief(), MultiSURF(), IRelief(), ClassRelief(), TuRF(), Simba(), SimbaMBIW()],
    ids=lambda w: type(w).__name__,
)
def test_a_step_that_keeps_all_columns_says_so_once(weigher):
    pipeline = make_pipeline(StandardScaler(), clone(weigher), GaussianNB())
    (said,) = messages(lambda: pipeline.fit(X, Y).predict(X))
    name = type(weigher).__name__
    assert f"transform of {name} keeps all columns" in said
    assert f"{name}(n_features_to_select=20)" in said
    assert f"WeightedKNeighborsClassifier(weigher={name}(...))" in said
    assert messages(lambda: pipeline.score(X, Y)) == []
    assert len(messages(lambda: pipeline.fit(X, Y).predict(X))) == 1  # another fit, another warning
    assert messages(lambda: make_pipeline(weigher.set_params(n_features_to_select=5)).fit_transform(X, Y)) == []
    selector = FeatureSelector(clone(weigher).set_params(n_features_to_select=None), threshold=0.0)
    assert messages(lambda: selector.fit(X, Y).transform(X)) == []


@pytest.mark.parametrize("make", [make_pipeline, make_imblearn_pipeline])
@pytest.mark.parametrize(("tasks", "done"), [("IS", "selected"), ("IS+FS", "selected"), ("IW+FS", "weighed")])
def test_a_step_that_cannot_drop_rows_says_so_once(make, tasks, done):
    (said,) = messages(lambda: make(search(tasks), GaussianNB()).fit(X, Y).predict(X))
    assert f"EvolutionaryWeigher {done} rows, but transform passes all rows on" in said
    for way in ("WeightedKNeighborsClassifier(weigher=EvolutionaryWeigher(...))", "reduce(X, y)", "as_sampler()"):
        assert way in said


def test_what_the_search_and_its_strata_select():
    assert messages(lambda: search("FS").fit_transform(X, Y)) == []
    (said,) = messages(lambda: search("FW").fit_transform(X, Y))
    assert "keeps all columns" in said
    assert "Add FS to its tasks" in said
    (said,) = messages(lambda: Stratified(search("IS"), 2).fit_transform(X, Y))
    assert "Stratified selected rows" in said
    (said,) = messages(lambda: Stratified(ReliefF(3), 2).fit_transform(X, Y))
    assert "Give it a weigher that selects features" in said
    front = search("IS+FS", objective="pareto").fit(X, Y)
    assert len(messages(lambda: front.transform(X))) == 1
    assert messages(lambda: front.transform(X)) == []


def test_a_dask_step_says_it_too():
    dask = pytest.importorskip("dask.array")
    rows = dask.from_array(X, chunks=(89, 13))
    fitted = ReliefF().fit(X, Y)
    assert len(messages(lambda: fitted.transform(rows))) == 1
    strata = Stratified(ReliefF(3), 2).fit(X, Y)
    assert len(messages(lambda: strata.transform(rows))) == 1


def test_transform_leaves_the_estimator_as_it_is():
    fitted = ReliefF().fit(X, Y)
    before = pickle.dumps(fitted)
    assert len(messages(lambda: fitted.transform(X))) == 1
    assert pickle.dumps(fitted) == before


def test_who_only_wants_the_weights_is_told_nothing():
    assert messages(lambda: WeightedKNeighborsClassifier(5, ReliefF()).fit(X, Y).predict(X)) == []
    assert messages(lambda: stability_curve(make_pipeline(StandardScaler(), ReliefF()), X, Y, 3)) == []


@pytest.mark.parametrize(
    ("weigher", "have"),
    [
        (ReliefF(100), "0: 19, 1: 19, 2: 9"),
        (Relief(15), "2: 9"),
        (RelievedF(15), "2: 9"),
        (RelievedF(35), "0: 19, 1: 19, 2: 9"),
        (ClassRelief(10), "2: 9"),
        (MBIW(10), "2: 9"),
        (SimbaMBIW(n_neighbors=10), "2: 9"),
        (TuRF(ReliefF(10)), "2: 9"),
        (WeightedKNeighborsClassifier(3, ReliefF(10)), "2: 9"),
    ],
    ids=str,
)
def test_fewer_neighbours_than_asked_for_are_said(weigher, have):
    with pytest.warns(FewNeighborsWarning) as caught:
        weigher.fit(X[SMALL], Y[SMALL])
    assert len(caught) == 1
    said = str(caught[0].message)
    assert f"class(es) have ({have}); all that they have are used" in said
    assert "Take n_neighbors=9 or less" in said


@pytest.mark.parametrize("weigher", [ReliefF(9), RelievedF(9), ClassRelief(9), MBIW(9), MBIW("all"), Relief()], ids=str)
def test_as_many_as_there_are_is_fine(weigher):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weigher.fit(X[SMALL], Y[SMALL])


def test_all_neighbours_that_there_are_is_what_is_used():
    few = Y[SMALL] == 2
    rows, labels = np.r_[X[SMALL][few], X[SMALL][few] + 1], np.repeat([0, 1], 10)
    with pytest.warns(FewNeighborsWarning):
        many = ReliefF(100).fit(rows, labels).feature_weights_
    differences = np.abs(rows[:, None] - rows[None]) / np.ptp(rows, axis=0)
    hit = np.equal.outer(labels, labels) & ~np.eye(20, dtype=bool)
    miss = ~np.equal.outer(labels, labels)
    mean = [np.mean([differences[i][mask[i]].mean(axis=0) for i in range(20)], axis=0) for mask in (miss, hit)]
    np.testing.assert_allclose(many, mean[0] - mean[1])


def test_a_single_instance_has_a_warning_of_its_own():
    with pytest.warns(LonelyClassWarning) as caught:
        ReliefF(3).fit(X[:60], Y[:60])
    assert {one.category for one in caught} == {LonelyClassWarning}
