"""The data of each picture, and the artists drawn from them."""

import numpy as np
import pandas as pd
import pytest
from naive.neighbors import nearest
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from support.published import DEMSAR

from weighbors import (
    MBIW,
    WIBK,
    ClassRelief,
    EvolutionaryWeigher,
    ReliefF,
    RepresentativeIntervals,
    WeightedKNeighborsClassifier,
    Weights,
)
from weighbors.evaluation import kuncheva_curve, permutation_test, stability_curve
from weighbors.evaluation.curve import chance_deviation
from weighbors.evaluation.projection import project
from weighbors.exceptions import InvalidDataError
from weighbors.plots import (
    ClassHeatmapDisplay,
    CriticalDifferenceDisplay,
    EvolutionHistoryDisplay,
    InstanceMapDisplay,
    IntervalMapDisplay,
    MarginProfileDisplay,
    ParetoFrontDisplay,
    StabilityCurveDisplay,
    WeightsDisplay,
)
from weighbors.plots.margin_profile import relative_margins
from weighbors.stats import bonferroni_dunn, compare, nemenyi, posthoc

X, Y = load_wine(return_X_y=True, as_frame=True)
SCALED = StandardScaler().set_output(transform="pandas").fit_transform(X)


def labels(texts):
    return [text.get_text() for text in texts]


# weights


def test_weights_are_drawn_largest_first():
    weigher = ReliefF().fit(SCALED, Y)
    display = WeightsDisplay.from_estimator(weigher, top=5)
    order = np.argsort(-weigher.feature_weights_, kind="stable")
    at = display.points_.get_offsets()
    np.testing.assert_allclose(at[:, 0], weigher.feature_weights_[order[:5]])
    np.testing.assert_allclose(at[:, 1], range(5))
    assert labels(display.ax_.get_yticklabels())[0] == X.columns[order[0]]
    assert display.ax_.yaxis_inverted()
    assert list(display.frame().index) == list(X.columns[order])
    assert display.spread_ is None
    assert display.ax_.get_legend() is None


def test_weights_of_a_knn_and_of_a_linear_model():
    knn = WeightedKNeighborsClassifier(weigher=ReliefF()).fit(SCALED, Y)
    np.testing.assert_allclose(WeightsDisplay.from_estimator(knn).weights, knn.weigher_.feature_weights_)
    linear = LogisticRegression(max_iter=500).fit(SCALED, Y)
    np.testing.assert_allclose(WeightsDisplay.from_estimator(linear).weights, np.abs(linear.coef_).sum(axis=0))


def test_weights_of_a_curve_have_the_spread_of_its_runs():
    curve = stability_curve(ReliefF(), SCALED, Y, cv=5)
    display = WeightsDisplay.from_result(curve, top=3)
    first = int(curve.weights.mean(axis=0).argmax())
    ends = display.spread_.get_segments()[0]
    np.testing.assert_allclose(ends[:, 0], np.quantile(curve.weights[:, first], [0.1, 0.9]))
    assert "middle 80 % of 5 runs" in labels(display.ax_.get_legend().get_texts())
    frame = display.frame()
    assert ((frame["low"] <= frame["weight"]) & (frame["weight"] <= frame["high"])).all()


def test_weights_of_a_permutation_test_are_hollow_where_nothing_is_found():
    rows = np.random.default_rng(0).normal(size=(len(Y), 8)) + (np.arange(8) == 2) * np.asarray(Y)[:, None]
    result = permutation_test(ReliefF(), rows, Y, n_permutations=20)
    display = WeightsDisplay.from_result(result, top=None)
    filled = display.points_.get_facecolor()[:, :3].min(axis=1) < 1
    order = np.argsort(-result.scores, kind="stable")
    assert filled.tolist() == (result.adjusted <= 0.05)[order].tolist() == display.frame()["found"].tolist()
    assert 0 < filled.sum() < len(filled)
    told = labels(display.ax_.get_legend().get_texts())
    assert told == ["found, false discovery rate 5 %", "not found"]


