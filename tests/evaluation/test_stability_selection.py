"""Stability selection against loops written from the papers, against `ipss`, and its half samples."""

import numpy as np
import pandas as pd
import pytest
from naive import stability_selection as naive
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import ReliefF, ScoreWeigher, StabilitySelection, WeightedKNeighborsClassifier
from weighbors.evaluation.stability_selection import halves, paths
from weighbors.exceptions import LonelyClassWarning, NothingSelectedWarning


def scores_of_runs(seed=0, runs=12, p=30, strong=4):
    """Weights of half samples: a few features are strong in all of them."""
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, size=(runs, p)) + 3 * (np.arange(p) < strong)


def small_table(seed=0, n=60, p=25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X[:, 2] - X[:, 5] + 0.3 * rng.normal(size=n) > 0).astype(int)


def small(**options):
    few = {"weigher": ScoreWeigher(f_classif), "n_pairs": 5, "n_permutations": 3, "target_fp": 5.0, "random_state": 0}
    return StabilitySelection(**{**few, **options})


# --- the mathematics against loops


def test_lists_of_the_best_equal_loops():
    weights = np.round(scores_of_runs(3), 1)  # with ties
    sizes = np.array([1.0, 2.5, 4.0, 9.0])
    selections = [[naive.rank_selection(run.tolist(), int(size)) for run in weights] for size in sizes]
    shares, numbers = naive.paths(selections)
    found, mean_selected = paths.rank_paths(weights, sizes)
    np.testing.assert_allclose(found, shares)
    np.testing.assert_allclose(mean_selected, numbers)


@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_loops(seed):
    weights = scores_of_runs(seed)
    sizes = paths.list_sizes(30, 6)
    selections = [[naive.rank_selection(run.tolist(), int(size + 1e-9)) for run in weights] for size in sizes]
    wanted = naive.scores(naive.paths(selections)[0], (1 / sizes).tolist())
    np.testing.assert_allclose(paths.path_scores(paths.rank_paths(weights, sizes)[0], sizes), wanted, atol=1e-12)


def test_equal_and_missing_weights_are_never_selected():
    weights = np.zeros((4, 6))
    weights[:, 0] = 1.0
    weights[:, 1] = np.nan
    found, mean_selected = paths.rank_paths(weights, np.array([1.0, 3.0]))
    assert found[:, 0].tolist() == [1, 1]
    assert not found[:, 1:].any()
    assert mean_selected.tolist() == [1, 1]


def test_false_positives_of_permuted_labels_equal_loops():
    rng = np.random.default_rng(0)
    scores, null = rng.integers(0, 5, 20) / 4, rng.integers(0, 4, (3, 20)) / 4
    found = paths.permutation_false_positives(scores, null)
    np.testing.assert_allclose(found, naive.permuted_false_positives(scores.tolist(), null.tolist()))


@pytest.mark.parametrize("p", [2, 10, 1000, 20000])
def test_the_last_list_size_uses_the_cutoff_up(p):
    sizes = paths.list_sizes(p, 50)
    whole = [int(size + 1e-9) for size in sizes]
    terms = [naive.bound_at(k, p, 50) for k in whole]
    integral = sum(m * t for m, t in zip(naive.interval_measures((1 / sizes).tolist()), terms, strict=False))
    assert integral <= 0.05
    larger = np.geomspace(1, sizes[-1] * 1.1, 100)
    more = [naive.bound_at(int(size), p, 50) for size in larger]
    above = sum(m * t for m, t in zip(naive.interval_measures((1 / larger).tolist()), more, strict=False))
    assert above > 0.05 or sizes[-1] == p


# --- the referee


def ipss_processing():
    return pytest.importorskip("ipss.processing", reason="the referee ipss is not installed: pip install ipss")


