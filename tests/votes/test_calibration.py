"""Probabilities from leave-one-out scores."""

import numpy as np
import pytest
from scipy.special import log_softmax

from weighbors.votes.calibration import Calibration, fit_calibration


def smoothed_loss(slope, scores, codes, weight):
    """The log-loss with smoothed labels, by a loop."""
    n_classes = scores.shape[1]
    total = 0.0
    for row, code, share in zip(scores, codes, weight, strict=True):
        count = weight[codes == code].sum()
        label = np.full(n_classes, 1 / (count + n_classes))
        label[code] = (count + 1) / (count + n_classes)
        total -= share * (label * log_softmax(slope * row)).sum()
    return total / weight.sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_slope_has_the_least_loss(n_classes, weighted):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, 60)
    scores = np.eye(n_classes)[codes] * 0.7 + rng.normal(size=(60, n_classes)) * 0.4
    weight = rng.uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    found = fit_calibration(scores, codes, weight if weighted else None)
    here = smoothed_loss(found.slope, scores, codes, weight)
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert here < smoothed_loss(found.slope * factor, scores, codes, weight)
    plain = -log_softmax(found.slope * scores, axis=1)[np.arange(60), codes]
    assert found.log_loss == pytest.approx(np.average(plain, weights=weight))


def test_perfect_and_useless_scores_have_a_finite_slope():
    codes = np.arange(20) % 2
    perfect = fit_calibration(np.eye(2)[codes], codes)
    assert 1.0 < perfect.slope < 100.0
    wrong = fit_calibration(np.eye(2)[1 - codes], codes)
    assert 0.0 < wrong.slope < 0.01
    equal = fit_calibration(np.full((20, 2), 0.5), codes)
    assert np.isfinite(equal.slope)
    assert equal.log_loss == pytest.approx(np.log(2))


def test_probabilities_sum_to_one_in_the_order_of_the_scores():
    scores = np.random.default_rng(0).normal(size=(30, 7))
    chance = Calibration(3.0, 0.0)(scores)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert (chance > 0).all()
    assert (chance.argsort(axis=1) == scores.argsort(axis=1)).all()
