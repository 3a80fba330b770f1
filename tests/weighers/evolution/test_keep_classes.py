"""No class is lost by default, and a class that is never recognised is named."""

import re
import warnings

import numpy as np
import pytest

from weighbors import EvolutionaryWeigher, Stratified
from weighbors.exceptions import LonelyClassWarning, LostClassWarning
from weighbors.weighers.evolution import EvolutionSearch, Genome, ParetoSearch
from weighbors.weighers.evolution.operators import restore_classes

FAST = {"population_size": 12, "max_evaluations": 400, "random_state": 0}


def uneven(seed=0, minority=5, n=80):
    """A class of few rows in the midst of another one: the fitness gains by losing it."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), np.r_[np.ones(minority, dtype=int), np.zeros(n - minority, dtype=int)]


@pytest.mark.parametrize("objective", ["single", "pareto"])
@pytest.mark.parametrize("tasks", ["IS", "IS+FS", "IS+IW+FW"])
def test_every_class_keeps_a_row(tasks, objective):
    X, y = uneven()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostClassWarning)
        search = EvolutionaryWeigher(tasks, objective=objective, **FAST).fit(X, y)
    assert set(y[search.sample_indices_]) == {0, 1}
    if objective == "pareto":
        for index in range(len(search.pareto_front_)):
            assert set(y[search.select(index).sample_indices_]) == {0, 1}


def test_a_class_may_go_where_the_user_says_so():
    X, y = uneven()
    with pytest.warns(LostClassWarning, match="class 1: recall 0"):
        search = EvolutionaryWeigher("IS", keep_classes=False, **FAST).fit(X, y)
    assert set(y[search.sample_indices_]) == {0}


def test_the_warning_names_classes_and_says_what_to_write():
    X, y = uneven()
    with pytest.warns(LostClassWarning, match=re.escape("fitness='g_mean'")) as told:
        EvolutionaryWeigher("IS", keep_classes=False, **FAST).fit(X, np.array(["rare", "often"])[1 - y])
    assert "'rare'" in str(told[0].message)
    assert "5 to 75 rows" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X[y == 1] += 9  # easy: nothing to warn of
        EvolutionaryWeigher("IS", **FAST).fit(X, y)


def test_even_classes_are_not_told_to_use_g_mean():
    X, y = np.ones((8, 2)), [0, 1] * 4
    with pytest.warns(LostClassWarning) as told:
        EvolutionaryWeigher("FW", **FAST).fit(X, y)
    assert "g_mean" not in str(told[0].message)


def test_singleton_classes_and_many_of_them():
    X, y = np.arange(40.0).reshape(20, 2), np.r_[np.zeros(8, dtype=int), np.arange(1, 13)]
    with pytest.warns(LonelyClassWarning):
        search = EvolutionaryWeigher("IS", **FAST).fit(X, y)
    assert set(y[search.sample_indices_]) == set(y)


def test_undersampled_rows_keep_their_classes():
    X, y = uneven(minority=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostClassWarning)
        search = EvolutionaryWeigher("IS+FS", undersample=True, **FAST).fit(X, y)
    assert set(y[search.sample_indices_]) == {0, 1}


def test_strata_keep_their_classes():
    X, y = uneven(minority=20, n=120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostClassWarning)
        found = Stratified(EvolutionaryWeigher("IS", **FAST), n_strata=3, random_state=0).fit(X, y)
    assert set(y[found.weights_.instance_mask]) == {0, 1}


@pytest.mark.parametrize("kind", [EvolutionSearch, ParetoSearch])
def test_no_individual_ever_lacks_a_class(kind):
    codes = np.array([0] * 10 + [1] * 2 + [2])
    search = kind(Genome(("IS", "FS"), 13, 3), 8, np.random.default_rng(0), classes=codes)
    for _ in range(60):
        asked = search.ask()
        for bits in asked.bits[:, :13]:
            assert set(codes[bits]) == {0, 1, 2}
        fewest = -asked.bits.mean(axis=1)  # a fitness that wants nothing at all
        search.tell(fewest if kind is EvolutionSearch else -fewest[:, None] * [1.0, 2.0])
    assert search.population.bits[:, :13].sum(axis=1).min() == 3


def test_repair_undoes_the_crossing_of_the_lost_class_alone():
    members = [np.array([0, 1]), np.array([2, 3])]
    before = np.array([[True, False, True, True, False]])
    child = np.array([[False, True, False, False, True]])  # its last bit is a feature
    np.testing.assert_array_equal(
        restore_classes(child, before, members, np.random.default_rng(0)), [[False, True, True, True, True]]
    )


def test_the_search_of_the_paper_reaches_its_fitness():
    """The figures of the guide."""
    from sklearn.datasets import load_breast_cancer, load_wine
    from sklearn.preprocessing import scale

    for load, least in ((load_wine, 0.96), (load_breast_cancer, 0.94)):
        X, y = load(return_X_y=True)
        assert EvolutionaryWeigher("IS+FW", random_state=0, n_jobs=2).fit(scale(X), y).fitness_ >= least