def test_weights_as_given():
    display = WeightsDisplay.from_result(Weights(feature_weights=[0.2, 0.7], feature_names=["a", "b"]))
    assert labels(display.ax_.get_yticklabels()) == ["b", "a"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeightsDisplay([[1.0]]), "weights must be a vector"),
        (lambda: WeightsDisplay([1.0], low=[0.0]), "give both or neither"),
        (lambda: WeightsDisplay([1.0], ["a", "b"]), "same length"),
        (lambda: WeightsDisplay.from_result("x"), "got str"),
        (lambda: WeightsDisplay.from_result(Weights(votes=[1.0])), "one weight per feature is needed; got Weights"),
        (lambda: WeightsDisplay.from_estimator(MBIW().fit(SCALED, Y)), "MBIW has no weights of features"),
        (lambda: ClassHeatmapDisplay([1.0]), "classes × features"),
        (lambda: ClassHeatmapDisplay([[1.0]], ["a", "b"]), "same length"),
        (lambda: ClassHeatmapDisplay.from_estimator(ReliefF().fit(SCALED, Y)), "take ClassRelief"),
        (lambda: ClassHeatmapDisplay.from_result(Weights(feature_weights=[1.0])), "got weights per feature"),
        (lambda: StabilityCurveDisplay({}), "at least one"),
        (lambda: StabilityCurveDisplay({"a": 1}), "StabilityCurve is needed"),
        (lambda: MarginProfileDisplay({}), "at least one"),
        (lambda: MarginProfileDisplay.from_estimator(LogisticRegression().fit(SCALED, Y), SCALED, Y), "weights_"),
        (lambda: IntervalMapDisplay(pd.DataFrame({"class": ["a"]})), "it lacks feature, low, high, weight, kept"),
        (lambda: IntervalMapDisplay.from_estimator(ReliefF().fit(SCALED, Y)), "has no intervals_"),
        (lambda: EvolutionHistoryDisplay(pd.DataFrame({"best": [1.0]})), "it lacks evaluations"),
        (lambda: EvolutionHistoryDisplay.from_estimator(ReliefF().fit(SCALED, Y)), "has no history_"),
        (lambda: ParetoFrontDisplay(pd.DataFrame({"error": [1.0]})), "two goals"),
        (lambda: ParetoFrontDisplay(pd.DataFrame({"error": [1.0], "n": [2]}), y="errors"), "Did you mean 'error'"),
        (lambda: ParetoFrontDisplay(pd.DataFrame({"error": [1.0], "n": [2]}), selected=1), "0 to 0; got 1"),
        (lambda: ParetoFrontDisplay.from_estimator(ReliefF().fit(SCALED, Y)), "objective='pareto'"),
        (lambda: CriticalDifferenceDisplay.from_result("x"), "got str"),
        (lambda: CriticalDifferenceDisplay.from_result(compare(DEMSAR), adjust="hol"), "Did you mean 'holm'"),
        (lambda: CriticalDifferenceDisplay.from_result(compare(DEMSAR), alpha=2.0), "alpha must lie between"),
        (
            lambda: CriticalDifferenceDisplay(
                pd.Series({"a": 1.0, "b": 2.0}), pd.DataFrame({"first": ["a"], "second": ["c"], "differs": [True]})
            ),
            "methods without a rank: c",
        ),
        (lambda: InstanceMapDisplay([[1, 2, 3]], [1.0], ["a"]), r"\(n_samples, 2\)"),
        (lambda: InstanceMapDisplay([[1, 2]], [1.0, 2.0], ["a"]), "same length"),
        (lambda: InstanceMapDisplay.from_estimator(ReliefF().fit(SCALED, Y), SCALED, Y), "weighs no instances"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, message):
    with pytest.raises(InvalidDataError, match=message):
        make()


# class heat map


def test_heat_map_scales_every_class_to_one():
    weigher = ClassRelief(n_neighbors=5).fit(SCALED, Y)
    display = ClassHeatmapDisplay.from_estimator(weigher, top=6)
    drawn = np.asarray(display.image_.get_array()).reshape(6, 3)  # features from the top, classes from the left
    expected = weigher.class_feature_weights_ / np.abs(weigher.class_feature_weights_).max(axis=1, keepdims=True)
    order = np.argsort(-expected.max(axis=0), kind="stable")[:6]
    np.testing.assert_allclose(drawn, expected[:, order].T)
    assert labels(display.ax_.get_yticklabels()) == [str(X.columns[j]) for j in order]
    assert labels(display.ax_.get_xticklabels()) == ["0", "1", "2"]
    assert display.image_.get_clim() == (-1.0, 1.0)
    assert display.frame().shape == (3, 13)


def test_heat_map_of_a_class_without_weights_is_zero():
    assert ClassHeatmapDisplay([[0.0, 0.0], [2.0, -4.0]]).scaled().tolist() == [[0.0, 0.0], [0.5, -1.0]]


