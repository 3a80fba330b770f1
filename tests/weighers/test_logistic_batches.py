"""Batches of logistic regressions: extreme values, separation and Firth's estimate."""

import numpy as np
import pytest
import statsmodels.api as sm
from naive.npdr import firth

from weighbors.weighers.logistic_batches import fit_batch, fit_design


def extreme_batch(seed):
    """Features of many kinds, with heavy tails or few values; some of them separate the outcomes."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(6, 60)), 40
    outcome = np.zeros(n)
    outcome[: int(rng.integers(1, n))] = 1
    features = [
        np.abs(rng.normal(size=(m, n))),
        np.abs(rng.standard_cauchy(size=(m, n))),
        rng.integers(0, 3, size=(m, n)).astype(float),
        np.exp(3 * rng.normal(size=(m, n))),
    ][seed % 4]
    if seed % 3 == 0:
        features = features + outcome * rng.uniform(0, 5, size=(m, 1))
    features = features[np.ptp(features, axis=1) > 0]
    return features / features.std(axis=1, keepdims=True), outcome


def fitted(features, outcome):
    design, weight = np.ones((len(outcome), 1)), np.ones(len(outcome))
    return fit_batch(features, design, outcome, weight, fit_design(design, outcome, weight)[0])


@pytest.mark.parametrize("seed", range(24))
def test_exactly_the_separated_features_are_called_separated(seed):
    features, outcome = extreme_batch(seed)
    found = fitted(features, outcome)
    hits, misses = features[:, outcome == 0], features[:, outcome == 1]
    # One feature separates, completely or but for ties, if one kind of pairs lies on one side of the other kind.
    separates = (hits.max(axis=1) <= misses.min(axis=1)) | (misses.max(axis=1) <= hits.min(axis=1))
    np.testing.assert_array_equal(found.separated, separates)
    assert np.isfinite(found.coefficients[:, -1]).all()


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 7])
def test_extreme_values_have_the_coefficients_of_statsmodels(seed):
    features, outcome = extreme_batch(seed)
    found = fitted(features, outcome)
    compared = 0
    for j in np.flatnonzero(~found.separated)[:10]:
        fit = sm.Logit(outcome, sm.add_constant(features[j])).fit(
            disp=0, method="newton", start_params=found.coefficients[j], warn_convergence=False
        )
        # The likelihood of statsmodels can rise no further from our coefficients.
        np.testing.assert_allclose(fit.params, found.coefficients[j], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(fit.bse[1], found.errors[j], rtol=1e-3)
        compared += 1
    assert compared


def test_separated_features_have_firths_estimate():
    features, outcome = extreme_batch(0)
    features = np.vstack([features[:2], outcome + 0.01 * np.arange(len(outcome)), outcome])
    found = fitted(features / features.std(axis=1, keepdims=True), outcome)
    assert found.separated[-2:].all()
    for j in (-2, -1):
        scaled = features[j] / features[j].std()
        wanted = firth(np.column_stack([np.ones(len(outcome)), scaled]), outcome)
        np.testing.assert_allclose(found.coefficients[j], wanted, rtol=1e-3)


def test_weights_are_numbers_of_observations():
    features, outcome = extreme_batch(4)
    weight = np.random.default_rng(0).integers(1, 4, size=len(outcome))
    design = np.ones((len(outcome), 1))
    weighed = fit_batch(features, design, outcome, weight.astype(float), np.zeros(1))
    again = np.repeat(np.arange(len(outcome)), weight)
    repeated = fit_batch(features[:, again], design[again], outcome[again], np.ones(len(again)), np.zeros(1))
    np.testing.assert_allclose(weighed.coefficients, repeated.coefficients, rtol=1e-6)
    np.testing.assert_allclose(weighed.errors, repeated.errors, rtol=1e-6)
