"""All of scikit-learn's estimator checks, those beside `check_estimator` too, and how many of them there are."""

import warnings

import pytest
from estimators import public_classes, public_estimators
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from sklearn.utils.validation import has_fit_parameter

from weighbors import (
    DROP3,
    DROP5,
    FCNN,
    HMNEI,
    IB1,
    IB2,
    IB3,
    ICF,
    LWL,
    MBIW,
    NPDR,
    SURF,
    WIBK,
    ClassRelief,
    Democratic,
    EvolutionaryWeigher,
    FeatureSelector,
    GradientWeights,
    IBk,
    IRelief,
    KStar,
    LearnedVotesClassifier,
    LearnedVotesRegressor,
    MultiSURF,
    MultiSURFStar,
    NCAWeights,
    Relief,
    ReliefF,
    RelievedF,
    RepresentativeIntervals,
    RReliefF,
    ScoreWeigher,
    Simba,
    SimbaMBIW,
    StabilitySelection,
    Stratified,
    SURFStar,
    TableClassifier,
    TableRegressor,
    TuRF,
    WeightedKNeighborsClassifier,
    WeightedKNeighborsRegressor,
    WeightedNearestNeighbors,
    Weights,
)
from weighbors import distributed as over_blocks

LEARNED = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "the weigher learns from the rows; it takes no sample_weight, and copies are its near hits",
)
ROWS = dict.fromkeys(
    LEARNED, "a number of rows votes or is stored, and copies count as rows there: weights and copies give other rows"
)
DENSE_ROWS = {name: why for name, why in ROWS.items() if "dense" in name}  # over blocks, sparse rows are refused
LEFT_OUT = dict.fromkeys(LEARNED, "a copy of a row votes when the row is left out; a row of weight 2 does not")
#: name: (estimator, the least number of checks that must pass, checks expected to fail and why)
ESTIMATORS = {
    "k-NN": (WeightedKNeighborsClassifier(), 55, {}),
    "k-NN, city-block, by distance": (WeightedKNeighborsClassifier(3, p=1, weights="distance", n_jobs=2), 55, {}),
    "k-NN with weights": (WeightedKNeighborsClassifier(3, Weights(), class_weight="balanced"), 55, {}),
    "k-NN with a weigher": (WeightedKNeighborsClassifier(3, SimbaMBIW()), 55, LEARNED),
    "k-NN with intervals": (
        WeightedKNeighborsClassifier(3, RepresentativeIntervals(discretize="mdlp"), vote_ties="nearest"),
        55,
        {},
    ),
    "k-NN, all chosen": (
        WeightedKNeighborsClassifier("auto", "auto", weights="auto", p="auto"),
        55,
        LEFT_OUT,
    ),
    "k-NN of numbers": (WeightedKNeighborsRegressor(), 55, {}),
    "k-NN of numbers, city-block, by distance": (
        WeightedKNeighborsRegressor(3, p=1, weights="distance", n_jobs=2),
        55,
        {},
    ),
    "k-NN of numbers with weights": (WeightedKNeighborsRegressor(3, Weights(), weights="complement"), 55, {}),
    "k-NN of numbers with a weigher": (
        WeightedKNeighborsRegressor(3, NCAWeights(max_iter=5, tol=1.0)),
        55,
        {"check_regressor_multioutput": "the weigher learns from one target, as the error says"},
    ),
    "k-NN of numbers, values chosen": (WeightedKNeighborsRegressor("auto", weights="auto", p="auto"), 55, LEFT_OUT),
    "k-NN of numbers, weigher chosen": (WeightedKNeighborsRegressor(3, "auto", p=1), 55, LEFT_OUT),
    "neighbours": (WeightedNearestNeighbors(), 39, {}),
    "neighbours, city-block, with weights": (WeightedNearestNeighbors(3, Weights(), p=1, n_jobs=2), 39, {}),
    "neighbours with a weigher": (WeightedNearestNeighbors(3, ReliefF(3)), 39, {}),
    "WIB-K, MDLP": (WIBK(3, discretize="mdlp"), 50, {}),
    "WIB-K, equal frequency": (WIBK(3, discretize="frequency"), 50, {}),
    "intervals, MDLP": (RepresentativeIntervals(discretize="mdlp"), 35, {}),
    "intervals, equal frequency": (RepresentativeIntervals(discretize="frequency"), 35, {}),
    "IB1": (IB1(), 60, {}),
    "IBk": (IBk(3), 60, {}),
    "IBk, ties by index, by distance": (IBk(3, weights="inverse", ties="index"), 60, {}),
    "LWL": (LWL(), 60, {}),
    "LWL, naive Bayes, neighbours": (LWL("naive_bayes", 5, kernel="tricube"), 60, {}),
    "KStar": (KStar(), 60, {}),
    "learned votes": (LearnedVotesClassifier(), 55, {}),
    "learned votes, nearest rows": (LearnedVotesClassifier(10, None, class_weight="balanced", n_jobs=2), 55, ROWS),
    "learned votes of numbers": (LearnedVotesRegressor(), 50, {}),
    "learned votes of numbers, nearest rows": (LearnedVotesRegressor(10, None), 50, ROWS),
    "tables": (TableClassifier(), 55, {}),
    "tables, k-NN over ranks": (TableClassifier(WeightedKNeighborsClassifier(3), "rank"), 55, {}),
    "tables of numbers": (TableRegressor(), 55, {}),
    "tables of numbers, k-NN, not scaled": (
        TableRegressor(WeightedKNeighborsRegressor(3), None, missing="distance"),
        55,
        {},
    ),
    "MBIW": (MBIW(), 35, {}),
    "Simba": (Simba(random_state=0), 45, {}),
    "SimbaMBIW": (SimbaMBIW(), 45, {}),
    "IRelief": (IRelief(), 45, {}),
    "IRelief, values and ranks": (IRelief(scale="both"), 45, {}),
    "FeatureSelector": (FeatureSelector(ReliefF(3)), 45, {}),
    "FeatureSelector, forest, without stand-ins": (
        FeatureSelector(RandomForestClassifier(5, random_state=0), redundancy="drop"),
        45,
        {},
    ),
    "ScoreWeigher": (ScoreWeigher(), 45, {}),
    "ScoreWeigher, forest": (ScoreWeigher(RandomForestClassifier(5, random_state=0)), 45, {}),
    "StabilitySelection": (StabilitySelection(n_pairs=2, n_permutations=1, target_fp=100.0), 45, {}),
    "NCAWeights": (NCAWeights(), 50, {}),
    "GradientWeights": (GradientWeights(), 50, {}),
    "NPDR": (NPDR(), 45, {}),
    "NPDR, permutations": (NPDR(5, n_permutations=20, pairs="all", random_state=0, n_jobs=2), 45, {}),
    "NCAWeights, few steps": (NCAWeights(0.01, max_iter=10, n_jobs=2), 50, {}),
    "EvolutionaryWeigher": (EvolutionaryWeigher(population_size=8, max_evaluations=80), 40, {}),
    "EvolutionaryWeigher, numeric targets": (
        EvolutionaryWeigher("IS+FS+IW+FW", target_type="numeric", population_size=8, max_evaluations=80),
        40,
        {},
    ),
    "EvolutionaryWeigher, all tasks, pareto": (
        EvolutionaryWeigher("IS+FS+IW+FW", objective="pareto", population_size=8, max_evaluations=80),
        40,
        {},
    ),
    "k-NN with an evolutionary weigher": (
        WeightedKNeighborsClassifier(
            1, EvolutionaryWeigher("FW", population_size=8, max_evaluations=80, random_state=0)
        ),
        55,
        LEARNED,
    ),
    "Stratified": (Stratified(EvolutionaryWeigher("IS+FS", population_size=8, max_evaluations=80)), 40, {}),
    "Democratic": (Democratic(EvolutionaryWeigher("IS+FS", population_size=8, max_evaluations=80), 2), 40, {}),
    "FCNN": (FCNN(), 35, {}),
    "FCNN, city-block, with weights": (FCNN(Weights(), p=1, n_jobs=2), 35, {}),
    "IB2": (IB2(), 35, {}),
    "IB3": (IB3(), 35, {}),
    "DROP3": (DROP3(), 35, {}),
    "DROP3 with a weigher": (DROP3(1, ReliefF(3)), 35, {}),
    "DROP5": (DROP5(), 35, {}),
    "ICF": (ICF(), 35, {}),
    "HMNEI": (HMNEI(), 35, {}),
    "k-NN with a selector": (WeightedKNeighborsClassifier(1, FCNN()), 55, {}),
    "InstanceSampler": (EvolutionaryWeigher("IS", population_size=8, max_evaluations=80).as_sampler(), 35, {}),
    "k-NN with strata": (WeightedKNeighborsClassifier(1, Stratified(SimbaMBIW())), 55, {}),
    "k-NN over blocks": (over_blocks.WeightedKNeighborsClassifier(3), 55, {}),
    "k-NN of numbers over blocks": (over_blocks.WeightedKNeighborsRegressor(3), 50, {}),
    "learned votes over blocks": (over_blocks.LearnedVotesClassifier(), 55, DENSE_ROWS),
    "learned votes of numbers over blocks": (over_blocks.LearnedVotesRegressor(), 50, DENSE_ROWS),
    "RReliefF": (RReliefF(), 45, {}),
    "RReliefF over blocks": (over_blocks.RReliefF(), 45, {}),
    "ReliefF over blocks": (over_blocks.ReliefF(), 45, {}),
    "Relief over blocks": (over_blocks.Relief(), 45, {}),
    "RelievedF over blocks": (over_blocks.RelievedF(), 45, {}),
    "ClassRelief over blocks": (over_blocks.ClassRelief(), 45, {}),
    "MBIW over blocks": (over_blocks.MBIW(), 35, {}),
    "intervals over blocks": (over_blocks.RepresentativeIntervals(discretize="mdlp"), 35, {}),
    **{
        type(weigher).__name__: (weigher, 50, {})
        for weigher in (
            Relief(),
            RelievedF(),
            ReliefF(),
            SURF(),
            SURFStar(),
            MultiSURF(),
            MultiSURFStar(),
            ClassRelief(),
            TuRF(),
        )
    },
}