def test_heat_map_of_weights_per_class():
    given = Weights(feature_weights=[[1.0, 2.0], [2.0, 1.0]], classes=["sick", "well"])
    assert labels(ClassHeatmapDisplay.from_result(given).ax_.get_xticklabels()) == ["sick", "well"]


# stability


def test_stability_curve_is_the_curve():
    curve = stability_curve(make_pipeline(StandardScaler(), ReliefF()), X, Y, cv=5, n_repeats=2)
    display = StabilityCurveDisplay.from_result(curve, name="ReliefF")
    line = display.lines_["ReliefF"]
    np.testing.assert_array_equal(line.get_xdata(), curve.sizes)
    np.testing.assert_array_equal(line.get_ydata(), curve.stability)
    frame = display.frame()
    np.testing.assert_allclose(frame["high"] - frame["stability"], 1.959964 * curve.standard_error, rtol=1e-6)
    assert "features chosen at random (95%)" in labels(display.ax_.get_legend().get_texts())


def test_stability_of_an_estimator_and_of_several():
    pipeline = make_pipeline(StandardScaler(), ReliefF())
    one = StabilityCurveDisplay.from_estimator(pipeline, X, Y, cv=3)
    assert list(one.lines_) == ["ReliefF"]
    both = StabilityCurveDisplay.from_results({"a": one.curves["ReliefF"], "b": one.curves["ReliefF"]})
    assert both.lines_["a"].get_linestyle() != both.lines_["b"].get_linestyle()  # told apart without colour
    other = kuncheva_curve(np.random.default_rng(0).random((3, 5)))
    with pytest.raises(InvalidDataError, match="different numbers of features"):
        StabilityCurveDisplay({"a": one.curves["ReliefF"], "b": other})


def test_long_curves_have_plain_figures_on_a_logarithmic_axis():
    import matplotlib as mpl

    with mpl.rc_context({"text.parse_math": False}):
        display = StabilityCurveDisplay.from_result(kuncheva_curve(np.random.default_rng(0).random((4, 200))))
        display.figure_.canvas.draw()
    assert display.ax_.get_xscale() == "log"
    assert {"1", "10", "100"} <= set(labels(display.ax_.get_xticklabels()))


@pytest.mark.parametrize(("d", "runs", "repeats"), [(20, 4, 1), (12, 5, 3)])
def test_chance_is_what_random_rankings_give(d, runs, repeats):
    rng = np.random.default_rng(0)
    part = np.repeat(np.arange(repeats), runs)
    draws = [kuncheva_curve(rng.random((runs * repeats, d)), repetition=part).stability for _ in range(1500)]
    expected = chance_deviation(d, [runs] * repeats)
    assert np.abs(np.mean(draws, axis=0)).max() < 5 * expected / np.sqrt(1500)
    np.testing.assert_allclose(np.std(draws, axis=0), expected, rtol=0.1)


# margins


@pytest.mark.parametrize("weighted", [False, True])
def test_margins_against_loops(weighted):
    rows, codes = scale(load_iris().data)[::5], load_iris().target[::5]
    a = np.array([0.1, 0.0, 2.0, 1.0])
    found = relative_margins(rows, codes, weights=Weights(feature_weights=a) if weighted else None)
    lists = nearest(rows, rows, 1, a=a if weighted else None, own=range(len(rows)), groups=codes)
    for i, per_class in enumerate(lists):
        hit = per_class[codes[i]][0][0]
        miss = min(per_class[c][0][0] for c in range(3) if c != codes[i])
        assert found[i] == pytest.approx((miss - hit) / (miss + hit))


def test_margins_of_twins_and_of_the_only_one_of_a_class():
    margins = relative_margins(np.array([[1.0], [1.0], [1.0], [5.0]]), np.array([0, 0, 1, 2]))
    assert margins[:2].tolist() == [0.0, 0.0]
    assert np.isnan(margins[2:]).all()


def test_margin_profile_is_a_distribution():
    display = MarginProfileDisplay.from_estimator(ReliefF().fit(SCALED, Y), SCALED, Y)
    assert list(display.lines_) == ["no weights", "ReliefF"]
    line = display.lines_["ReliefF"]
    assert (np.diff(line.get_xdata()) >= 0).all()
    assert line.get_ydata()[-1] == 1.0
    frame = display.frame()
    assert display.negative()["ReliefF"] == (frame["ReliefF"] < 0).mean()
    assert (frame["class"] == Y.to_numpy()).all()