def test_scores_are_those_of_ipss_for_the_same_selections():
    processing = ipss_processing()
    for seed, (B, p) in enumerate([(8, 50), (10, 40), (25, 200)]):
        weights, sizes = scores_of_runs(seed, 2 * B, p), paths.list_sizes(p, B)
        shares, numbers = paths.rank_paths(weights, sizes)
        theirs, *_ = processing.ipss_scores(shares, B, 1 / sizes, numbers, "h3", 1.0, 0.05)
        np.testing.assert_allclose(paths.path_scores(shares, sizes), theirs, rtol=0, atol=1e-9)


def test_q_values_are_those_of_ipss():
    processing = ipss_processing()
    B, p = 8, 50
    weights, sizes = scores_of_runs(1, 2 * B, p), paths.list_sizes(50, 8)
    indicators = np.array([[naive.rank_selection(run.tolist(), int(k + 1e-9)) for run in weights] for k in sizes])
    results = indicators.reshape(len(sizes), B, 2, p).transpose(1, 0, 2, 3)
    theirs = processing.postprocess_ipss(
        results, 1 / sizes, len(sizes), p, p, np.arange(p), B, 0.05, 1.0, "h3", None, 1.0
    )
    q = paths.q_values(np.array([theirs["efp_scores"][j] for j in range(p)]))
    np.testing.assert_allclose(q, [theirs["q_values"][j] for j in range(p)], rtol=0, atol=1e-9)


# --- half samples


def test_halves_are_disjoint_and_have_the_shares_of_the_classes():
    strata = np.repeat([0, 1, 2], [10, 7, 5])
    first, second = halves.draw_halves(strata, None, np.random.default_rng(0))
    assert not np.intersect1d(first, second).size
    assert len(first) == len(second) == 11
    for half in (first, second):
        assert np.all(np.abs(np.bincount(strata[half]) - np.array([5, 3.5, 2.5])) <= 0.5)


def test_groups_stay_together():
    groups = np.repeat(np.arange(12), 3)
    strata = np.repeat(np.arange(12) % 2, 3)
    for seed in range(5):
        first, second = halves.draw_halves(strata, groups, np.random.default_rng(seed))
        assert not np.intersect1d(groups[first], groups[second]).size
        assert len(first) == len(second) == 18
        assert np.bincount(strata[first]).tolist() == [9, 9]


def test_groups_of_several_classes_leave_every_class_in_both_halves():
    groups = np.repeat(np.arange(6), 4)
    strata = np.tile([0, 0, 1, 2], 6)
    strata[:16] = np.minimum(strata[:16], 1)  # two groups alone have the third class
    for seed in range(10):
        for half in halves.draw_halves(strata, groups, np.random.default_rng(seed)):
            assert len(np.unique(strata[half])) == 3


# --- the estimator


def test_the_list_of_a_small_table():
    X, y = small_table()
    found = small(n_pairs=20, n_permutations=10, target_fdr=0.2, target_fp=None).fit(X, y)
    assert found.get_feature_names_out().tolist() == ["x2", "x5"]
    assert found.transform(X).shape == (60, 2)
    assert found.frame().index[:2].tolist() in (["x2", "x5"], ["x5", "x2"])
    assert found.paths_.shape == (100, 25)
    assert found.shares_[[2, 5]].min() > 0.9
    assert found.weights_.feature_mask.tolist() == found.get_support().tolist()
    assert found.null_scores_.shape == (10, 25)


@pytest.mark.parametrize(
    "weigher",
    [
        None,
        ReliefF(3),
        RandomForestClassifier(20),
        LogisticRegression(),
        make_pipeline(StandardScaler(), ScoreWeigher()),
    ],
    ids=["default", "weigher", "forest", "linear model", "pipeline"],
)
def test_any_weigher_or_estimator(weigher):
    X, y = small_table(n=40, p=10)
    found = small(weigher=weigher, n_pairs=4, n_permutations=2).fit(X, y)
    assert set(np.argsort(-found.scores_)[:2]) == {2, 5}


