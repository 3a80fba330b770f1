"""All of scikit-learn's estimator checks, and how many of them there are."""

import pytest
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from weighbors import WeightedKNeighborsClassifier, Weights

ESTIMATORS = {
    "plain": WeightedKNeighborsClassifier(),
    "city-block, by distance": WeightedKNeighborsClassifier(3, p=1, weights="distance", n_jobs=2),
    "with weights": WeightedKNeighborsClassifier(3, Weights(), class_weight="balanced"),
}
#: The least number of checks that must have passed; scikit-learn adds some with every release.
AT_LEAST = 55


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_checks_pass(name):
    results = check_estimator(ESTIMATORS[name], on_skip=None, on_fail=None)
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] in ("failed", "xfail")]
    assert not failed
    passed = [r for r in results if r["status"] == "passed"]
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert len(passed) >= AT_LEAST
    assert len(passed) + len(skipped) == len(list(estimator_checks_generator(ESTIMATORS[name])))
    assert skipped <= {"check_array_api_input"}  # runs only where SCIPY_ARRAY_API is set
