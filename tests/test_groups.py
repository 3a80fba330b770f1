"""Groups of rows: one value per row, of any container; everything else is refused by every function that takes them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from weighbors import ReliefF, RReliefF, ScoreWeigher, StabilitySelection
from weighbors.evaluation import Study, permutation_test, selection_curve, stability_curve
from weighbors.exceptions import InvalidDataError, WeighborsError
from weighbors.report import build_report
from weighbors.tables.groups import check_groups

N = 24
X = np.random.default_rng(0).normal(size=(N, 4))
Y = np.arange(N) % 2
FUNCTIONS = {
    "StabilitySelection": lambda groups: StabilitySelection(ScoreWeigher(), 2, n_permutations=1).fit(
        X, Y, groups=groups
    ),
    "permutation_test": lambda groups: permutation_test(ReliefF(), X, Y, n_permutations=20, groups=groups),
    "selection_curve": lambda groups: selection_curve(ScoreWeigher(), X, Y, 3, groups=groups, n_repeats=1),
    "stability_curve": lambda groups: stability_curve(ScoreWeigher(), X, Y, cv=3, groups=groups),
    "Study": lambda groups: Study({"a": (X, Y, groups)}, {"b": ReliefF()}, "nowhere").plan(),
    "report": lambda groups: build_report(X, Y, groups=groups),
}
BAD = {
    "too few": (np.arange(5), "inconsistent numbers of samples|needs one entry per row"),
    "two columns": (np.zeros((N, 2)), "a vector with one value for each row"),
    "missing": (np.where(np.arange(N) % 5 == 0, np.nan, 1.0), "5 rows belong to no group"),
    "nothing": (np.array([None] * N, dtype=object), "24 rows belong to no group"),
    "a text": ("abc", "a vector with one value|needs one entry per row"),
    "a number": (3, "a vector with one value for each row"),
    "lists": ([[1], [2, 3]] * (N // 2), "not lists of different lengths"),
    "objects": (pd.Series([{1}] * N), "not lists or other objects"),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", BAD)
def test_bad_groups_are_refused(tmp_path, monkeypatch, function, kind):
    monkeypatch.chdir(tmp_path)
    groups, message = BAD[kind]
    with pytest.raises(InvalidDataError, match=message):
        FUNCTIONS[function](groups)


@pytest.mark.parametrize("function", ["selection_curve", "stability_curve"])
def test_fewer_groups_than_folds_are_refused(function):
    with pytest.raises(InvalidDataError, match="need at least 3 groups; got 2"):
        FUNCTIONS[function](np.arange(N) // 12)


def test_containers_of_groups():
    given = np.repeat(["b", "a", "c"], 8)
    same = (
        given,
        given.tolist(),
        pd.Series(given),
        pd.DataFrame({"g": given}),
        pd.Categorical(given),
        pl.Series(given),
    )
    for groups in same:
        assert check_groups(groups, N).tolist() == given.tolist()
    mixed = np.array(["b", 2, 2.5] * 8, dtype=object)  # cannot be sorted
    assert check_groups(mixed, N).tolist() == [0, 1, 2] * 8
    found = [permutation_test(ReliefF(), X, Y, n_permutations=20, groups=one, random_state=0).frame() for one in same]
    for frame in found[1:]:
        pd.testing.assert_frame_equal(frame, found[0])


@pytest.mark.parametrize("covariates", ["abc", 3])
def test_covariates_that_are_no_table(covariates):
    with pytest.raises(InvalidDataError, match="covariates must be a table or a vector"):
        permutation_test(RReliefF(), X, X[:, 0], n_permutations=20, covariates=covariates)


@pytest.mark.parametrize("table", [X[:, :0], X[:, 0], X[None]])
def test_permutation_test_needs_a_table(table):
    with pytest.raises(WeighborsError, match="X must be a table of rows and features"):
        permutation_test(ReliefF(), table, Y, n_permutations=20)
