"""All of scikit-learn's estimator checks, those beside `check_estimator` too, and how many of them there are."""

import warnings

import pytest
from estimators import public_classes, public_estimators
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from sklearn.utils.validation import has_fit_parameter

import weighbors as wb
from contract.cases import CASES, make

WEIGHED = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
LEARNED = dict.fromkeys(WEIGHED, "the weigher learns from the rows; copies of a row are its near hits")
ROWS = dict.fromkeys(
    WEIGHED, "a number of rows votes or is stored, and copies count as rows there: weights and copies give other rows"
)
LEFT_OUT = dict.fromkeys(WEIGHED, "a copy of a row votes when the row is left out; a row of weight 2 does not")
ONE_TARGET = {"check_regressor_multioutput": "the weigher learns from one target, as the error says"}
#: Settings that only these checks are made for, beside those of the contract.
MORE = {
    "k-NN, city-block, balanced": wb.WeightedKNeighborsClassifier(3, wb.Weights(), p=1, class_weight="balanced"),
    "k-NN with a selector": wb.WeightedKNeighborsClassifier(1, wb.FCNN()),
    "k-NN with TuRF": wb.WeightedKNeighborsClassifier(3, wb.TuRF()),
    "k-NN with strata": wb.WeightedKNeighborsClassifier(1, wb.Stratified(wb.SimbaMBIW())),
    "k-NN of numbers, complement": wb.WeightedKNeighborsRegressor(3, wb.Weights(), weights="complement"),
    "k-NN of numbers with a weigher": wb.WeightedKNeighborsRegressor(3, wb.NCAWeights(max_iter=5, tol=1.0)),
    "neighbours with a weigher": wb.WeightedNearestNeighbors(3, wb.ReliefF(3), p=1),
    "WIB-K, equal frequency": wb.WIBK(3, discretize="frequency"),
    "tables, k-NN over ranks": wb.TableClassifier(wb.WeightedKNeighborsClassifier(3), "rank"),
    "tables of numbers, k-NN": wb.TableRegressor(wb.WeightedKNeighborsRegressor(3), None, missing="distance"),
    "IRelief, values and ranks": wb.IRelief(scale="both"),
    "FeatureSelector, forest": wb.FeatureSelector(RandomForestClassifier(5, random_state=0), redundancy="drop"),
    "ScoreWeigher, forest": wb.ScoreWeigher(RandomForestClassifier(5, random_state=0)),
    "FCNN, city-block, with weights": wb.FCNN(wb.Weights(), p=1),
}
EXPECTED = {
    **dict.fromkeys(("k-NN with a weigher", "k-NN with SIMBAMBIW, by distance", "k-NN with a search"), LEARNED),
    **dict.fromkeys(("k-NN with TuRF", "k-NN over blocks with a weigher"), LEARNED),
    **dict.fromkeys(("learned votes of the nearest rows", "learned votes of numbers, nearest rows"), ROWS),
    **dict.fromkeys(("k-NN, all chosen", "k-NN of numbers, all chosen"), LEFT_OUT),
    "k-NN of numbers with a weigher": ONE_TARGET,
}


def expected_of(estimator, expected):
    """Excuses, and one more where scikit-learn (1.6) gives sparse rows also to what takes dense ones only."""
    sparse = WEIGHED[1]
    checks = {check.func.__name__ for _, check in estimator_checks_generator(estimator)}
    expected = {name: why for name, why in expected.items() if name in checks}
    if sparse in checks and not get_tags(estimator).input_tags.sparse:
        return {**expected, sparse: "the estimator refuses sparse rows, as its tags say"}
    return expected


#: Some checks have tables of too few rows for a fixed number of strata.
CHECKED = [name for name in (*CASES, *MORE) if name != "Stratified search"]


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.filterwarnings("ignore")
def test_checks_pass(name):
    estimator = clone(MORE[name]) if name in MORE else make(name)
    expected = expected_of(estimator, EXPECTED.get(name, {}))
    results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=expected)
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] == "failed"]
    assert not failed
    excused = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert excused == set(expected)  # an excuse that is not needed is none
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}  # runs only where SCIPY_ARRAY_API is set
    assert len(results) == len(list(estimator_checks_generator(estimator)))
    assert sum(r["status"] == "passed" for r in results) >= 35


def test_every_public_estimator_is_checked():
    assert set(public_estimators()) <= set(CASES)
    assert len(public_classes()) == len(public_estimators()) > 40


#: The checks that scikit-learn's own tests/test_common.py runs beside those of `check_estimator`.
EXTRAS = [
    "check_dataframe_column_names_consistency",
    "check_param_validation",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_get_feature_names_out_error",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_set_output_transform_polars",
    "check_all_zero_sample_weights_error",
]


def concerns(check, estimator):
    """Whether test_common.py would run a check for an estimator."""
    if check == "check_dataframe_column_names_consistency":
        # Estimators of tables find columns by their names, in any order: see tests/models/test_table.py.
        return not isinstance(estimator, (wb.TableClassifier, wb.TableRegressor))
    if check == "check_param_validation":
        return True
    if check == "check_all_zero_sample_weights_error":
        return has_fit_parameter(estimator, "sample_weight")
    if check == "check_get_feature_names_out_error":
        return hasattr(estimator, "get_feature_names_out")
    return hasattr(estimator, "transform")


def extra_cases():
    return [(check, name) for check in EXTRAS for name, one in public_estimators().items() if concerns(check, one)]


def test_every_extra_check_concerns_many():
    found = [check for check, _ in extra_cases()]
    assert min(found.count(check) for check in EXTRAS) > 15


@pytest.mark.parametrize(("check", "name"), extra_cases())
@pytest.mark.filterwarnings("ignore")
def test_extra_checks_pass(check, name):
    if not hasattr(estimator_checks, check):
        pytest.skip(f"this version of scikit-learn has no {check}")
    if "polars" in check:
        pytest.importorskip("polars")
    estimator = public_estimators()[name]
    with warnings.catch_warnings(record=True) as given:
        getattr(estimator_checks, check)(type(estimator).__name__, clone(estimator))
    if check == "check_dataframe_column_names_consistency":
        assert not [one for one in given if "was fitted without feature names" in str(one.message)]
