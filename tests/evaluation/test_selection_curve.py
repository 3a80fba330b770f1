"""Selection curves against loops written out, by hand, and with bad input."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from naive import redundancy as naive
from naive import stability as naive_stability
from scipy import stats
from sklearn.feature_selection import f_classif, r_regression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, LeaveOneOut, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.curves import handmade_curve

from weighbors import FeatureSelector, ReliefF, RReliefF
from weighbors.evaluation import redundancy_groups, selection_curve
from weighbors.evaluation.selection_result import choose_size
from weighbors.exceptions import InvalidDataError
from weighbors.plots import SelectionCurveDisplay

RNG = np.random.default_rng
QUICK = {"n_repeats": 1, "n_shuffles": 0}


def table(n=60, p=12, seed=0):
    """Two classes, of which the first three columns know something. Columns 3 and 4 are copies of 0 with noise."""
    rng = RNG(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :3] += y[:, None] * [1.5, 1.0, 0.5]
    X[:, 3:5] = X[:, :1] + 0.1 * rng.normal(size=(n, 2))
    return X, y


def f_scores(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f_classif(X, y)[0]


# --- against loops


def test_scores_and_stability_equal_loops():
    X, y = table()
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    sizes = [1, 2, 4, 12]
    curve = selection_curve(f_scores, X, y, folds, sizes=sizes, n_shuffles=0)
    scores, sets = naive.score_curve(f_scores, X, y, folds, sizes, lambda: KNeighborsClassifier(5), accuracy_score)
    assert np.allclose(curve.scores(), scores, atol=1e-12)
    frame = curve.frame()
    assert np.allclose(frame["score"], scores.mean(axis=0))
    error = np.sqrt((1 / 5 + 12 / 48) * scores.var(axis=0, ddof=1))
    assert np.allclose(frame["standard_error"], error)
    assert np.allclose(frame["low"], scores.mean(axis=0) - stats.t.ppf(0.975, 4) * error)
    assert np.allclose(frame["high"], np.minimum(1, scores.mean(axis=0) + stats.t.ppf(0.975, 4) * error))
    group = redundancy_groups(X).groups
    same = (group[:, None] == group[None, :]).astype(float)
    assert len(set(group[[0, 3, 4]])) == 1
    for place in range(3):
        chosen = [one[place] for one in sets]
        phi, variance = naive_stability.nogueira(chosen, 12)
        assert frame["stability"][place] == pytest.approx(phi, abs=1e-12)
        assert frame["stability_error"][place] == pytest.approx(np.sqrt(variance), abs=1e-12)
        z = [[f in one for f in range(12)] for one in chosen]
        assert frame["stand_in_stability"][place] == pytest.approx(naive.sechidis(z, same), abs=1e-12)
    assert np.isnan(frame["stability"][3])  # all features are always the same
    assert np.isnan(frame["shuffled_score"]).all()


def test_numeric_targets_equal_loops():
    X, _ = table()
    y = X[:, 0] + X[:, 5] + 0.3 * RNG(1).normal(size=60)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))

    def rank(X, y):
        return np.abs(r_regression(X, y))

    curve = selection_curve(rank, X, y, folds, sizes=[1, 3, 8], n_shuffles=0)
    expected, _ = naive.score_curve(rank, X, y, folds, [1, 3, 8], lambda: KNeighborsRegressor(5), r2_score)
    assert np.allclose(curve.scores(), expected, atol=1e-9)
    assert curve.score_name == "R²"
    assert selection_curve(RReliefF(), X, y, 3, sizes=[2], n_repeats=1, n_shuffles=1).score_name == "R²"


def test_another_estimator_and_score():
    X, y = table()
    folds = list(StratifiedKFold(4).split(X, y))
    model = make_pipeline(StandardScaler(), LogisticRegression())
    curve = selection_curve(
        f_scores, X, y, folds, sizes=[1, 3], estimator=model, scoring="neg_log_loss", n_shuffles=0, stand_ins=None
    )
    expected, _ = naive.score_curve(f_scores, X, y, folds, [1, 3], LogisticRegression, lambda a, b: 0.0)
    assert curve.scores().shape == expected.shape
    train, test = folds[0]
    best = int(np.argmax(f_scores(X[train], y[train])))
    fitted = model.fit(X[train][:, [best]], y[train])
    loss = -np.log(fitted.predict_proba(X[test][:, [best]])[np.arange(len(test)), y[test]]).mean()
    assert curve.scores()[0, 0] == pytest.approx(-loss)
    assert np.isnan(curve.frame()["stand_in_stability"]).all()
    assert "neg_log_loss" in repr(curve)


def test_repetitions_are_averaged():
    X, y = table()
    splitter = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    curve = selection_curve(f_scores, X, y, splitter, sizes=[2], n_shuffles=0)
    folds = list(splitter.split(X, y))
    each = [selection_curve(f_scores, X, y, folds[i : i + 3], sizes=[2], n_shuffles=0).frame() for i in (0, 3)]
    assert curve.frame()["stability"][0] == pytest.approx(np.mean([one["stability"][0] for one in each]))
    assert curve.repetition.tolist() == [0, 0, 0, 1, 1, 1]


# --- what is chosen


def test_sizes_that_the_rules_choose():
    score = np.array([0.70, 0.88, 0.90, 0.89])
    error = np.array([0.01, 0.05, 0.02, 0.01])
    stability = np.array([0.9, 0.3, 0.5, np.nan])
    assert [choose_size(rule, score, error, stability) for rule in ("best", "smallest", "stable")] == [2, 1, 2]
    # Without a standard error, only equal scores are near; and NaN is never the most stable.
    assert choose_size("smallest", score, np.full(4, np.nan), stability) == 2
    assert choose_size("stable", np.ones(4), error, np.array([np.nan, 0.1, 0.2, np.nan])) == 2


def test_the_score_of_a_rule_is_chosen_by_the_other_folds():
    # Fold 0 alone is best with one feature. The other folds choose two features for it, and they choose 2, 3 and 2
    # themselves: without fold 1, the means are .6, .7, .8.
    curve = handmade_curve([[1.0, 0.4, 0.6], [0.2, 0.9, 0.1], [0.2, 1.0, 1.0]])
    # without fold 0: means .2, .95, .55 -> size 2 (.4); without 1: .6, .7, .8 -> 3 (.1); without 2: .6, .65, .35 -> 2
    assert curve.choices().set_index("rule")["score_of_rule"]["best"] == pytest.approx((0.4 + 0.1 + 1.0) / 3)
    assert curve.choose(rule="best") == 2
    with pytest.raises(InvalidDataError, match="rule must be"):
        curve.choose(rule="largest")
    with pytest.raises(InvalidDataError, match="no weigher"):
        curve.choose("v")


def test_the_list_names_shares_and_stand_ins():
    X, y = table()
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    curve = selection_curve(f_scores, frame, y, **QUICK)
    listed = curve.features(3)
    assert set(listed.index) == {f"gene {j}" for j in np.argsort(-f_scores(X, y))[:3]}
    assert (listed["share"] <= listed["share_with_stand_ins"]).all()
    assert {"gene 0", "gene 3", "gene 4"} - {listed.index[0]} == set(listed["stand_ins"].iloc[0].split(", "))
    assert len(curve.features()) == curve.choose()
    for size in (0, 13, 1.5, True):
        with pytest.raises(InvalidDataError, match="size must be"):
            curve.features(size)


# --- honest: no leaks, no false stability


def test_noise_scores_as_chance_since_selection_is_inside_the_folds():
    X, y = RNG(0).normal(size=(60, 600)), np.arange(60) % 2
    curve = selection_curve(f_scores, X, y, sizes=[5, 20], n_repeats=4, n_shuffles=8)
    frame = curve.frame()
    assert (frame["score"] < 0.65).all()
    assert (np.abs(frame["shuffled_score"] - 0.5) < 0.1).all()
    # Selected by all rows, the same features predict much better: this is the mistake that nested folds avoid.
    best = np.argsort(-f_scores(X, y))[:20]
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    leaked, _ = naive.score_curve(f_scores, X[:, best], y, folds, [20], lambda: KNeighborsClassifier(5), accuracy_score)
    assert leaked.mean() > 0.75


def test_constant_features_do_not_look_stable():
    X, y = table(p=40)
    X[:, 5:] = 1.0
    curve = selection_curve(f_scores, X, y, sizes=[3, 20], **QUICK)  # F is NaN for 35 of 40 columns
    frame = curve.frame()
    assert np.isfinite(frame[["score", "stability"]]).all(axis=None)
    assert all(len(run.order) == 5 for run in curve.runs["f_scores"])
    everything = selection_curve(lambda X, y: np.zeros(40), X, y, sizes=[10], n_repeats=4, n_shuffles=0).frame()
    assert everything["tied"][0] == 1
    assert abs(everything["stability"][0]) < 0.2  # with ties by column it would be 1
    with pytest.raises(InvalidDataError, match="NaN for all features"):
        selection_curve(lambda X, y: np.full(40, np.nan), X, y, **QUICK)


def test_shuffled_labels_stay_with_their_groups():
    X, y = table()
    patient = np.repeat(np.arange(15), 4)
    y = patient % 2  # all rows of a patient have one label
    curve = selection_curve(f_scores, X, y, 3, patient, sizes=[2], n_repeats=1, n_shuffles=3)
    assert np.isfinite(curve.frame()["shuffled_score"]).all()


# --- the same for all containers, threads and companions


def test_results_do_not_depend_on_other_weighers():
    X, y = table()
    options = {"cv": 3, "sizes": [1, 4], "n_repeats": 2, "n_shuffles": 2}
    expected = selection_curve({"F": f_scores, "ReliefF": ReliefF()}, X, y, **options).frame()
    alone = selection_curve({"ReliefF": ReliefF()}, pd.DataFrame(X), y, **options).frame()
    assert alone.equals(expected[expected["weigher"] == "ReliefF"].reset_index(drop=True))
    assert selection_curve([ReliefF(), ReliefF(5)], X, y, sizes=[1], **QUICK).weighers == ("ReliefF", "ReliefF 2")


def test_categories_and_missing_values():
    X, y = table()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    frame.loc[::5, "x0"] = np.nan
    frame["colour"] = pd.Categorical(np.where(RNG(0).random(60) < 0.2, 1 - y, y).astype(str))
    curve = selection_curve(ReliefF(), frame, y, sizes=[1, 13], **QUICK)
    assert np.isfinite(curve.frame()["score"]).all()
    assert curve.features(1).index.tolist() == ["colour"]
    codes = frame.astype({"colour": int}).to_numpy(dtype=float)
    same = selection_curve(
        ReliefF(categorical_features=[12]), codes, y, sizes=[1, 13], categorical_features=[12], **QUICK
    )
    assert same.frame().equals(curve.frame())
    assert curve.frame()["score"][0] == pytest.approx((frame["colour"].astype(int) == y).mean(), abs=0.02)


def test_weighers_that_drop_features_or_select_groups():
    X, y = table()
    named = {"all": ReliefF()}
    named |= {option: FeatureSelector(ReliefF(), redundancy=option) for option in ("drop", "group")}
    curve = selection_curve(named, X, y, sizes=[2, 3, 12], **QUICK)
    twins = [0, 3, 4]
    for run in curve.runs["drop"]:
        assert np.isin(run.order, twins).sum() == 1
    for run in curve.runs["group"]:
        places = np.flatnonzero(np.isin(run.order, twins))
        assert places.max() - places.min() == 2  # side by side
    pipeline = make_pipeline(StandardScaler(), FeatureSelector(ReliefF(), redundancy="drop"))
    inside = selection_curve(pipeline, X, y, sizes=[3], **QUICK)
    assert all(np.isin(run.order[:3], twins).sum() <= 1 for run in inside.runs["FeatureSelector"])


# --- text, picture, progress


def test_text_picture_and_progress(capsys):
    X, y = table()
    curve = selection_curve({"F": f_scores, "ReliefF": ReliefF()}, X, y, n_repeats=1, n_shuffles=1, progress=True)
    assert "runs" in capsys.readouterr().err
    text = repr(curve)
    assert "60 rows, 12 features, 5 folds, labels shuffled once" in text
    assert text.count("smallest within one standard error") == 2
    display = curve.plot()
    assert display.lines_["F"].get_ydata().tolist() == curve.frame().query("weigher == 'F'")["score"].tolist()
    assert display.chosen_["F"].get_xdata().tolist() == [curve.choose("F")]
    assert display.frame().equals(curve.frame())
    with pytest.raises(InvalidDataError, match="SelectionCurve is needed"):
        SelectionCurveDisplay({})
    assert curve.plot(display.ax_).stability_ax_ is None
    with pytest.raises(InvalidDataError, match="one axes or a pair"):
        curve.plot([display.ax_] * 3)


# --- bad input


def test_one_feature():
    X, y = table()
    curve = selection_curve(ReliefF(), X[:, :1], y, n_repeats=1, n_shuffles=1)
    assert curve.frame()["size"].tolist() == [1]
    assert curve.choose() == 1
    assert np.isnan(curve.frame()["stability"]).all()
    assert "size" in repr(curve)


def test_classes_that_vanish_in_a_fold():
    X, y = table()
    rare = y.copy()
    rare[0] = 2  # in a fold that tests it, the training rows have two classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        curve = selection_curve(ReliefF(), X, rare, n_repeats=1, n_shuffles=2, sizes=[2])
        assert np.isfinite(curve.frame()[["score", "shuffled_score"]]).all(axis=None)
        with pytest.raises(InvalidDataError, match="the class 0 only"):
            selection_curve(ReliefF(), X, (np.arange(60) == 0).astype(int), **QUICK)
    # With given folds, a shuffle may leave one class only. Such runs have no result, and the others count.
    few = np.r_[1, 1, np.zeros(10, dtype=int)]
    folds = [(np.arange(0, 12, 2), np.arange(1, 12, 2)), (np.arange(1, 12, 2), np.arange(0, 12, 2))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = selection_curve(ReliefF(1), X[:12], few, folds, sizes=[2], n_shuffles=6).frame()
    assert np.isfinite(found["shuffled_score"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [1, 13]}, "from 1 to 12"),
        ({"sizes": [0]}, "from 1 to 12"),
        ({"sizes": [1.5]}, "whole numbers"),
        ({"sizes": []}, "whole numbers"),
        ({"cv": 40}, "need a class of at least 40"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": "five"}, "cv must be"),
        ({"level": 1.0}, "level must lie"),
        ({"n_shuffles": -1}, "n_shuffles"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"stand_ins": "none"}, "stand_ins must be"),
        ({"stand_ins": [0, 1]}, "one group number per feature"),
        ({"target_type": "labels"}, "target_type"),
    ],
)
def test_bad_arguments(options, message):
    X, y = table()
    with pytest.raises(InvalidDataError, match=message):
        selection_curve(ReliefF(), X, y, **{**QUICK, **options})


@pytest.mark.parametrize("weighers", [[], {}, 3, [None], "ReliefF"])
def test_bad_weighers(weighers):
    X, y = table()
    with pytest.raises(InvalidDataError, match="weighers"):
        selection_curve(weighers, X, y, **QUICK)


@pytest.mark.filterwarnings("ignore")
def test_a_score_that_is_not_defined():
    X, _ = table(n=12)
    with pytest.raises(InvalidDataError, match="R² is for a single row"):
        selection_curve(RReliefF(3), X, X[:, 0] + 0.5, LeaveOneOut(), sizes=[2], n_shuffles=0)


def test_jobs_are_threads_of_this_process_and_leave_the_filters_of_warnings_as_they_were():
    X, y = table()
    seen = set()

    def weigher(X, y):
        seen.add(os.getpid())  # a worker process would fill a set of its own
        return f_scores(X, y)

    before = list(warnings.filters)
    selection_curve(weigher, X, y, sizes=[2], n_repeats=2, n_shuffles=2, n_jobs=2)
    assert seen == {os.getpid()}
    assert warnings.filters == before
