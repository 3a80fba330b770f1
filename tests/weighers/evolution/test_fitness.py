"""Fitness against the oracle for all 15 combinations; parts that are switched off never change."""

from itertools import combinations

import numpy as np
import pytest
from naive import evolution as naive
from sklearn.linear_model import LinearRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from weighbors.exceptions import InvalidDataError
from weighbors.metrics import g_mean, reduction_of
from weighbors.tables.targets import Target
from weighbors.weighers.evolution import Fitness, Genome
from weighbors.weighers.evolution.estimators import EstimatorPredictor
from weighbors.weighers.evolution.fitness import NeighborPredictor, Performance, default_alphas
from weighbors.weighers.evolution.genome import TASKS, parse_tasks

RNG = np.random.default_rng
COMBINATIONS = [c for size in range(1, 5) for c in combinations(TASKS, size)]


def table(seed):
    """Ties (integers, duplicates, constant columns), imbalance up to 1:12, 2 to 4 classes."""
    rng = RNG(seed)
    n, m, classes = int(rng.integers(9, 32)), int(rng.integers(1, 7)), 2 + seed % 3
    X = rng.normal(size=(n, m)) if seed % 2 else rng.integers(0, 3, size=(n, m)).astype(float)
    X[:, 0] = 1.0 if seed % 5 == 0 else X[:, 0]
    X[n // 2 : n // 2 + 3] = X[:3]
    y = (rng.random(n) < 0.12).astype(int) if classes == 2 else rng.integers(0, classes, size=n)
    y[: 2 * classes] = np.repeat(np.arange(classes), 2)
    return X, y


def judge(X, y, tasks, how, k=1, vectors=1):
    genome = Genome(tasks, *X.shape, n_vectors=vectors)
    classes = np.arange(int(y.max()) + 1)
    predictor = NeighborPredictor(genome, X, Target(y, classes), n_neighbors=k)
    return genome, Fitness(genome, predictor, Performance(how, y, classes), default_alphas(tasks))


def test_there_are_15():
    assert len(COMBINATIONS) == 15


@pytest.mark.parametrize("tasks", COMBINATIONS, ids="+".join)
def test_fitness_equals_the_oracle(tasks):
    for seed in range(24):
        X, y = table(seed)
        how, k = ("accuracy", "g_mean")[seed % 2], 1 + 2 * (seed % 4 == 3)
        genome, fitness = judge(X, y, tasks, how, k)
        people = genome.random(4, RNG(seed), density=[0.5, 0.2, 0.9, 0.03])
        found = fitness(people)
        w, v = genome.feature_weights(people)[:, 0], genome.instance_scales(people)
        s, t = genome.feature_mask(people), genome.instance_mask(people)
        for i in range(4):
            expected = naive.fitness(X, y, w[i], v[i], s[i], t[i], tasks=tasks, how=how, k=k)
            assert found.fitness[i] == expected, (seed, i)  # to the bit


@pytest.mark.parametrize("seed", range(6))
def test_weights_per_class_equal_the_oracle(seed):
    X, y = table(seed)
    K = int(y.max()) + 1
    genome, fitness = judge(X, y, ("IS", "FW"), "accuracy", vectors=K)
    people = genome.random(4, RNG(seed))
    w, t = genome.feature_weights(people), genome.instance_mask(people)
    ones = np.ones(len(X)), np.ones(X.shape[1], dtype=bool)
    for i, value in enumerate(fitness(people).fitness):
        of_class = {c: w[i, c] for c in range(K)}
        assert value == naive.fitness(X, y, of_class, ones[0], ones[1], t[i], tasks=("IS", "FW"))
    alike = genome.feature_weights(people)[:, :1].repeat(K, axis=1).reshape(4, -1)
    single, one = judge(X, y, ("IS", "FW"), "accuracy")
    np.testing.assert_array_equal(  # equal rows are one vector for all
        fitness(type(people)(alike, people.bits)).fitness,
        one(type(people)(people.weights[:, : X.shape[1]], people.bits)).fitness,
    )
    assert single.n_weights == X.shape[1]


@pytest.mark.parametrize("tasks", COMBINATIONS, ids="+".join)
def test_a_part_that_is_off_is_one_and_cannot_change(tasks):
    genome = Genome(tasks, 7, 3)
    assert genome.n_bits == 7 * ("IS" in tasks) + 3 * ("FS" in tasks)
    assert genome.n_weights == 7 * ("IW" in tasks) + 3 * ("FW" in tasks)
    people = genome.random(5, RNG(0))
    parts = {
        "IS": genome.instance_mask,
        "FS": genome.feature_mask,
        "IW": genome.instance_scales,
        "FW": genome.feature_weights,
    }
    for name, decode in parts.items():
        assert (name in tasks) == (not (decode(people) == 1).all())


def test_nothing_selected_is_worth_nothing():
    X, y = table(1)
    genome, fitness = judge(X, y, ("IS", "FS"), "accuracy")
    people = genome.random(3, RNG(0))
    people.bits[0, : len(X)] = False
    people.bits[1, len(X) :] = False
    people.bits[2, : len(X)] = np.arange(len(X)) == 0
    found = fitness(people)
    assert found.fitness[0] == found.fitness[1] == 0
    assert found.fitness[2] > 0  # the one row selected is itself wrong, others may be right
    assert found.performance[2] <= (len(X) - 1) / len(X)


def test_the_papers_alphas():  # paper 004, section 3
    assert default_alphas(("IS", "FS", "IW")) == (0.5, 0.25, 0.25)
    assert default_alphas(("IS", "FW")) == (0.5, 0.5, 0.0)
    assert default_alphas(("FS",)) == (0.5, 0.0, 0.5)
    assert default_alphas(("IW", "FW")) == (1.0, 0.0, 0.0)


def test_performance():
    y = np.array([0, 0, 0, 1, 1, 2])
    classes = np.array(["a", "b", "c"])
    told = np.array([[0, 0, 1, 1, 1, 2], [0, 0, 0, -1, 1, 0]])
    np.testing.assert_allclose(Performance("accuracy", y, classes)(told), [5 / 6, 4 / 6])
    # class c has one instance and does not count
    np.testing.assert_allclose(Performance("g_mean", y, classes)(told), [np.sqrt(2 / 3), np.sqrt(1 / 2)])
    asked = Performance(balanced_accuracy_score, y, classes)(told)
    np.testing.assert_allclose(asked, [np.mean([2 / 3, 1, 1]), np.mean([1, 1 / 2, 0])])
    for bad in (lambda a, b: np.nan, lambda a, b: "much", lambda a, b: None):
        with pytest.raises(InvalidDataError, match="one finite number"):
            Performance(bad, y, classes)(told)


def test_measures():
    assert g_mean(["x", "x", "y", "y"], ["x", "y", "y", "y"]) == pytest.approx(np.sqrt(0.5))
    assert g_mean([0, 1, 2], [0, 1, 1]) == 0
    assert g_mean([0, 0, 1, 1, 2, 2], [0, 1, 1, 0, 2, 0]) == pytest.approx(0.5)
    assert reduction_of(10, 10, of=(10, 10)) == 0  # paper 004, eq. 6
    assert reduction_of(1, 2, of=(10, 4)) == pytest.approx(0.95)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        g_mean([0, 1], [0])
    with pytest.raises(InvalidDataError, match="at least one"):
        g_mean([], [])


@pytest.mark.parametrize("bad", ["", "IS+", "XX", "is", ["IS", "PS"], [], 3, None])
def test_unknown_tasks(bad):
    with pytest.raises(InvalidDataError, match="non-empty choice of IS, FS, IW, FW"):
        parse_tasks(bad)


def test_a_task_named_twice():
    with pytest.raises(InvalidDataError, match="twice"):
        parse_tasks("IS+IS")


def estimators(tasks, estimator, seed=0, **options):
    X, y = table(21)
    genome = Genome(tasks, *X.shape)
    given = {"nominal": np.zeros(X.shape[1], dtype=bool), "n_jobs": 1, "cv": 2, "seed": seed, **options}
    return X, y, genome, EstimatorPredictor(genome, X, Target(y, np.unique(y)), estimator=estimator, **given)


def test_another_classifier_sees_scaled_columns_selected_rows_and_relevance():
    X, y, genome, predictor = estimators(TASKS, GaussianNB())
    people = genome.random(5, RNG(3))
    found = predictor.predict(people)
    w, v = genome.feature_weights(people)[:, 0], genome.instance_scales(people)
    s, t = genome.feature_mask(people), genome.instance_mask(people)
    for i in range(5):
        for train, test in predictor.folds:
            kept = [r for r in train if t[i, r]]
            if len(set(y[kept])) < 2:
                expected = [y[kept[0]]] * len(test)
            else:
                model = GaussianNB().fit((X * w[i])[kept][:, s[i]], y[kept], sample_weight=1 - v[i, kept])
                expected = model.predict((X * w[i])[test][:, s[i]])
            np.testing.assert_array_equal(found[i, test], expected)
    several = estimators(TASKS, GaussianNB(), n_jobs=3)[3].predict(people)
    np.testing.assert_array_equal(several, found)


def test_another_classifier_is_repeatable_though_its_seed_is_open():
    _, _, genome, predictor = estimators(("FS",), DecisionTreeClassifier(max_features=1))
    people = genome.random(3, RNG(0), density=1.0)
    np.testing.assert_array_equal(predictor.predict(people), predictor.predict(people))


def test_another_classifier_is_repeatable_though_the_seed_of_a_part_is_open():
    tree = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1))
    _, _, genome, predictor = estimators(("FS",), tree)
    people = genome.random(3, RNG(0), density=1.0)
    np.testing.assert_array_equal(predictor.predict(people), predictor.predict(people))
    assert tree.get_params()["decisiontreeclassifier__random_state"] is None  # what was given stays as it is
    fixed = estimators(("FS",), DecisionTreeClassifier(random_state=9))[3]
    assert fixed.estimator.random_state == 9


