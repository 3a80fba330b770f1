"""Searches with numeric targets: R² against loops, what needs classes, checkpoints, fronts and other learners."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from naive import evolution as naive
from sklearn import metrics
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeRegressor
from support.searches import FAST, same

from weighbors import EvolutionaryWeigher, WeightedKNeighborsRegressor
from weighbors.datasets import load_dataset
from weighbors.exceptions import CheckpointError, InvalidDataError, NoSkillWarning, NothingSelectedWarning
from weighbors.tables.targets import Target
from weighbors.weighers.evolution import Fitness, Genome
from weighbors.weighers.evolution.estimators import EstimatorPredictor
from weighbors.weighers.evolution.fitness import NUMBER_SCORES, NeighborPredictor, NumericPerformance, default_alphas
from weighbors.weighers.evolution.genome import TASKS

RNG = np.random.default_rng
COMBINATIONS = [c for size in range(1, 5) for c in combinations(TASKS, size)]
X = RNG(0).normal(size=(60, 5))
Y = X[:, 0] + 0.5 * X[:, 1] + 0.1 * RNG(1).normal(size=60)


def table(seed):
    """Ties (integers, duplicates), constant columns, categories, missing values; reals, few values or large ones."""
    rng = RNG(seed)
    n, m = int(rng.integers(6, 32)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, m)) if seed % 2 else rng.integers(0, 3, size=(n, m)).astype(float)
    nominal = np.zeros(m, dtype=bool)
    if seed % 4 == 3:
        nominal[rng.random(m) < 0.5] = True
        X[:, nominal] = rng.integers(0, 3, size=(n, int(nominal.sum())))
    X[:, 0] = 1.0 if seed % 5 == 0 else X[:, 0]
    X[n // 2 : n // 2 + 3] = X[:3]
    if seed % 3 == 0:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X).sum(axis=1) + 0.3 * rng.normal(size=n)
    y = [y, np.round(y), 1e6 + y][seed % 3]
    y[:2] = y[0], y[0] + 1
    return X, y, nominal


def numeric(y):
    return Target(np.zeros(len(y), dtype=int), np.zeros(0), y)


def judge(X, y, nominal, tasks, how="r2", k=1, n_jobs=1):
    genome = Genome(tasks, *X.shape)
    predictor = NeighborPredictor(genome, X, numeric(y), nominal=nominal, n_neighbors=k, n_jobs=n_jobs)
    return genome, Fitness(genome, predictor, NumericPerformance(how, y), default_alphas(tasks))


@pytest.mark.parametrize("tasks", COMBINATIONS, ids="+".join)
def test_fitness_equals_the_oracle(tasks):
    skilled = 0
    for seed in range(20):
        X, y, nominal = table(seed)
        k = 1 + 2 * (seed % 4 == 1)
        genome, fitness = judge(X, y, nominal, tasks, k=k)
        people = genome.random(4, RNG(seed), density=[0.5, 0.2, 0.9, 0.03])
        if "IS" in tasks:
            people.bits[3, : len(X)] = np.arange(len(X)) == seed % len(X)  # one instance
        found = fitness(people)
        w, v = genome.feature_weights(people)[:, 0], genome.instance_scales(people)
        s, t = genome.feature_mask(people), genome.instance_mask(people)
        for i in range(4):
            wanted = naive.fitness(X, y, w[i], v[i], s[i], t[i], tasks=tasks, how="r2", k=k, nominal=nominal)
            assert found.fitness[i] == pytest.approx(wanted, rel=1e-12, abs=1e-9 if seed % 3 == 2 else 1e-12), (seed, i)
        assert "IS" not in tasks or found.performance[3] == 0  # no constant is better than the mean
        skilled += int((found.performance > 0).sum())
    assert skilled > 5  # the oracle has more to say than 0


def test_nothing_selected_is_worth_nothing():
    genome, fitness = judge(X, Y, np.zeros(5, dtype=bool), ("IS", "FS"))
    people = genome.random(3, RNG(0))
    people.bits[0, :60] = False
    people.bits[1, 60:] = False
    assert fitness(people).fitness[:2].tolist() == [0, 0]
    assert judge(X, Y, None, ("IS",), how=lambda a, b: -1.0)[1].nothing == -np.inf


def test_a_row_without_a_neighbour_is_predicted_by_the_mean():
    genome, fitness = judge(X, Y, None, ("IS",))
    people = genome.random(1, RNG(0))
    people.bits[0] = np.arange(60) == 7
    predicted = fitness.predictor.predict(people)[0]
    assert predicted[7] == pytest.approx(Y.mean())
    assert (np.delete(predicted, 7) == Y[7]).all()
    # In a sum of squares this row is worth what it is to the mean; where no clipping hides it, a function sees it.
    seen = judge(X, Y, None, ("IS",), how=lambda a, b: -float(np.square(a - b)[7]))[1](people).performance[0]
    assert seen == pytest.approx(-((Y[7] - Y.mean()) ** 2))


def test_scores_are_those_of_scikit_learn_relative_to_a_constant():
    predicted = np.stack([Y + RNG(seed).normal(scale=0.2 + seed, size=60) for seed in range(3)])
    predicted[2] += 1.5  # explained variance does not see an offset
    constants = {name: np.mean(Y) for name in NUMBER_SCORES}
    constants |= {name: np.median(Y) for name in NUMBER_SCORES if "absolute" in name}
    for name in NUMBER_SCORES:
        scorer = metrics.get_scorer(name)
        found = NumericPerformance(name, Y)(predicted)
        for score, row in zip(found, predicted, strict=True):
            reached = scorer._score_func(Y, row)
            if name.startswith("neg_"):
                reached = 1 - reached / scorer._score_func(Y, np.full(60, constants[name]))
            assert score == pytest.approx(max(0, reached), abs=1e-12), name
    assert NumericPerformance("accuracy", Y)(predicted).tolist() == NumericPerformance("r2", Y)(predicted).tolist()
    assert NumericPerformance("r2", Y)(np.full((1, 60), 1e300)).tolist() == [0]  # errors that overflow
    for bad in (lambda a, b: np.nan, lambda a, b: None):
        with pytest.raises(InvalidDataError, match="one finite number"):
            NumericPerformance(bad, Y)(predicted)


def test_the_result_is_what_its_weights_predict():
    search = EvolutionaryWeigher("IS+FS+IW+FW", **FAST).fit(X, Y)
    w, v, s, t = search.feature_weights_, search.instance_scales_, search.feature_support_, search.instance_support_
    predicted = naive.numbers(X, Y.tolist(), w, v, s, t)
    assert search.performance_ == pytest.approx(naive.r_squared(Y.tolist(), predicted), rel=1e-9)
    assert search.target_type_ == "numeric"
    assert not hasattr(search, "classes_")
    small, y_small = search.reduce(X, Y)
    np.testing.assert_array_equal(y_small, Y[search.sample_indices_])
    assert small.shape == (t.sum(), s.sum())
    assert search.history_["best"].iloc[-1] == search.fitness_
    with pytest.warns(NothingSelectedWarning, match=r"WeightedKNeighborsRegressor.*reduce\(X, y\)$"):
        search.transform(X)
    labels = EvolutionaryWeigher("IS", **FAST).fit(X, Y).fit(X, Y > 0)  # a second fit, with classes
    assert labels.classes_.tolist() == [False, True]
    assert not hasattr(labels.fit(X, Y), "classes_")


def test_what_y_holds():
    integers = np.round(10 * Y).astype(int)
    options = {"population_size": 8, "max_evaluations": 24, "random_state": 0}
    assert EvolutionaryWeigher("FS", **options).fit(X, np.round(1e3 * Y)).target_type_ == "numeric"
    assert EvolutionaryWeigher("FS", **options).fit(X, (integers > 0).astype(float)).target_type_ == "classes"
    assert EvolutionaryWeigher("FS", target_type="numeric", **options).fit(X, integers).target_type_ == "numeric"
    assert EvolutionaryWeigher("FS", target_type="classes", **options).fit(X, integers > 0).target_type_ == "classes"
    assert EvolutionaryWeigher("FS", target_type="numeric", **options).fit(X, pd.Series(Y)).target_type_ == "numeric"
    two = EvolutionaryWeigher("FS", target_type="numeric", **options)
    with pytest.warns(NoSkillWarning, match="performance_ is 0"):
        assert two.fit([[0.0], [1.0]], [1.5, 2]).performance_ == 0


@pytest.mark.parametrize(
    ("y", "told"),
    [
        (Y.astype(str), r"text that looks like a numeric target.*to_numeric"),
        (np.column_stack([Y, Y]), "1d array"),
        (Y * 1e200, "rescale"),
        (Y * 1e-200, "rescale"),
    ],
)
def test_targets_that_cannot_be_used(y, told):
    with pytest.raises(ValueError, match=told):
        EvolutionaryWeigher("FS", population_size=4, max_evaluations=8).fit(X, y)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"per_class": True, "tasks": "FW"}, "per_class=True needs classes.*target_type='classes'"),
        ({"undersample": True}, "undersample=True needs classes.*Stratified"),
        ({"undersample": 0.5}, r"undersample=0\.5 needs classes"),
        ({"objective": ["error", "margins"], "tasks": "FW"}, "'margins' needs classes"),
        ({"fitness": "g_mean"}, "score of classes.*r2"),
        ({"fitness": "f1_macro"}, "score of classes"),
        ({"estimator": GaussianNB()}, "must be a regressor.*GaussianNB"),
        ({"estimator": KNeighborsRegressor(), "tasks": "IW"}, "takes sample_weight; KNeighborsRegressor does not"),
        ({"estimator": Ridge(), "cv": 61}, "cv=61 folds need at least 61 rows; there are 60"),
    ],
)
def test_what_needs_classes_is_refused(options, told):
    with pytest.raises(InvalidDataError, match=told):
        EvolutionaryWeigher(**{"tasks": "IS", **options}).fit(X, Y)


def test_scores_of_numbers_need_numbers():
    with pytest.raises(InvalidDataError, match="score of numeric targets.*target_type='numeric'"):
        EvolutionaryWeigher(fitness="neg_mean_squared_error").fit(X, Y > 0)
    mostly_zero = np.where(np.arange(60) < 40, 0.0, Y)
    with pytest.raises(InvalidDataError, match="most values of y are equal. Use 'r2'"):
        EvolutionaryWeigher(fitness="neg_median_absolute_error").fit(X, mostly_zero)
    with pytest.raises(InvalidDataError, match="must be a classifier"):
        EvolutionaryWeigher(estimator=LinearRegression()).fit(X, Y > 0)


def test_a_sampler_needs_classes():
    with pytest.raises(InvalidDataError, match=r"resample classes.*reduce\(X, y\)"):
        EvolutionaryWeigher("IS", target_type="numeric").as_sampler()
    with pytest.raises(InvalidDataError, match=r"Unknown label type.*reduce\(X, y\)"):
        EvolutionaryWeigher("IS", **FAST).as_sampler().fit_resample(X, Y)
    # Sixty different whole numbers look numeric to the weigher, but a sampler has classes.
    kept = EvolutionaryWeigher("FS", population_size=4, max_evaluations=8, random_state=1).as_sampler()
    rows, many = RNG(0).normal(size=(240, 2)), np.repeat(np.arange(60.0), 4)
    rows[:, 0] = many
    assert len(kept.fit_resample(rows, many)[0]) == 240


def test_a_checkpoint_of_classes_does_not_continue_numbers(tmp_path):
    path, labels = tmp_path / "run.ckpt", np.arange(60) % 3
    given = {"checkpoint": path, **FAST}
    EvolutionaryWeigher("FS", **given).fit(X, labels)
    with pytest.raises(CheckpointError, match="target_type: 'classes' there, 'numeric' here"):
        EvolutionaryWeigher("FS", target_type="numeric", **given).fit(X, labels)
    other = tmp_path / "other.ckpt"
    EvolutionaryWeigher("FS", **{**given, "checkpoint": other}).fit(X, Y)
    with pytest.raises(CheckpointError, match="other data"):
        EvolutionaryWeigher("FS", **{**given, "checkpoint": other}).fit(X, Y + 1e-9)


@pytest.mark.parametrize("objective", ["single", "pareto"])
def test_a_resumed_search_is_the_same_to_the_bit(tmp_path, objective):
    given = {**FAST, "objective": objective}
    whole = EvolutionaryWeigher("IS+FS", **given).fit(X, Y)
    given["checkpoint"] = tmp_path / "run.ckpt"
    part = EvolutionaryWeigher("IS+FS", callback=lambda progress: progress.generation == 4, **given).fit(X, Y)
    assert part.n_evaluations_ < whole.n_evaluations_
    same(EvolutionaryWeigher("IS+FS", **given).fit(X, Y), whole)


def test_the_front_is_not_dominated_and_holds_what_it_says():
    search = EvolutionaryWeigher("IS+FS+FW", objective="pareto", **FAST).fit(X, Y)
    front = search.pareto_front_
    goals = front[["error", "instances", "features"]].to_numpy()
    for one in goals:
        assert not any((other <= one).all() and (other < one).any() for other in goals)
    for index in range(0, len(front), 5):
        search.select(index)
        parts = search.feature_weights_, np.ones(60), search.feature_support_, search.instance_support_
        error = 1 - naive.r_squared(Y.tolist(), naive.numbers(X, Y.tolist(), *parts))
        assert front["error"].iloc[index] == pytest.approx(error, abs=1e-12)
        assert search.performance_ == pytest.approx(1 - error, abs=1e-12)


def test_another_regressor_sees_scaled_columns_selected_rows_and_relevance():
    genome = Genome(TASKS, *X.shape)
    given = {"cv": 3, "seed": 0, "nominal": np.zeros(5, dtype=bool)}
    predictor = EstimatorPredictor(genome, X, numeric(Y), estimator=Ridge(), n_jobs=1, **given)
    people = genome.random(5, RNG(3))
    people.bits[4, :60] = False
    found = predictor.predict(people)
    w, v = genome.feature_weights(people)[:, 0], genome.instance_scales(people)
    s, t = genome.feature_mask(people), genome.instance_mask(people)
    for i in range(4):
        for train, test in predictor.folds:
            kept = [r for r in train if t[i, r]]
            model = Ridge().fit((X * w[i])[kept][:, s[i]], Y[kept], sample_weight=1 - v[i, kept])
            np.testing.assert_allclose(found[i, test], model.predict((X * w[i])[test][:, s[i]]), rtol=1e-9)
    assert (found[4] == Y.mean()).all()  # no row to train on
    several = EstimatorPredictor(genome, X, numeric(Y), estimator=Ridge(), n_jobs=3, **given)
    np.testing.assert_array_equal(several.predict(people), found)


class Diverged(RegressorMixin, BaseEstimator):
    """A regressor whose coefficients ran away."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.where(np.arange(len(X)) % 2, np.inf, np.nan)


