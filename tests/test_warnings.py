"""Warnings point at the line of the user, not into the library."""

import _thread
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weighbors as wb
from weighbors import exceptions
from weighbors.evaluation import kuncheva_index, nogueira_stability, permutation_test

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.arange(40) % 2
LONELY = np.r_[0, np.ones(39, dtype=int)]
SAME = np.ones((40, 3))
CALLS = {
    "lonely class": (lambda: wb.ReliefF(2).fit(X, LONELY), exceptions.LonelyClassWarning),
    "in a pipeline": (
        lambda: make_pipeline(StandardScaler(), wb.ReliefF(2)).fit(X, LONELY),
        exceptions.LonelyClassWarning,
    ),
    "in a classifier": (
        lambda: wb.WeightedKNeighborsClassifier(3, wb.ReliefF(2)).fit(X, LONELY),
        exceptions.LonelyClassWarning,
    ),
    "no positive weight": (lambda: wb.ReliefF(2).fit(SAME, Y), exceptions.NoPositiveWeightWarning),
    "no positive weight, of intervals": (
        lambda: wb.RepresentativeIntervals(smoothing=0).fit(SAME.astype(int), Y),
        exceptions.NoPositiveWeightWarning,
    ),
    "no cut": (lambda: wb.RepresentativeIntervals(discretize="mdlp").fit(X, Y), exceptions.NoCutWarning),
    "no vote": (
        lambda: (
            wb.WeightedKNeighborsClassifier(2, weights=lambda d: np.zeros_like(d))
            .fit(pd.DataFrame(X), Y)
            .predict(X[:2])
        ),
        exceptions.NoVoteWarning,
    ),
    "search, lonely class": (
        lambda: wb.EvolutionaryWeigher(population_size=4, max_evaluations=4).fit(X, LONELY),
        exceptions.LonelyClassWarning,
    ),
    "search, interrupted": (
        lambda: wb.EvolutionaryWeigher(population_size=4, max_evaluations=99, callback=interrupt).fit(X, Y),
        exceptions.InterruptedSearchWarning,
    ),
    "not settled": (lambda: wb.IRelief(max_iter=1).fit(X, Y), ConvergenceWarning),
    "of the strata": (
        lambda: wb.Stratified(wb.ReliefF(2), 1).fit(X, LONELY),
        exceptions.LonelyClassWarning,
    ),
    "rare class": (
        lambda: wb.Stratified(wb.MBIW()).fit(np.tile(X, (125, 1)), (np.arange(125 * len(X)) < 4).astype(int)),
        exceptions.RareClassWarning,
    ),
    "undefined": (lambda: kuncheva_index(np.ones((2, 3), dtype=bool)), exceptions.UndefinedStabilityWarning),
    "few neighbours": (lambda: wb.ReliefF(30).fit(X, Y), exceptions.FewNeighborsWarning),
    "all columns kept": (
        lambda: make_pipeline(StandardScaler(), wb.ReliefF(2), GaussianNB()).fit(X, Y),
        exceptions.NothingSelectedWarning,
    ),
    "rows passed on": (
        lambda: make_imblearn_pipeline(
            wb.EvolutionaryWeigher("IS", population_size=4, max_evaluations=4, random_state=0), GaussianNB()
        ).fit(X, Y),
        exceptions.NothingSelectedWarning,
    ),
    "few permutations": (
        lambda: permutation_test(wb.ReliefF(2), X, Y, n_permutations=3),
        exceptions.FewPermutationsWarning,
    ),
    "few runs": (
        lambda: nogueira_stability(RNG.integers(0, 2, (5, 6)).astype(bool)).confidence_interval(),
        exceptions.FewRunsWarning,
    ),
}


def interrupt(progress):
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_points_here(name):
    call, kind = CALLS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    places = [one.filename for one in caught if one.category is kind]
    assert places
    assert set(places) == {__file__}


def test_where_there_is_no_line_outside_it_is_ours():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _thread.start_new_thread(wb.ReliefF(2).fit, (X, LONELY))  # nothing below it on the stack
        until = time.monotonic() + 30
        while not caught and time.monotonic() < until:
            time.sleep(0.01)
    assert [Path(one.filename).name for one in caught] == ["base.py"]
