"""`WeightedNearestNeighbors` passes scikit-learn's tests of `NearestNeighbors`; differences are listed with reasons.

Cases with a metric that is neither city-block nor Euclidean are skipped: the adapter refuses them.
"""

import pytest
import sklearn
from peers.sklearn_neighbors import SEARCH, cases_of, load_module
from sklearn.utils._param_validation import InvalidParameterError

from weighbors.exceptions import InvalidDataError

MODULE = load_module(SEARCH)
if MODULE is None:
    pytest.skip("this scikit-learn was installed without its tests", allow_module_level=True)

SORTED = "lists within a radius are always sorted by distance; scikit-learn's order is that of the rows there"
#: test: (what it ends with, why it may).
DIFFERENCES = {
    "test_unsupervised_inputs": (TypeError, "fit takes a table, not a tree or a fitted estimator"),
    "test_unsupervised_radius_neighbors": (InvalidParameterError, "p is 1 or 2"),
    "test_nearest_neighbors_validate_params": (AssertionError, "the same error under another message"),
    "test_k_and_radius_neighbors_train_is_not_query": (AssertionError, SORTED),
    "test_k_and_radius_neighbors_duplicates": (AssertionError, SORTED),
    "test_radius_neighbors_parallel_array_radius": (InvalidDataError, "one radius for all queries"),
}
#: These compare scikit-learn's metrics or ways of searching with each other.
OTHER_METRICS = (
    "test_auto_algorithm",
    "test_callable_metric",
    "test_kneighbors_brute_backend",
    "test_nearest_neighbours_works_with_p_less_than_1",
    "test_neighbors_metrics",
    "test_non_euclidean_kneighbors",
    "test_pairwise_boolean_distance",
    "test_precomputed_sparse_invalid",
    "test_precomputed_sparse_knn",
    "test_precomputed_sparse_radius",
    "test_radius_neighbors_brute_backend",
    "test_radius_neighbors_returns_array_of_objects",
    "test_sparse_metric_callable",
    "test_valid_brute_metric_for_auto_algorithm",
)
CASES = [case for case in cases_of(MODULE, SEARCH) if case.name not in OTHER_METRICS]
SAME = [case for case in CASES if case.name not in DIFFERENCES]
DIFFERENT = [case for case in CASES if case.name in DIFFERENCES]


def test_every_test_of_the_search_is_run_or_listed():
    assert len(SAME) >= 40
    assert {case.name for case in DIFFERENT} == set(DIFFERENCES)
    if sklearn.__version__.startswith("1.9."):  # other versions have somewhat other tests
        assert (len({case.name for case in SAME}), len(SAME), len(DIFFERENT)) == (6, 81, 12)


@pytest.mark.parametrize("case", SAME, ids=lambda case: case.id)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_tests_pass(case):
    try:
        case.function(**case.arguments)
    except NotImplementedError as refusal:
        if "metric" not in str(refusal):
            raise
        pytest.skip("only city-block and Euclidean distance are offered")


@pytest.mark.parametrize("case", DIFFERENT, ids=lambda case: case.id)
@pytest.mark.filterwarnings("ignore")
def test_what_differs_still_differs(case):
    """A difference that is gone must leave the list."""
    with pytest.raises(DIFFERENCES[case.name][0]):
        case.function(**case.arguments)
