"""Displays of numeric targets: those that make sense draw, those that need classes say so."""

import numpy as np
import pytest

from weighbors import ClassRelief, EvolutionaryWeigher, GradientWeights, RReliefF
from weighbors.evaluation import permutation_test, stability_curve
from weighbors.exceptions import InvalidDataError
from weighbors.plots import (
    ClassHeatmapDisplay,
    EvolutionHistoryDisplay,
    InstanceMapDisplay,
    MarginProfileDisplay,
    ParetoFrontDisplay,
    StabilityCurveDisplay,
    WeightsDisplay,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = X[:, 0] + 0.2 * RNG.normal(size=40)
SEARCH = {"population_size": 10, "max_evaluations": 200, "random_state": 0}


def test_weights_and_stability():
    weigher = RReliefF(5).fit(X, Y)
    assert WeightsDisplay.from_estimator(weigher).frame().index[0] == "x0"
    curve = stability_curve(RReliefF(5), X, Y, cv=4)
    assert StabilityCurveDisplay.from_result(curve).ax_.lines
    found = permutation_test(RReliefF(5), X, Y, n_permutations=39)
    assert WeightsDisplay.from_result(found).ax_.get_xlabel()


def test_the_map_has_the_colours_of_the_numbers():
    display = InstanceMapDisplay(X[:, :2], np.linspace(0, 1, 40), Y).plot()
    assert display.target_type == "numeric"
    assert display.frame().columns.tolist() == ["x", "y", "target", "weight"]
    assert display.colorbar_.vmin == pytest.approx(Y.min())
    assert display.colorbar_.vmax == pytest.approx(Y.max())
    drawn = np.concatenate([dots.get_array() for dots in display.points_])
    np.testing.assert_allclose(np.sort(drawn), np.sort(Y))
    assert display.ax_.get_legend() is None
    assert len(display.colorbar_.cmap.colors) < 50  # more would be drawn as a bitmap


def test_classes_are_drawn_as_before():
    display = InstanceMapDisplay(X[:, :2], np.ones(40), np.arange(40) % 3).plot()
    assert display.colorbar_ is None
    assert len(display.ax_.get_legend().get_texts()) == 3
    assert InstanceMapDisplay(X[:, :2], np.ones(40), np.arange(40) % 3, target_type="numeric").target_type == "numeric"


@pytest.mark.parametrize(
    ("y", "message"), [([np.inf, *Y[1:]], "infinity"), ([np.nan, *Y[1:]], "missing"), ([0.5] * 40, "constant")]
)
def test_targets_that_cannot_be_drawn(y, message):
    with pytest.raises(InvalidDataError, match=message):
        InstanceMapDisplay(X[:, :2], np.ones(40), y)
    with pytest.raises(InvalidDataError, match="target type"):
        InstanceMapDisplay(X[:, :2], np.ones(40), Y, target_type="number")


def test_searches():
    search = EvolutionaryWeigher("FS+IW", **SEARCH).fit(X, Y)
    assert EvolutionHistoryDisplay.from_estimator(search).ax_.lines
    assert InstanceMapDisplay.from_estimator(search, X, Y).target_type == "numeric"
    front = EvolutionaryWeigher("FS", objective="pareto", **SEARCH).fit(X, Y)
    display = ParetoFrontDisplay.from_estimator(front)
    assert "error (1 − R²)" in (display.ax_.get_xlabel(), display.ax_.get_ylabel())


def test_displays_of_classes_refuse():
    with pytest.raises(InvalidDataError, match="class"):
        ClassHeatmapDisplay.from_estimator(RReliefF(5).fit(X, Y))
    with pytest.raises(InvalidDataError, match="class"):
        MarginProfileDisplay.from_estimator(GradientWeights(gamma=1.0).fit(X, Y), X, Y)
    assert ClassHeatmapDisplay.from_estimator(ClassRelief(3).fit(X, Y > 0)).frame().shape == (2, 4)
