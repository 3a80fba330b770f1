"""imbalanced-learn's checks of samplers, and its pipeline, for all that select rows."""

import numpy as np
import pytest
from imblearn.pipeline import make_pipeline
from imblearn.utils import estimator_checks
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale
from sklearn.utils import shuffle

from weighbors import DROP3, DROP5, FCNN, HMNEI, IB2, IB3, ICF, Democratic, EvolutionaryWeigher, Stratified

SEARCH = EvolutionaryWeigher("IS", population_size=8, max_evaluations=80, random_state=0)
SAMPLERS = [
    weigher.as_sampler()
    for weigher in (
        SEARCH,
        Stratified(SEARCH, random_state=0),
        Democratic(SEARCH, 2, random_state=0),
        *(kind() for kind in (DROP3, DROP5, FCNN, HMNEI, IB2, IB3, ICF)),
    )
]
#: One check wants a missing value among the kept rows of a table with a single column of three values, in which classes
#: are drawn at random. The rules of these selectors keep none.
WITHOUT_HOLES = (DROP3, DROP5, IB3, HMNEI)


@pytest.mark.filterwarnings("ignore")
@estimator_checks.parametrize_with_checks(SAMPLERS)
def test_checks_pass(estimator, check):
    if check.func.__name__ == "check_samplers_nan" and isinstance(estimator.weigher, WITHOUT_HOLES):
        with pytest.raises(AssertionError):
            check(estimator)
        return
    check(estimator)


def test_there_are_as_many_as_imbalanced_learn_has_for_such_samplers():
    for sampler in SAMPLERS:
        names = {check.func.__name__ for _, check in estimator_checks.estimator_checks_generator(sampler)}
        assert len(names) >= 15
        # those that need a tag of the weigher, or of samplers
        assert names >= {"check_samplers_sparse", "check_samplers_pandas", "check_samplers_nan", "check_samplers_list"}


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda one: type(one.weigher).__name__)
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.LostClassWarning")
def test_a_pipeline_learns_from_the_rows_it_keeps(sampler):
    X, y = shuffle(*load_wine(return_X_y=True), random_state=3)  # wine is sorted by class
    X = scale(X)
    pipeline = make_pipeline(sampler, GaussianNB()).fit(X, y)
    kept = pipeline[0].sample_indices_
    np.testing.assert_array_equal(pipeline[-1].theta_, GaussianNB().fit(X[kept], y[kept]).theta_)
    assert pipeline.score(X, y) > 0.7