def test_a_search_with_another_regressor():
    search = EvolutionaryWeigher("FS", estimator=LinearRegression(), **FAST).fit(X, Y)
    assert search.feature_support_[:2].all()
    assert search.performance_ > 0.9
    tree = EvolutionaryWeigher("IS+IW", estimator=DecisionTreeRegressor(max_features=1), **FAST)
    same(tree.fit(X, Y), clone(tree).fit(X, Y))
    # Predictions that are not finite count as none, and a constant has no skill.
    with pytest.warns(NoSkillWarning):
        assert EvolutionaryWeigher("FS", estimator=Diverged(), **FAST).fit(X, Y).performance_ == 0


@pytest.mark.parametrize("fitness", ["neg_mean_absolute_error", metrics.r2_score])
def test_other_scores_find_the_features_too(fitness):
    search = EvolutionaryWeigher("FS", fitness, **FAST).fit(X, Y)
    assert search.feature_support_.tolist() == [True, True, False, False, False]


@pytest.mark.data
def test_weights_of_a_real_table_help_a_regressor():
    data = load_dataset("r-autompg")
    rows, y = data.X.fillna(data.X.mean()).to_numpy(dtype=float), data.y.astype(float)
    rows = np.column_stack([scale(rows), RNG(0).normal(size=(len(rows), 4))])  # four columns of noise
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    search = EvolutionaryWeigher("FW", population_size=30, max_evaluations=900, random_state=0)
    w = search.fit(rows[train], y[train]).feature_weights_
    plain, weighed = (
        KNeighborsRegressor(1).fit((rows * a)[train], y[train]).score((rows * a)[test], y[test]) for a in (1.0, w)
    )
    assert weighed > plain + 0.05
    assert weighed > 0.6


@pytest.mark.parametrize("tasks", ["FW", "IS+FS", "IS+FS+IW+FW"])
def test_performance_is_the_score_of_a_regressor_that_leaves_rows_out(tasks):
    search = EvolutionaryWeigher(tasks, **FAST).fit(X, Y)
    model = WeightedKNeighborsRegressor(1, weigher=search.weights_).fit(X, Y)
    assert search.performance_ == pytest.approx(metrics.r2_score(Y, model.predict(None)), rel=1e-12)
    inside = WeightedKNeighborsRegressor(1, weigher=EvolutionaryWeigher(tasks, **FAST)).fit(X, Y)
    np.testing.assert_array_equal(inside.predict(None), model.predict(None))
    np.testing.assert_array_equal(inside.predict(X[:5] + 0.1), model.predict(X[:5] + 0.1))
