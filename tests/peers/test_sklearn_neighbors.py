"""Our k-NN passes scikit-learn's tests of its own; where it differs, the difference is listed with its reason."""

import pytest
import sklearn
from peers.sklearn_neighbors import cases_of, load_module

MODULE = load_module()
if MODULE is None:
    pytest.skip("this scikit-learn was installed without its tests", allow_module_level=True)

METRIC = "only city-block and Euclidean distance are offered"
#: (test, one of its arguments or None for all): (what it ends with, why it may).
DIFFERENCES = {
    ("test_neigh_predictions_algorithm_agnosticity", "chebyshev"): (NotImplementedError, METRIC),
    ("test_neighbors_classifier_with_string_labels", "chebyshev"): (NotImplementedError, METRIC),
    ("test_precomputed_dense", None): (NotImplementedError, "weights need the features: distances alone will not do"),
    ("test_precomputed_sparse_knn", None): (NotImplementedError, "as for dense distances"),
    ("test_precomputed_cross_validation", None): (ValueError, "as for dense distances"),
    ("test_nan_euclidean_support", None): (NotImplementedError, "missing values are at full range, by HEOM"),
    ("test_neighbors_validate_parameters", None): (
        NotImplementedError,
        "its metric is haversine, and its labels are of one class, which is refused",
    ),
    ("test_neighbors_minkowski_semimetric_algo_warn", None): (
        pytest.fail.Exception,
        "p between 0 and 1 is refused by the constraint of p, without the warning of a tree",
    ),
    ("test_neighbors_minkowski_semimetric_algo_error", None): (AssertionError, "the same error under another message"),
    ("test_metric_params_interface", None): (
        pytest.fail.Exception,
        "feature weights come as weigher=Weights(...), so there is no metric_params to warn of",
    ),
    ("test_unsupervised_inputs", None): (TypeError, "fit takes a table, not a tree or a fitted estimator"),
    ("test_KNeighborsClassifier_multioutput", None): (ValueError, "one output"),
    ("test_predict_sparse_ball_kd_tree", None): (
        pytest.fail.Exception,
        "sparse rows are served whatever the algorithm is called",
    ),
    ("test_KNeighborsClassifier_raise_on_all_zero_weights", None): (
        pytest.fail.Exception,
        "where all votes are zero the neighbours count equally, with a warning",
    ),
}
#: scikit-learn skips these for its own classifier too.
SKIPPED = ("test_neigh_predictions_algorithm_agnosticity", "DM_euclidean")


def matches(case, key):
    name, argument = key
    return case.name == name and (argument is None or argument in case.told)


CASES = cases_of(MODULE)
DIFFERENT = [(case, key) for case in CASES for key in DIFFERENCES if matches(case, key)]
LEFT_OUT = [case for case in CASES if matches(case, SKIPPED)]
_APART = {case.id for case, _ in DIFFERENT} | {case.id for case in LEFT_OUT}
SAME = [case for case in CASES if case.id not in _APART]


def test_every_test_of_the_classifier_is_run_or_listed():
    assert len(CASES) == len(SAME) + len(DIFFERENT) + len(LEFT_OUT)
    assert len(SAME) >= 100
    if sklearn.__version__.startswith("1.9."):  # other versions have somewhat other tests
        assert (len({case.name for case in CASES}), len(CASES)) == (25, 174)
        assert (len(SAME), len(DIFFERENT), len(LEFT_OUT)) == (127, 35, 12)
        assert {key for _, key in DIFFERENT} == set(DIFFERENCES)


@pytest.mark.parametrize("case", SAME, ids=lambda case: case.id)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_tests_pass(case):
    case.function(**case.arguments)


@pytest.mark.parametrize(("case", "key"), DIFFERENT, ids=[case.id for case, _ in DIFFERENT])
@pytest.mark.filterwarnings("ignore")
def test_what_differs_still_differs(case, key):
    """A difference that is gone must leave the list."""
    ends_with, _ = DIFFERENCES[key]
    with pytest.raises(ends_with):
        case.function(**case.arguments)


@pytest.mark.parametrize("case", LEFT_OUT, ids=lambda case: case.id)
@pytest.mark.filterwarnings("ignore")
def test_what_scikit_learn_skips(case):
    with pytest.raises(pytest.skip.Exception):
        case.function(**case.arguments)
