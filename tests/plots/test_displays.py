"""Rules for all displays: the conventions of scikit-learn, names drawn unchanged, a clear error without matplotlib."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support.curves import handmade_curve

import weighbors.plots as plots
from weighbors._display.figure import COLOURS, check_lengths, check_names, top_positions
from weighbors._names import shorten_name
from weighbors.evaluation import kuncheva_curve
from weighbors.exceptions import InvalidDataError, MissingDependencyError

WEIGHTS = np.array([[0.9, 0.5, 0.1, 0.0], [0.8, 0.6, 0.2, 0.1], [0.7, 0.9, 0.0, 0.3]])
INTERVALS = pd.DataFrame(
    {
        "class": ["a", "b"],
        "feature": ["f", "f"],
        "low": [1, 3],
        "high": [2, 5],
        "magnitude": [4, 6],
        "weight": [1.0, 0.5],
        "kept": [True, True],
    }
)


def displays():
    ranks = pd.Series({"a": 1.2, "b": 1.8})
    pairs = pd.DataFrame({"first": ["a"], "second": ["b"], "differs": [False]})
    return {
        "WeightsDisplay": plots.WeightsDisplay([3.0, 1.0]),
        "ClassHeatmapDisplay": plots.ClassHeatmapDisplay([[1.0, -1.0], [0.5, 0.0]]),
        "SelectionCurveDisplay": plots.SelectionCurveDisplay(handmade_curve([[0.5, 0.8, 0.7], [0.6, 0.8, 0.9]])),
        "StabilityCurveDisplay": plots.StabilityCurveDisplay({"curve": kuncheva_curve(WEIGHTS)}),
        "StabilityPathsDisplay": plots.StabilityPathsDisplay([1, 2], [[1.0, 0.0], [1.0, 0.5]], [True, False]),
        "MarginProfileDisplay": plots.MarginProfileDisplay({"plain": [-0.5, 0.5]}),
        "IntervalMapDisplay": plots.IntervalMapDisplay(INTERVALS),
        "EvolutionHistoryDisplay": plots.EvolutionHistoryDisplay(
            pd.DataFrame({"evaluations": [1, 2], "best": [0.1, 0.2]})
        ),
        "ParetoFrontDisplay": plots.ParetoFrontDisplay(pd.DataFrame({"error": [0.1], "instances": [0.2]})),
        "CriticalDifferenceDisplay": plots.CriticalDifferenceDisplay(ranks, pairs),
        "ExplanationDisplay": plots.ExplanationDisplay(["age", "sex"], [61, "f"], [0.3, -0.1]),
        "InstanceMapDisplay": plots.InstanceMapDisplay([[0, 0], [1, 1]], [0.5, 0.5], ["a", "b"]),
    }


NAMES = sorted(displays())


def test_every_display_is_tested_here():
    assert plots.__all__ == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_plot_returns_the_display_and_leaves_axes_and_figure(name):
    display = displays()[name]
    assert not hasattr(display, "ax_")
    assert display.plot() is display
    assert display.ax_.figure is display.figure_


@pytest.mark.parametrize("name", NAMES)
def test_plot_draws_into_the_axes_it_is_given(name):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    display = displays()[name].plot(ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert not axes[0].has_data()
    assert axes[1].has_data() or display.ax_.texts


@pytest.mark.parametrize("name", NAMES)
def test_frame_needs_no_drawing_and_no_matplotlib(name, monkeypatch):
    display = displays()[name]
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    frame = display.frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)
    with pytest.raises(MissingDependencyError, match=r"matplotlib: pip install 'weighbors\[plots\]'"):
        display.plot()


@pytest.mark.parametrize("name", NAMES)
def test_every_display_can_be_made_from_what_was_computed(name):
    kind = getattr(plots, name)
    makers = [maker for maker in dir(kind) if maker.startswith("from_")]
    assert set(makers) & {"from_estimator", "from_result", "from_results"}
    for maker in makers:
        assert getattr(kind, maker).__doc__


@pytest.mark.parametrize("name", NAMES)
def test_pictures_can_be_saved(name, tmp_path):
    display = displays()[name].plot()
    for ending in ("png", "svg", "pdf"):
        path = tmp_path / f"{name}.{ending}"
        display.figure_.savefig(path)
        assert path.stat().st_size > 1000


def test_hostile_names_are_drawn_as_they_are():
    names = ["<script>alert(1)</script>", "$x^", "two\nlines", "z" * 10_000]
    display = plots.WeightsDisplay([4.0, 3.0, 2.0, 1.0], names).plot()
    display.figure_.canvas.draw()  # "$x^" as a formula would raise here
    told = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert told[:3] == ["<script>alert(1)</script>", "$x^", "two lines"]
    assert len(told[3]) == 28
    assert list(display.frame().index) == names


def luminance(colour):
    """Relative luminance of WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("paper", ["#ffffff", "#15181b"])
def test_the_first_two_colours_stand_out_from_light_and_dark_paper(paper):
    for colour in COLOURS[:2]:
        low, high = sorted((luminance(colour), luminance(paper)))
        assert (high + 0.05) / (low + 0.05) >= 3  # WCAG 2.1, 1.4.11: graphics


def test_matplotlib_is_loaded_when_something_is_drawn_and_not_before():
    code = "import sys, weighbors.plots, weighbors.report; print({'matplotlib', 'jinja2'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


def test_short_names():
    assert shorten_name("plain") == "plain"
    assert shorten_name("") == shorten_name("\n\t") == "(no name)"
    assert shorten_name("a" * 100, 9) == "aaaa…aaaa"
    assert shorten_name("smile \U0001f600") == "smile \U0001f600"
    assert shorten_name("lone \ud800 half") == "lone ? half"
    assert shorten_name("right\u202eleft\u2028x") == "right left x"


def test_helpers_say_what_is_wrong():
    assert check_names(None, 2) == ("x0", "x1")
    with pytest.raises(InvalidDataError, match=r"same length: feature_names \(1\), weights \(2\)"):
        check_names(["a"], 2)
    with pytest.raises(InvalidDataError, match="top must be at least 1; got 0"):
        top_positions(np.zeros(3), 0)
    check_lengths(a=[1], b=None, c=np.ones(1))


def test_stability_paths_of_a_selection():
    from weighbors import ScoreWeigher, StabilitySelection

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 12)), columns=[f"g{j}" for j in range(12)])
    y = X["g3"] + 0.2 * rng.normal(size=60) > 0
    selection = StabilitySelection(ScoreWeigher(), 5, n_permutations=2, target_fp=0.5).fit(X, y)
    display = plots.StabilityPathsDisplay.from_estimator(selection)
    assert list(display.lines_) == selection.get_feature_names_out().tolist() == ["g3"]
    assert np.array_equal(display.lines_["g3"].get_ydata(), selection.paths_[:, 3])
    assert display.ax_.get_xlabel() == "number of best features"
    frame = display.frame()
    assert frame.query("feature == 'g3'")["share"].tolist() == selection.paths_[:, 3].tolist()
    with pytest.raises(InvalidDataError, match="one row per threshold"):
        plots.StabilityPathsDisplay([1, 2], [[1.0, 0.0]], [True, False])