def test_a_numeric_target():
    X, _ = small_table()
    target = X[:, 2] - X[:, 5] + 0.1
    found = small(weigher=None).fit(X, target)
    assert found.target_type_ == "numeric"
    assert set(np.argsort(-found.scores_)[:2]) == {2, 5}
    linear = small(weigher=Lasso(0.1)).fit(X, target)
    assert set(np.argsort(-linear.feature_weights_)[:2]) == {2, 5}


def test_names_and_categories_of_a_frame():
    X, y = small_table(p=6)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(g=pd.Categorical(np.where(y == 1, "u", "v")))
    found = small(weigher=ReliefF(3)).fit(frame, y)
    assert found.frame().index[0] == "g"
    assert "g" in found.get_feature_names_out()


def test_labels_may_be_text():
    X, y = small_table()
    text = np.where(y == 1, "well", "ill")
    assert np.array_equal(small().fit(X, text).paths_, small().fit(X, y).paths_)


def test_the_fits_run_on_dask():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    X, y = small_table()
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        found = small().fit(X, y, client=client)
    assert np.array_equal(found.q_values_, small().fit(X, y).q_values_)


def test_progress_goes_to_stderr(capsys):
    X, y = small_table()
    small(verbose=True).fit(X, y)
    shown = capsys.readouterr()
    assert "20/20 pairs, permutation 3 of 3" in shown.err
    assert not shown.out


def test_a_knn_takes_the_list():
    X, y = small_table()
    model = WeightedKNeighborsClassifier(3, small(target_fp=0.5)).fit(X, y)
    assert model.weights_.feature_mask.sum() == 2


def test_groups_are_used():
    X, y = small_table()
    groups = np.arange(60) // 2
    label = y[::2].repeat(2)
    found = small().fit(X, label, groups=groups)
    assert not np.array_equal(found.paths_, small().fit(X, label).paths_)


def test_a_class_of_one_row_is_left_out():
    X, y = small_table()
    y = y.astype(str)
    y[7] = "rare"
    with pytest.warns(LonelyClassWarning, match=r"1 class\(es\) have one row only \('rare'\) .* their 1 rows are left"):
        found = small().fit(X, y)
    rest = np.arange(60) != 7
    assert np.array_equal(found.q_values_, small().fit(X[rest], y[rest]).q_values_)


def test_an_empty_list_warns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 10)), np.arange(40) % 2
    with pytest.warns(NothingSelectedWarning, match=r"no feature reaches target_fdr=0.01 \(the smallest q-value is"):
        found = small(target_fdr=0.01, target_fp=None).fit(X, y)
    assert not found.get_support().any()


def test_an_empty_list_says_if_more_permutations_could_fill_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 10)), np.arange(40) % 2
    with pytest.warns(NothingSelectedWarning) as noise:
        small(target_fdr=0.001, target_fp=None, n_permutations=2).fit(X, y)
    assert "use more" not in str(noise[0].message)  # a permuted feature is better than all: more cannot help
    X[:, 0] += 4 * y
    with pytest.warns(NothingSelectedWarning, match="With n_permutations=2 no smaller values are possible: use more"):
        small(target_fdr=0.001, target_fp=None, n_permutations=2).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[1.0, 2.0]] * 3, "y": [0, 1, 0]}, "at least 4 rows; got n_samples=3"),
        ({"y": [0] * 59 + [1]}, r"at least 2 classes with 2 rows each; 1 of 2 classes have one row only \(1\)"),
        ({"y": [0] * 60}, "at least 2 classes are needed"),
        ({"X": np.ones((60, 1))}, "n_features=1"),
        ({"groups": np.zeros(60)}, "at least 4 groups"),
        ({"groups": np.arange(61)}, "inconsistent numbers of samples"),
        ({"groups": [None] + list("ab") * 29 + ["c"]}, "1 rows belong to no group"),
        (
            {"groups": np.where(np.arange(60) < 4, 0, 1 + np.arange(60) % 5), "y": [1] * 4 + [0] * 56},
            "1 of 2 classes have one group only",
        ),
        ({"X": np.full((60, 3), np.inf)}, "infinity"),
        ({"y": None}, "requires y to be passed"),
        ({"target_fdr": None, "target_fp": None}, "both None"),
        ({"target_fdr": 1.5}, "target_fdr"),
        ({"weigher": "relief"}, "weigher"),
        ({"weigher": StandardScaler()}, "has no weights for its features"),
    ],
)
def test_bad_input(change, message):
    X, y = small_table()
    given = {"X": X, "y": y, "groups": None, **change}
    options = {name: given.pop(name) for name in change if name not in ("X", "y", "groups")}
    with pytest.raises(ValueError, match=message):  # InvalidDataError, or scikit-learn's for parameters
        small(**options).fit(**given)


