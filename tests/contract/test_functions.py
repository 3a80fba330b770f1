"""Functions that take a table say the same for every container, layout, number of threads and name of a class."""

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from contract.cases import small_table
from contract.test_tables import FRAMES, LAYOUTS
from weighbors import LearnedVotesClassifier, ReliefF, Simba, WeightedKNeighborsClassifier
from weighbors.evaluation import data_values, permutation_test, redundancy_groups, selection_curve, stability_curve

pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.WeighborsWarning")
X, Y = small_table("ReliefF")
AGE = np.random.default_rng(0).normal(size=len(X))


def permuted(X, y, **options):
    return permutation_test(ReliefF(3), X, y, n_permutations=20, random_state=0, **options)


def explained(model, X, y):
    return np.asarray(model.fit(X, y).explain(X[:2]).contributions)


#: What a call gives, as numbers; ``n_jobs`` is handed on.
FUNCTIONS = {
    "permutation_test": lambda X, y, n_jobs=1: permuted(X, y, n_jobs=n_jobs).p_values,
    "permutation_test, covariates": lambda X, y, n_jobs=1: permuted(X, y, n_jobs=n_jobs, covariates=AGE).p_values,
    "stability_curve": lambda X, y, n_jobs=1: (
        stability_curve(Simba(), X, y, 4, n_repeats=2, random_state=3, n_jobs=n_jobs).weights
    ),
    "selection_curve": lambda X, y, n_jobs=1: selection_curve(
        ReliefF(3), X, y, sizes=[1, 3], cv=3, n_repeats=2, n_shuffles=2, n_jobs=n_jobs
    ).frame()["score"],
    "redundancy_groups": lambda X, y, n_jobs=1: redundancy_groups(X, n_jobs=n_jobs).similarity,
    "data_values": lambda X, y, n_jobs=1: data_values(X, y, n_jobs=n_jobs).row_values,
    "explain, k-NN": lambda X, y, n_jobs=1: explained(WeightedKNeighborsClassifier(4, n_jobs=n_jobs), X, y),
    "explain, learned votes": lambda X, y, n_jobs=1: explained(LearnedVotesClassifier(None, None, n_jobs=n_jobs), X, y),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)


@every_function
def test_jobs_containers_and_names_of_classes_change_no_bit(name):
    call = FUNCTIONS[name]
    wanted = call(X, Y)
    with joblib.parallel_config("threading"):
        np.testing.assert_array_equal(call(X, Y, n_jobs=2), wanted)
    for change in (LAYOUTS["columns first"], LAYOUTS["list"], FRAMES["pandas"], FRAMES["polars"]):
        np.testing.assert_array_equal(call(change(X), list(Y)), wanted)
    other = pd.Series(Y).map({"barbera": 1, "barolo": 2, "grignolino": 3}).to_numpy()
    np.testing.assert_array_equal(call(X, other), wanted)


@every_function
def test_sparse_rows_are_dense_rows(name):
    call = FUNCTIONS[name]
    np.testing.assert_allclose(call(sparse.csr_matrix(X), Y), call(X, Y), rtol=1e-7, atol=1e-9)
