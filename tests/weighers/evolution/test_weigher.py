"""The estimator: what it publishes, long work, checkpoints, bad input."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from support.searches import FAST, X, Y, same

from weighbors import EvolutionaryWeigher, WeightedKNeighborsClassifier
from weighbors.exceptions import (
    ForeignWeightsError,
    InvalidDataError,
    LonelyClassWarning,
    LostClassWarning,
    NothingSelectedWarning,
)
from weighbors.weighers.evolution import fitness
from weighbors.weighers.evolution.fit import undersample_rows

COMBINATIONS = ["+".join(c) for size in range(1, 5) for c in combinations(("IS", "FS", "IW", "FW"), size)]


@pytest.mark.parametrize("tasks", COMBINATIONS)
def test_all_combinations_for_every_number_of_threads(tasks):
    one = EvolutionaryWeigher(tasks, n_jobs=1, **FAST).fit(X, Y)
    same(one, EvolutionaryWeigher(tasks, n_jobs=3, **FAST).fit(X, Y))
    assert one.instance_support_.all() != ("IS" in tasks)
    assert one.feature_support_.all() != ("FS" in tasks)
    assert (one.instance_scales_ == 1).all() != ("IW" in tasks)
    assert (one.feature_weights_ == 1).all() != ("FW" in tasks)
    assert one.n_evaluations_ == 200
    assert one.stop_reason_ == "max_evaluations"
    # the classifier with these weights, each row left out, says what the fitness says
    model = WeightedKNeighborsClassifier(1, weigher=one.weights_).fit(X, Y)
    assert np.mean(model.predict(None) == Y) == pytest.approx(one.performance_)
    kept = one.instance_support_.sum() / len(X) * one.feature_support_.sum() / X.shape[1]
    assert one.reduction_ == pytest.approx(1 - kept)


def test_ways_to_evaluate_do_not_change_the_search(monkeypatch):
    for tasks in ("IS", "IW", "IS+IW"):
        kept = EvolutionaryWeigher(tasks, **FAST).fit(X, Y)
        with monkeypatch.context() as patched:
            patched.setattr(fitness, "PopulationNeighbors", partial(fitness.PopulationNeighbors, cache_bytes=0))
            scanned = EvolutionaryWeigher(tasks, **FAST).fit(X, Y)
        assert (kept.plan_.way != "scan", scanned.plan_.way) == (True, "scan")
        same(kept, scanned)


def test_it_improves_and_is_a_weigher():
    search = EvolutionaryWeigher("IS+FS", max_evaluations=3000, random_state=0).fit(X, Y)
    assert search.history_["best"].is_monotonic_increasing
    assert search.fitness_ > search.history_["best"].iloc[0] + 0.05
    assert search.reduction_ > 0.7
    model = WeightedKNeighborsClassifier(1, weigher=EvolutionaryWeigher("FW", max_evaluations=500, random_state=0))
    assert cross_val_score(model, X, Y, cv=3).mean() > 0.9
    assert search.get_feature_names_out().shape == (search.feature_support_.sum(),)
    with pytest.warns(NothingSelectedWarning, match="selected rows, but transform passes all rows on"):
        np.testing.assert_array_equal(search.transform(X), X[:, search.feature_support_])
    assert (search.feature_importances_ > 0).sum() == search.feature_support_.sum()


def test_reduce_keeps_the_container():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])], index=np.arange(len(X)) + 500)
    search = EvolutionaryWeigher("IS+FS", **FAST).fit(frame, Y)
    small, labels = search.reduce(frame, pd.Series(Y, index=frame.index))
    assert small.shape == (search.instance_support_.sum(), search.feature_support_.sum())
    pd.testing.assert_frame_equal(small, frame.loc[search.instance_support_, frame.columns[search.feature_support_]])
    assert labels.index.equals(small.index)
    assert search.reduce(frame).equals(small)
    plain = EvolutionaryWeigher("IS+FS", **FAST).fit(sparse.csr_matrix(X), Y)
    assert plain.reduce(sparse.csr_matrix(X)).shape == small.shape
    with pytest.raises(ForeignWeightsError, match="transform"):
        search.reduce(frame[::-1])
    for labels in (Y[:-1], np.append(Y, 0)):
        with pytest.raises(ValueError, match="inconsistent numbers"):
            search.reduce(frame, labels)


def test_mixed_tables_with_missing_values():
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["e"] = pd.Categorical(np.where(X[:, 4] > 0, "high", "low"))
    frame.iloc[::7, 1] = np.nan
    for tasks in ("IS", "IW", "IS+FS+IW+FW"):
        search = EvolutionaryWeigher(tasks, **FAST).fit(frame, Y)
        assert search.performance_ > 0.6


@pytest.mark.parametrize("undersample", [False, True])
@pytest.mark.parametrize("tasks", ["IS", "IS+IW", "IS+FW", "IS+FS+IW+FW"])
def test_search_and_classifier_agree_where_values_are_missing(tasks, undersample):
    # Both measure a missing value at the range of all training rows, whatever rows are selected or drawn.
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = (rng.random(80) < 0.35).astype(int)
        rows = rng.standard_t(2, size=(80, 4)) + 2 * y[:, None]  # far rows that a selection leaves out make the ranges
        rows[rng.random(rows.shape) < 0.2] = np.nan
        search = EvolutionaryWeigher(tasks, undersample=undersample, **FAST).fit(rows, y)
        model = WeightedKNeighborsClassifier(1, weigher=search.weights_).fit(rows, y)
        assert np.mean((model.predict(None) == y)[search._rows]) == pytest.approx(search.performance_), seed


def test_undersampling():
    y = (Y == 0).astype(int)
    rng = np.random.default_rng
    codes = np.array([0] * 30 + [1] * 7 + [2] * 10)
    for ratio, sizes in ((False, [30, 7, 10]), (True, [7, 7, 7]), (0.5, [14, 7, 10]), (1.0, [7, 7, 7])):
        np.testing.assert_array_equal(np.bincount(codes[undersample_rows(codes, ratio, rng(0))]), sizes)
    for smallest, ratio, largest in ((7, 0.28, 25), (14, 0.56, 25), (17, 0.68, 25), (3, 0.4, 7)):  # 7 / 0.28 < 25
        drawn = undersample_rows(np.repeat([0, 1], [60, smallest]), ratio, rng(0))
        assert len(drawn) == smallest + largest
    search = EvolutionaryWeigher("FS", "g_mean", undersample=True, **FAST).fit(X, y)
    kept = np.bincount(y[search.sample_indices_])
    assert kept[0] == kept[1] == y.sum()
    assert search.weights_.instance_mask is not None  # a k-NN uses the drawn rows only
    assert search.reduction_ == pytest.approx(1 - 2 * y.sum() / len(y) * search.feature_support_.mean())
    both = EvolutionaryWeigher("IS", undersample=0.5, **FAST).fit(X, y)
    assert len(both.sample_indices_) < 1.5 * y.sum()


def test_other_fitness():
    search = EvolutionaryWeigher("FS", lambda a, b: float(np.mean(a == b)), **FAST).fit(X, Y)
    same(search, EvolutionaryWeigher("FS", "accuracy", **FAST).fit(X, Y))
    labels = np.array(["x", "y", "z"])[Y]
    seen = []
    EvolutionaryWeigher("FS", lambda a, b: seen.append((a[0], set(b))) or 0.0, **FAST).fit(X, labels)
    assert seen[0][0] == "x"
    assert seen[0][1] <= set(labels)
    bayes = EvolutionaryWeigher("IS+FS+IW", estimator=GaussianNB(), **FAST).fit(X, Y)
    assert bayes.performance_ > 0.8
    assert bayes.plan_ is None
    assert EvolutionaryWeigher("FS", alphas=(1, 0, 0), **FAST).fit(X, Y).fitness_ > 0.9
    per_class = EvolutionaryWeigher("FW", per_class=True, **FAST).fit(X, Y)
    assert per_class.class_feature_weights_.shape == (3, 13)
    assert per_class.weights_.kind == "class"
    model = WeightedKNeighborsClassifier(1, weigher=per_class.weights_).fit(X, Y)
    assert np.mean(model.predict(None) == Y) == pytest.approx(per_class.performance_)


def test_more_neighbours_than_instances_selected():
    with pytest.warns(LostClassWarning):
        search = EvolutionaryWeigher("IS", n_neighbors=500, **FAST).fit(X, Y)
    assert search.performance_ < 0.7  # all selected ones vote


def test_seeds():
    a, b = (EvolutionaryWeigher("IS", **{**FAST, "random_state": seed}).fit(X, Y) for seed in (0, 1))
    assert (a.instance_support_ != b.instance_support_).any()
    state = np.random.RandomState(7)
    EvolutionaryWeigher("IS", **{**FAST, "random_state": state}).fit(X, Y)
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - the global state is what must not change
    EvolutionaryWeigher("IS", **{**FAST, "random_state": None}).fit(X, Y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# -- bad and odd input


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tasks": "PS"}, "non-empty choice of IS, FS, IW, FW"),
        ({"tasks": []}, "non-empty choice|at least"),
        ({"max_evaluations": 5}, "less than population_size"),
        ({"per_class": True}, "per_class=True needs FW"),
        ({"objective": ["error"]}, "at least two goals"),
        ({"alphas": (1, 2)}, "three numbers"),
        ({"alphas": (-1, 2, 0)}, "three numbers"),
        ({"alphas": (0, 0, 0)}, "three numbers"),
        ({"fitness": "f1"}, "fitness"),
    ],
)
def test_bad_parameters(options, told):
    with pytest.raises(ValueError, match=told):
        EvolutionaryWeigher(**{"tasks": "IS", **FAST, **options}).fit(X, Y)


def test_a_class_of_one_instance_is_told():
    y = Y.copy()
    y[0] = 7
    with pytest.warns(LonelyClassWarning, match="have one instance"):
        search = EvolutionaryWeigher("FW", "g_mean", **FAST).fit(X, y)
    assert search.performance_ > 0.8  # the other classes still count


@pytest.mark.parametrize("tasks", COMBINATIONS)
def test_two_rows_and_constant_features(tasks):
    with pytest.warns(LonelyClassWarning):
        search = EvolutionaryWeigher(tasks, **FAST).fit([[0.0, 1.0], [1.0, 1.0]], [0, 1])
    assert search.performance_ == 0  # each row's only neighbour is of the other class
    assert len(search.sample_indices_) >= 1
    with pytest.warns(LostClassWarning):  # equal distances go to the lowest row
        flat = EvolutionaryWeigher(tasks, **FAST).fit(np.ones((8, 3)), [0, 1] * 4)
    assert 0 <= flat.performance_ <= 1
    mixed = np.column_stack([X[:, :3], np.ones(len(X))])
    assert EvolutionaryWeigher(tasks, **FAST).fit(mixed, Y).performance_ > 0.5


def test_string_labels_and_iris_duplicates():
    iris, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    a, b = (EvolutionaryWeigher("IS+FS", **FAST).fit(iris, labels) for labels in (y, names))
    np.testing.assert_array_equal(a.instance_support_, b.instance_support_)
    assert list(b.classes_) == ["setosa", "versicolor", "virginica"]


def test_a_second_fit_forgets_the_first():
    search = EvolutionaryWeigher("IS+FW", objective="pareto", per_class=True, **FAST).fit(X, Y)
    assert hasattr(search, "pareto_front_")
    search.set_params(objective="single", per_class=False).fit(X, Y)
    assert not hasattr(search, "pareto_front_")
    assert not hasattr(search, "class_feature_weights_")
    same(search, EvolutionaryWeigher("IS+FW", **FAST).fit(X, Y))


def test_numbers_of_numpy_as_settings(tmp_path):
    given = {**FAST, "population_size": np.int64(10), "random_state": np.int64(0)}
    path = tmp_path / "run.ckpt"
    EvolutionaryWeigher("IS", checkpoint=path, **given).fit(X, Y)
    same(
        EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y),
        EvolutionaryWeigher("IS", **FAST).fit(X, Y),
    )


def test_select_needs_a_front():
    with pytest.raises(InvalidDataError, match="objective='pareto'"):
        EvolutionaryWeigher("IS", **FAST).fit(X, Y).select(0)


# -- imbalanced-learn


def test_the_sampler_in_a_pipeline_of_imbalanced_learn():
    pipeline = pytest.importorskip("imblearn.pipeline")
    sampler = EvolutionaryWeigher("IS", "g_mean", **FAST).as_sampler()
    assert not hasattr(sampler, "transform")
    small, labels = sampler.fit_resample(X, Y)
    np.testing.assert_array_equal(small, X[sampler.sample_indices_])
    np.testing.assert_array_equal(labels, Y[sampler.sample_indices_])
    model = pipeline.make_pipeline(sampler, GaussianNB())
    model.fit(X, Y)
    assert model.named_steps["gaussiannb"].class_count_.sum() == len(small)
    assert model.score(X, Y) > 0.8
    frame = pd.DataFrame(X)
    assert isinstance(sampler.fit_resample(frame, Y)[0], pd.DataFrame)


def test_a_sampler_leaves_the_checkpoint_of_its_weigher_alone(tmp_path):
    pytest.importorskip("imblearn")
    path = tmp_path / "run.ckpt"
    search = EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y)
    before = path.read_bytes()
    rows, labels = search.as_sampler().fit_resample(X, Y)
    assert len(rows) == len(labels) == search.instance_support_.sum()
    assert path.read_bytes() == before