# instances


def test_map_is_the_principal_components():
    from sklearn.decomposition import PCA

    for rows in (SCALED.to_numpy(), SCALED.to_numpy()[:6]):  # more rows than columns, and fewer
        standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        pca = PCA(2).fit(standard)
        found, explained = project(rows)
        np.testing.assert_allclose(np.abs(found), np.abs(pca.transform(standard)), atol=1e-8)
        np.testing.assert_allclose(explained, pca.explained_variance_ratio_)


def test_map_of_categories_and_missing_values():
    rows = np.array([[0.0, 1.0], [1.0, np.nan], [0.0, 3.0], [np.nan, 2.0]])
    found, explained = project(rows, np.array([True, False]))
    assert np.isfinite(found).all()
    assert explained.sum() <= 1 + 1e-12
    alone, _ = project(np.array([[1.0], [2.0], [4.0]]))
    assert (alone[:, 1] == 0).all()


def test_instance_map_marks_the_least_weights():
    weigher = MBIW().fit(SCALED, Y)
    display = InstanceMapDisplay.from_estimator(weigher, SCALED, Y, mark=3)
    odd = np.argsort(weigher.instance_weights_)[:3]
    np.testing.assert_allclose(display.marked_.get_offsets(), display.coordinates[odd])
    assert labels(display.ax_.texts) == [str(i) for i in odd]
    assert sum(len(dots.get_offsets()) for dots in display.points_) == len(X)
    assert labels(display.ax_.get_legend().get_texts()) == ["0", "1", "2"]
    assert (display.frame()["weight"] == weigher.instance_weights_).all()


def test_instance_map_of_scales_and_selections():
    search = EvolutionaryWeigher("IS+IW", max_evaluations=300, random_state=0).fit(SCALED, Y)
    display = InstanceMapDisplay.from_estimator(search, SCALED, Y)
    kept = search.instance_support_
    assert (display.instance_weights[~kept] == 0).all()
    np.testing.assert_allclose(display.instance_weights[kept], 1 - search.instance_scales_[kept])


# intervals


def test_interval_map_places_numbers_and_categories():
    table = pd.DataFrame(
        {"age": [1, 2, 3, 6, 7, 9], "colour": pd.Categorical(["red", "red", "blue", "blue"] * 1 + ["red", "blue"])}
    )
    fitted = RepresentativeIntervals().fit(table, list("aaabbb"))
    display = IntervalMapDisplay.from_estimator(fitted, features=["age", "colour"])
    lanes = display.lanes(["age", "colour"])
    assert len(display.bars_) == len(lanes) == len(fitted.intervals_)
    first = lanes[(lanes["feature"] == "age") & (lanes["low"] == 1)].iloc[0]
    assert (first["left"], first["right"]) == (0.0, pytest.approx(3 / 9))  # 1 to 3 of 1 to 9, each value one wide
    red = lanes[(lanes["feature"] == "colour") & (lanes["low"] == "red")]
    assert set(zip(red["left"], red["right"], strict=True)) == {(0.0, 0.5)}
    for bar, (_, lane) in zip(display.bars_, lanes.iterrows(), strict=True):
        assert (bar.get_x(), bar.get_width()) == (
            pytest.approx(lane["left"]),
            pytest.approx(lane["right"] - lane["left"]),
        )
    heavy = lanes["weight"].to_numpy() * lanes["kept"]
    heights = [bar.get_height() for bar in display.bars_]
    assert np.argmax(heights) == np.argmax(heavy)
    with pytest.raises(InvalidDataError, match="no intervals of 'ages'"):
        display.lanes(["ages"])


def test_interval_map_takes_the_heaviest_features_and_wibk():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    table = pd.DataFrame({"noise": rng.integers(0, 3, 60), "signal": y * 5 + rng.integers(0, 2, 60)})
    display = IntervalMapDisplay.from_estimator(WIBK(3).fit(table, y))
    assert labels(display.ax_.get_yticklabels())[0].startswith("signal")
    assert display.importance()["signal"] == 1.0


# evolution


