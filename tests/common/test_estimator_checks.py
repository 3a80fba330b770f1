"""All of scikit-learn's estimator checks, and how many of them there are."""

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from weighbors import (
    IB1,
    LWL,
    MBIW,
    SURF,
    WIBK,
    ClassRelief,
    Democratic,
    EvolutionaryWeigher,
    IBk,
    IRelief,
    KStar,
    MultiSURF,
    MultiSURFStar,
    Relief,
    ReliefF,
    RelievedF,
    RepresentativeIntervals,
    Simba,
    SimbaMBIW,
    Stratified,
    SURFStar,
    TuRF,
    WeightedKNeighborsClassifier,
    Weights,
)
from weighbors import distributed as over_blocks

LEARNED = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "the weigher learns from the rows; it takes no sample_weight, and copies are its near hits",
)
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
    "WIB-K, MDLP": (WIBK(3, discretize="mdlp"), 50, {}),
    "WIB-K, equal frequency": (WIBK(3, discretize="frequency"), 50, {}),
    "intervals, MDLP": (RepresentativeIntervals(discretize="mdlp"), 35, {}),
    "intervals, equal frequency": (RepresentativeIntervals(discretize="frequency"), 35, {}),
    "IB1": (IB1(), 60, {}),
    "IBk": (IBk(3), 60, {}),
    "IBk, ties by index, by distance": (IBk(3, weights="inverse", ties="index"), 60, {}),
    "LWL": (LWL(), 60, {}),
    "LWL, naive Bayes, neighbours": (LWL("naive_bayes", 5, kernel="tricube"), 60, {}),
    "LWL, any classifier": (LWL(GaussianNB(), kernel="gauss"), 58, {}),
    "KStar": (KStar(), 60, {}),
    "MBIW": (MBIW(), 35, {}),
    "Simba": (Simba(random_state=0), 45, {}),
    "SimbaMBIW": (SimbaMBIW(), 45, {}),
    "IRelief": (IRelief(), 45, {}),
    "EvolutionaryWeigher": (EvolutionaryWeigher(population_size=8, max_evaluations=80), 40, {}),
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
    "Stratified, small strata": (Stratified(ReliefF(1), stratum_size=12), 40, {}),
    "Democratic": (Democratic(EvolutionaryWeigher("IS+FS", population_size=8, max_evaluations=80), 2), 40, {}),
    "k-NN with strata": (WeightedKNeighborsClassifier(1, Stratified(SimbaMBIW())), 55, {}),
    "k-NN over blocks": (over_blocks.WeightedKNeighborsClassifier(3), 55, {}),
    "ReliefF over blocks": (over_blocks.ReliefF(), 45, {}),
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
