"""Curves of stability."""

import naive.stability as naive
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import ReliefF, Simba, WeightedKNeighborsClassifier
from weighbors.evaluation import kuncheva_curve, kuncheva_index, nogueira_stability, stability_curve
from weighbors.exceptions import InvalidDataError

X, Y = make_classification(90, 7, n_informative=3, n_redundant=0, n_clusters_per_class=1, shuffle=False, random_state=1)


@pytest.mark.parametrize("seed", range(4))
def test_the_curve_is_the_index_of_every_size(seed):
    weights = np.random.default_rng(seed).integers(0, 6, (5, 12)) / 4  # with ties
    curve = kuncheva_curve(weights)
    assert curve.sizes.tolist() == list(range(1, 12))
    for k, index, error in zip(curve.sizes, curve.stability, curve.standard_error, strict=True):
        sets = naive.top(weights, k)
        assert index == pytest.approx(naive.of_pairs("kuncheva", sets, 12))
        assert index == pytest.approx(kuncheva_index(sets, 12))
        assert error == pytest.approx(nogueira_stability(sets, 12).standard_error, abs=1e-12)


def test_some_sizes_and_repetitions():
    weights = np.random.default_rng(0).random((6, 8))
    both = kuncheva_curve(weights, [2, 5], repetition=[0, 0, 0, 1, 1, 1])
    parts = [kuncheva_curve(part, [2, 5]) for part in (weights[:3], weights[3:])]
    np.testing.assert_allclose(both.stability, np.mean([part.stability for part in parts], axis=0))
    assert both.sizes.tolist() == [2, 5]
    assert both.mean(up_to=2) == both.stability[0]


def test_ties_are_counted():
    curve = kuncheva_curve([[3.0, 1, 1, 0], [3.0, 2, 1, 0]])
    assert curve.tied.tolist() == [0, 0.5, 0]
    assert "ties decide" in repr(curve)


def test_frequencies():
    curve = kuncheva_curve([[3.0, 1, 2], [3.0, 2, 1]], feature_names=["a", "b", "c"])
    assert curve.frequencies(2).to_dict() == {"a": 1.0, "b": 0.5, "c": 0.5}
    assert curve.frame().columns.tolist() == ["size", "stability", "standard_error", "tied"]


class Recorder(ReliefF):
    """Remembers the rows each fit sees."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Recorder.seen.append(frozenset(np.asarray(X)[:, 0].tolist()))
        return super().fit(X, y)


def test_folds_are_fitted_to_their_training_rows_only():
    Recorder.seen = []
    folds = list(KFold(3).split(X))
    stability_curve(Recorder(), X, Y, folds)
    assert Recorder.seen == [frozenset(X[train, 0].tolist()) for train, _ in folds]


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_patients_stay_together():
    patients = np.repeat(np.arange(30), 3)
    Recorder.seen = []
    stability_curve(Recorder(), X, Y, 5, groups=patients)
    for rows in Recorder.seen:
        inside = np.isin(X[:, 0], list(rows)).reshape(30, 3)
        assert (inside.all(axis=1) | ~inside.any(axis=1)).all()
    with pytest.raises(InvalidDataError, match="group .* is in the training and in the test part"):
        stability_curve(ReliefF(), X, Y, KFold(4), groups=patients)


def test_the_seed_decides_everything():
    one = stability_curve(Simba(), X, Y, 4, n_repeats=2, random_state=3)
    again = stability_curve(Simba(), X, Y, 4, n_repeats=2, random_state=3, n_jobs=2)
    other = stability_curve(Simba(), X, Y, 4, n_repeats=2, random_state=4)
    assert one.weights.tobytes() == again.weights.tobytes()
    assert not np.array_equal(one.weights, other.weights)
    assert one.repetition.tolist() == [0] * 4 + [1] * 4
    repeated = stability_curve(Simba(), X, Y, RepeatedStratifiedKFold(n_splits=4, n_repeats=2), random_state=3)
    assert repeated.repetition.tolist() == [0] * 4 + [1] * 4


def test_a_given_random_state_is_kept():
    runs = [
        stability_curve(Simba(random_state=5), X, Y, [(np.arange(60), np.arange(60, 90))] * 2, random_state=s)
        for s in (0, 1)
    ]
    assert runs[0].weights.tobytes() == runs[1].weights.tobytes()
    np.testing.assert_allclose(runs[0].stability, 1)


@pytest.mark.parametrize(
    "weigher",
    [
        make_pipeline(StandardScaler(), ReliefF()),
        WeightedKNeighborsClassifier(3, ReliefF()),
        RandomForestClassifier(5),
        LogisticRegression(),
        SelectKBest(f_classif, k=2),
        lambda X, y: f_classif(X, y)[0],
    ],
)
def test_anything_that_weighs_features(weigher):
    names = [f"gene {j}" for j in range(7)]
    curve = stability_curve(weigher, pd.DataFrame(X, columns=names), Y, 3)
    assert curve.weights.shape == (3, 7)
    assert curve.feature_names == tuple(names)
    assert curve.frequencies(3).index[0] in names[:3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kuncheva_curve([[1.0, 2.0]]), "at least 2 are needed"),
        (lambda: kuncheva_curve([[1.0], [2.0]]), "at least 2 features"),
        (lambda: kuncheva_curve([[1.0, 2], [2.0, 1]], [2]), "from 1 to 1"),
        (lambda: kuncheva_curve([[1.0, 2], [2.0, 1]], repetition=[0, 1]), "at least 2 runs in each"),
        (lambda: kuncheva_curve(X[:4], [3]).mean(up_to=2), "no size of at most 2"),
        (lambda: kuncheva_curve(X[:4]).frequencies(9), "between 1 and 7"),
        (lambda: stability_curve(ReliefF(), X, Y, 1), "at least 2 folds"),
        (lambda: stability_curve(ReliefF(), X, Y, "ten"), "cv must be a number of folds"),
        (lambda: stability_curve(ReliefF(), X, Y, None), "cv must be a number of folds"),
        (lambda: stability_curve(ReliefF(), X, Y, KFold(3), n_repeats=2), "n_repeats goes with a number"),
        (lambda: stability_curve(ReliefF(), X, Y, [([0, 1], [1, 2])]), "row 1 is in the training and in the test"),
        (lambda: stability_curve(ReliefF(), X, Y, [([0, 1], [90])]), "rows from 0 to 89"),
        (lambda: stability_curve(ReliefF(), X, Y, []), "no folds"),
        (lambda: stability_curve(StandardScaler(), X, Y, 3), "has no weights for its features"),
        (lambda: stability_curve(lambda X, y: [1.0, 2.0], X, Y, 3), "shape \\(2,\\) for 7 features"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidDataError, match=message):
        call()