# --- error control on a few generated tables; benchmarks/list_error.py runs 200


def test_few_false_features_on_generated_tables():
    found = false = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.normal(size=(60, 40)), 5, axis=1) + rng.normal(size=(60, 200))  # correlated blocks
        y = X[:, :5].mean(axis=1) + X[:, 5:10].mean(axis=1) + 0.5 * rng.normal(size=60) > 0
        chosen = small(n_pairs=20, n_permutations=5, target_fdr=0.2, target_fp=None).fit(X, y).get_support()
        found, false = found + chosen[:10].sum(), false + chosen[10:].sum()
    assert found > 30
    assert false / (found + false) < 0.2


# --- the default weigher


def test_the_default_takes_an_offset_if_columns_are_on_one_scale_and_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 150)), np.arange(40) % 2
    X[:, :3] += 1.5 * y[:, None]
    options = {"n_pairs": 5, "n_permutations": 2, "target_fp": 5.0, "random_state": 0}
    found = StabilitySelection(**options).fit(X, y)
    assert found.weigher_.offset == 0.75
    same = StabilitySelection(ScoreWeigher(offset=0.75), **options).fit(X, y)
    np.testing.assert_array_equal(found.half_weights_, same.half_weights_)
    assert set(np.argsort(-found.scores_)[:3]) == {0, 1, 2}
    # In mixed units the default is the F-statistic, so that units do not matter.
    mixed = StabilitySelection(**options).fit(X * 10.0 ** rng.integers(-4, 5, 150), y)
    assert mixed.weigher_.offset is None
    plain = StabilitySelection(ScoreWeigher(), **options).fit(X, y)
    np.testing.assert_allclose(mixed.half_weights_, plain.half_weights_)
    np.testing.assert_array_equal(mixed.q_values_, plain.q_values_)


def test_an_offset_is_decided_once_for_all_half_samples():
    """Half samples of columns that are nearly not on one scale must not differ in their scores."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 400)), np.arange(24) % 2
    X *= np.geomspace(1, 10 ** (2 / 0.8), 400)  # the 90th and the 10th percentile differ by about a hundred
    found = small(weigher=ScoreWeigher(offset="auto"), target_fp=400.0).fit(X, y)
    same = small(weigher=ScoreWeigher(offset=found.weigher_.offset), target_fp=400.0).fit(X, y)
    np.testing.assert_array_equal(found.half_weights_, same.half_weights_)


@pytest.mark.parametrize("labels", ["numbers", "text", "floats"])
@pytest.mark.parametrize("weigher", [ScoreWeigher(), ScoreWeigher(f_classif), ScoreWeigher(offset=0.75)],
                         ids=["default", "f_classif", "offset"])  # fmt: skip
def test_scores_without_fits_are_those_of_fits(weigher, labels):
    """The F-statistic of an array is computed without an estimator; inside a pipeline, the estimator is fitted."""
    X, y = small_table()
    X[:, 3] = 2.0
    X[::7, 4] = np.nan
    y = {"numbers": y, "text": np.array(["no", "yes"])[y], "floats": y.astype(float)}[labels]
    quick, slow = small(weigher=weigher).fit(X, y), small(weigher=make_pipeline(weigher)).fit(X, y)
    np.testing.assert_allclose(quick.half_weights_, slow.half_weights_, rtol=1e-9)
    np.testing.assert_allclose(quick.q_values_, slow.q_values_)
