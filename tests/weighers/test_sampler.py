"""InstanceSampler under imbalanced-learn's checks, in its ensembles, and in any container."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from imblearn.base import is_sampler
from imblearn.ensemble import BalancedBaggingClassifier
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags

from weighbors import Democratic, EvolutionaryWeigher, IRelief, Stratified
from weighbors.exceptions import InvalidDataError
from weighbors.weighers.sampler import InstanceSampler

X, Y = load_wine(return_X_y=True)
SEARCH = EvolutionaryWeigher("IS", population_size=8, max_evaluations=80, random_state=0)
SAMPLERS = {
    "search": SEARCH.as_sampler(),
    "strata": Stratified(SEARCH, random_state=0).as_sampler(),
    "votes": Democratic(SEARCH, 2, random_state=0).as_sampler(),
}


def test_balanced_bagging_takes_it():
    model = BalancedBaggingClassifier(GaussianNB(), n_estimators=3, sampler=SAMPLERS["search"], random_state=0)
    assert model.fit(X, Y).score(X, Y) > 0.8


def test_what_fit_leaves():
    sampler = InstanceSampler(SEARCH).fit(pd.DataFrame(X).add_prefix("f"), Y)
    assert sampler.n_features_in_ == 13
    assert sampler.get_feature_names_out().tolist() == [f"f{j}" for j in range(13)]
    assert sampler.sampling_strategy_ == {c: int((Y[sampler.sample_indices_] == c).sum()) for c in range(3)}
    sampler.fit(X, Y)
    assert not hasattr(sampler, "feature_names_in_")
    assert is_sampler(sampler)


def test_tags_are_those_of_the_weigher():
    given, own = get_tags(SEARCH).input_tags, get_tags(SAMPLERS["search"]).input_tags
    assert (own.allow_nan, own.sparse, own.categorical) == (given.allow_nan, given.sparse, given.categorical)
    assert get_tags(SAMPLERS["search"]).target_tags.required


def test_containers_come_back_as_they_came():
    rows, labels = SAMPLERS["search"].fit_resample(X, Y)
    for given, kind in ((X.tolist(), list), (sparse.csr_matrix(X), sparse.csr_matrix), (pd.DataFrame(X), pd.DataFrame)):
        found, told = SAMPLERS["search"].fit_resample(given, Y.tolist())
        assert isinstance(found, kind)
        assert isinstance(told, list)
        np.testing.assert_array_equal(found.toarray() if kind is sparse.csr_matrix else np.asarray(found), rows)
        assert told == labels.tolist()
    words = np.array(["a", "b", "c"])[Y]
    assert SAMPLERS["search"].fit_resample(X, words)[1].tolist() == words[SAMPLERS["search"].sample_indices_].tolist()
    columns = np.eye(3, dtype=int)[Y]
    np.testing.assert_array_equal(SAMPLERS["search"].fit_resample(X, columns)[1], np.eye(3, dtype=int)[labels])


def test_what_is_no_single_label_is_refused():
    with pytest.raises(InvalidDataError, match="Multilabel and multioutput targets are not supported"):
        SAMPLERS["search"].fit_resample(X, np.ones((178, 2), dtype=int))
    with pytest.raises(ValueError, match="Unknown label type"):
        SAMPLERS["search"].fit_resample(X, np.linspace(0, 1, 178))
    with pytest.raises(ValueError, match="inconsistent"):
        SAMPLERS["search"].fit_resample(X, Y[:-1])
    with pytest.raises(AttributeError, match="sample_indices_"):
        InstanceSampler(IRelief()).fit_resample(X, Y)


def test_the_library_does_not_import_imbalanced_learn():
    program = "import sys, weighbors.weighers.sampler; sys.exit('imblearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
