"""Our k-NN passes scikit-learn's tests of its own; where it differs, the difference is listed with its reason."""

import pytest
import sklearn
from peers.sklearn_neighbors import cases_of, load_module

MODULE = load_module()
if MODULE is None:
    pytest.skip("this scikit-learn was installed without its tests", allow_module_level=True)

METRIC = "only city-block and Euclidean distance are offered"
#: (test, some of its arguments): (what it ends with, why it may).
DIFFERENCES = {
    ("test_neigh_predictions_algorithm_agnosticity", "chebyshev"): (NotImplementedError, METRIC),
    ("test_neighbors_classifier_with_string_labels", "chebyshev"): (NotImplementedError, METRIC),
    ("test_precomputed_dense",): (NotImplementedError, "weights need the features: distances alone will not do"),
    ("test_neigh_predictions_algorithm_agnosticity", "KNeighborsRegressor", "float64", "DM_euclidean"): (
        NotImplementedError,
        METRIC,
    ),
    ("test_kneighbors_regressor_sparse",): (NotImplementedError, "sparse rows pass; precomputed distances will not do"),
    ("test_pipeline_with_nearest_neighbors_transformer",): (NotImplementedError, "as for dense distances"),
    ("test_precomputed_sparse_knn",): (NotImplementedError, "as for dense distances"),
    ("test_precomputed_cross_validation",): (ValueError, "as for dense distances"),
    ("test_nan_euclidean_support",): (NotImplementedError, "missing values are at full range, by HEOM"),
    ("test_neighbors_validate_parameters",): (
        NotImplementedError,
        "its metric is haversine, and its labels are of one class, which is refused",
    ),
    ("test_neighbors_minkowski_semimetric_algo_warn",): (
        pytest.fail.Exception,
        "p between 0 and 1 is refused by the constraint of p, without the warning of a tree",
    ),
    ("test_neighbors_minkowski_semimetric_algo_error",): (AssertionError, "the same error under another message"),
    ("test_metric_params_interface",): (
        pytest.fail.Exception,
        "feature weights come as weigher=Weights(...), so there is no metric_params to warn of",
    ),
    ("test_unsupervised_inputs",): (TypeError, "fit takes a table, not a tree or a fitted estimator"),
    ("test_KNeighborsClassifier_multioutput",): (ValueError, "one output"),
    ("test_predict_sparse_ball_kd_tree",): (
        pytest.fail.Exception,
        "sparse rows are served whatever the algorithm is called",
    ),
    ("test_KNeighborsClassifier_raise_on_all_zero_weights",): (
        pytest.fail.Exception,
        "where all votes are zero the neighbours count equally, with a warning",
    ),
}
#: scikit-learn skips these for its own estimators, too.
SKIPPED = ("test_neigh_predictions_algorithm_agnosticity", "DM_euclidean")


def matches(case, key):
    name, *arguments = key
    return case.name == name and set(arguments) <= set(case.told)


CASES = cases_of(MODULE)
DIFFERENT = [(case, key) for case in CASES for key in DIFFERENCES if matches(case, key)]
_LISTED = {case.id for case, _ in DIFFERENT}
LEFT_OUT = [case for case in CASES if matches(case, SKIPPED) and case.id not in _LISTED]
_APART = _LISTED | {case.id for case in LEFT_OUT}
SAME = [case for case in CASES if case.id not in _APART]


def test_every_test_of_classifier_and_regressor_is_run_or_listed():
    assert len(CASES) == len(SAME) + len(DIFFERENT) + len(LEFT_OUT)
    assert len(SAME) >= 100
    if sklearn.__version__.startswith("1.9."):  # other versions have somewhat other tests
        assert (len({case.name for case in CASES}), len(CASES)) == (33, 294)
        assert (len(SAME), len(DIFFERENT), len(LEFT_OUT)) == (208, 68, 18)
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