def test_what_another_classifier_cannot_do():
    for other in (LinearRegression(), StandardScaler()):
        with pytest.raises(InvalidDataError, match=f"must be a classifier.*{type(other).__name__}"):
            estimators(("FS",), other)
    with pytest.raises(InvalidDataError, match="takes sample_weight; KNeighborsClassifier does not"):
        estimators(("IW",), KNeighborsClassifier())
    with pytest.raises(InvalidDataError, match="categories have no multiples"):
        estimators(("FW",), GaussianNB(), nominal=np.ones(table(21)[0].shape[1], dtype=bool))
    with pytest.raises(InvalidDataError, match="cv=500 folds"):
        estimators(("FS",), GaussianNB(), cv=500)
    X, y = table(21)
    with pytest.raises(InvalidDataError, match="per_class"):
        EstimatorPredictor(
            Genome(("FW",), *X.shape, n_vectors=2), X, Target(y, np.unique(y)), estimator=GaussianNB(), cv=2, seed=0,
            nominal=np.zeros(X.shape[1], dtype=bool), n_jobs=1,
        )  # fmt: skip


def test_a_large_population_is_judged_in_parts(monkeypatch):
    from weighbors.weighers.evolution import fitness as module

    X, y = table(3)
    genome, fitness = judge(X, y, ("IS", "FW"), "g_mean")
    people = genome.random(30, RNG(0))
    whole = fitness(people)
    monkeypatch.setattr(module, "_CELLS", 1)
    np.testing.assert_array_equal(fitness(people).fitness, whole.fitness)