def test_history_and_front_are_drawn():
    rows = SCALED.to_numpy()[::2]
    search = EvolutionaryWeigher("FS+FW", max_evaluations=400, random_state=0).fit(rows, Y[::2])
    display = EvolutionHistoryDisplay.from_estimator(search)
    np.testing.assert_array_equal(display.lines_["best"].get_ydata(), search.history_["best"])
    np.testing.assert_array_equal(display.lines_["mean"].get_xdata(), search.history_["evaluations"])
    assert (np.diff(display.lines_["best"].get_ydata()) >= 0).all()
    search = EvolutionaryWeigher("FS", objective="pareto", max_evaluations=400, random_state=0).fit(rows, Y[::2])
    front = ParetoFrontDisplay.from_estimator(search)
    np.testing.assert_allclose(front.points_.get_offsets(), search.pareto_front_.iloc[:, :2])
    assert front.frame()["selected"].to_numpy().nonzero()[0].tolist() == [search.selected_]
    chosen = search.pareto_front_.iloc[search.selected_, :2].to_numpy(dtype=float)
    np.testing.assert_allclose(front.selected_.get_offsets()[0], chosen)
    history = EvolutionHistoryDisplay.from_estimator(search)
    assert "best first goal (negative)" in labels(history.ax_.get_legend().get_texts())


# critical differences


def test_groups_of_demsar():
    """Demšar 2006, figure 1 a: at α = 0.10, C4.5 is worse than +m and +m+cf; +cf belongs to both groups."""
    display = CriticalDifferenceDisplay.from_result(nemenyi(DEMSAR, alpha=0.10))
    assert [set(group) for group in display.groups()] == [{"C4.5+m+cf", "C4.5+m", "C4.5+cf"}, {"C4.5+cf", "C4.5"}]
    assert display.critical_difference == pytest.approx(1.12, abs=0.005)
    ranks = nemenyi(DEMSAR).mean_ranks.sort_values()
    np.testing.assert_allclose(display.points_.get_offsets()[:, 0], ranks)
    for bar, group in zip(display.bars_, display.groups(), strict=True):
        assert bar.get_xdata()[0] == ranks[group[0]]
        assert bar.get_xdata()[1] == ranks[group[-1]]
    assert display.frame()["groups"].tolist() == [(0,), (0,), (0, 1), (1,)]


def test_a_control_is_joined_with_those_not_told_apart():
    display = CriticalDifferenceDisplay.from_result(bonferroni_dunn(DEMSAR, "C4.5"))
    found = bonferroni_dunn(DEMSAR, "C4.5").comparisons
    same = {"C4.5", *found.loc[~found["differs"], "second"]}
    assert set(display.groups()[0]) == same
    assert [text for text in display.ax_.texts if "C4.5  " in text.get_text() or "  C4.5 " in text.get_text()]


@pytest.mark.parametrize("adjust", ["holm", "shaffer", "wilcoxon_holm"])
def test_adjusted_p_values_make_groups(adjust):
    found = compare(DEMSAR)
    display = CriticalDifferenceDisplay.from_result(found, adjust=adjust)
    assert display.critical_difference is None
    apart = found.pairs[found.pairs[adjust] <= 0.05]
    for group in display.groups():
        for first, second in zip(apart["first"], apart["second"], strict=True):
            assert not {first, second} <= set(group)


def test_ranks_come_back_from_comparisons_alone():
    for control in (None, "C4.5+cf"):
        found = posthoc(DEMSAR, control=control)
        display = CriticalDifferenceDisplay.from_result(found)
        expected = nemenyi(DEMSAR).mean_ranks
        pd.testing.assert_series_equal(display.mean_ranks.sort_index(), expected.sort_index(), check_names=False)


def test_a_table_of_scores_is_compared_and_drawn():
    display = CriticalDifferenceDisplay.from_results(DEMSAR, adjust="holm")
    assert list(display.mean_ranks.index) == list(compare(DEMSAR).mean_ranks.sort_values().index)


def test_a_study_is_compared_and_drawn(tmp_path):
    from weighbors.evaluation import Study

    rng = np.random.default_rng(0)
    data = {f"d{i}": (rng.normal(size=(40, 3)) + (np.arange(40) % 2)[:, None], np.arange(40) % 2) for i in range(4)}
    methods = {"1-NN": WeightedKNeighborsClassifier(1), "9-NN": WeightedKNeighborsClassifier(9)}
    results = Study(data, methods, tmp_path / "store", cv=3).run()
    display = CriticalDifferenceDisplay.from_results(results)
    assert set(display.mean_ranks.index) == {"1-NN", "9-NN"}