def expected_of(estimator, expected):
    """Excuses, and one more where scikit-learn (1.6) gives sparse rows also to what takes dense ones only."""
    sparse = "check_sample_weight_equivalence_on_sparse_data"
    checks = {check.func.__name__ for _, check in estimator_checks_generator(estimator)}
    if sparse in checks and not get_tags(estimator).input_tags.sparse:
        return {**expected, sparse: "the estimator refuses sparse rows, as its tags say"}
    return expected


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_checks_pass(name):
    estimator, at_least, expected = ESTIMATORS[name]
    expected = expected_of(estimator, expected)
    results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=expected)
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] == "failed"]
    assert not failed
    excused = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert excused == set(expected)  # an excuse that is not needed is none
    passed = [r for r in results if r["status"] == "passed"]
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert len(passed) >= at_least, len(passed)
    assert len(results) == len(list(estimator_checks_generator(estimator)))
    assert skipped <= {"check_array_api_input"}  # runs only where SCIPY_ARRAY_API is set


def test_every_public_estimator_is_checked():
    assert {type(estimator) for estimator, _, _ in ESTIMATORS.values()} == set(public_classes().values())
    assert len(public_classes()) == 55
    assert len(ESTIMATORS) == 87


#: The checks that scikit-learn's own tests/test_common.py runs beside those of `check_estimator`, and how many of the
#: public estimators each of them concerns.
EXTRAS = {
    "check_dataframe_column_names_consistency": 53,
    "check_param_validation": 55,
    "check_transformer_get_feature_names_out": 27,
    "check_transformer_get_feature_names_out_pandas": 27,
    "check_get_feature_names_out_error": 28,  # also the sampler, which has no transform
    "check_set_output_transform": 27,
    "check_set_output_transform_pandas": 27,
    "check_global_output_transform_pandas": 27,
    "check_set_output_transform_polars": 27,
    "check_global_set_output_transform_polars": 27,
    "check_all_zero_sample_weights_error": 34,
    "check_inplace_ensure_writeable": 0,  # for those that have a parameter copy or copy_X
}


def concerns(check, estimator):
    """Whether test_common.py would run a check for an estimator."""
    if check == "check_dataframe_column_names_consistency":
        # Estimators of tables find columns by their names, in any order: see tests/models/test_table.py.
        return not isinstance(estimator, (TableClassifier, TableRegressor))
    if check == "check_param_validation":
        return True
    if check == "check_all_zero_sample_weights_error":
        return has_fit_parameter(estimator, "sample_weight")
    if check == "check_inplace_ensure_writeable":
        return hasattr(estimator, "copy") or hasattr(estimator, "copy_X")
    if check == "check_get_feature_names_out_error":
        return hasattr(estimator, "get_feature_names_out")
    return hasattr(estimator, "transform")


def extra_cases():
    return [(check, name) for check in EXTRAS for name, one in public_estimators().items() if concerns(check, one)]


def test_the_extra_checks_are_all_there():
    found = [check for check, _ in extra_cases()]
    assert {check: found.count(check) for check in EXTRAS} == EXTRAS
    assert len(found) == sum(EXTRAS.values()) == 359


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
