"""Numeric targets: folds, stability, permutation p-values and prediction stability."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import GradientWeights, LearnedVotesRegressor, ReliefF, RReliefF
from weighbors.evaluation import permutation_test, prediction_stability, stability_curve
from weighbors.evaluation.folds import make_folds, quantile_bins
from weighbors.evaluation.targets import decide_target_type, expected_target
from weighbors.exceptions import InvalidDataError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 5))
Y = 2 * X[:, 1] - X[:, 3] + 0.3 * RNG.normal(size=80)


def correlations(X, y):
    """A weigher that looks at each feature alone."""
    return np.abs(np.corrcoef(np.column_stack([X, y]), rowvar=False)[-1, :-1])


class Told(BaseEstimator):
    """Records what it was told of the target, and the targets it saw."""

    seen: list = []  # noqa: RUF012

    def __init__(self, target_type="auto"):
        self.target_type = target_type

    def fit(self, X, y):
        Told.seen.append((self.target_type, np.asarray(y)))
        self.feature_weights_ = np.arange(X.shape[1], dtype=float)
        return self


def seeds():
    return np.random.SeedSequence(0)


def test_bins_by_hand():
    assert quantile_bins(np.array([5.0, 1, 2, 3, 4, 6]), 3).tolist() == [2, 0, 0, 1, 1, 2]
    # Equal values share a bin: the four zeros have rank 0, and 1 and 2 have ranks 4 and 5 of 6.
    assert quantile_bins(np.array([0.0, 0, 0, 0, 1, 2]), 2).tolist() == [0, 0, 0, 0, 1, 1]
    assert quantile_bins(np.array([7.0, 7, 3]), 5).tolist() == [1, 1, 0]


def test_every_fold_has_low_and_high_targets():
    y = RNG.lognormal(sigma=2, size=103)
    folds = make_folds(5, X, y, seeds=seeds(), n_repeats=2, numeric=True)
    assert [len(repetition) for repetition in folds] == [5, 5]
    bins = quantile_bins(y, 10)
    for _, test in folds[0] + folds[1]:
        counts = np.bincount(bins[test], minlength=10)
        assert counts.min() >= 1 and counts.max() <= 3  # noqa: PT018
    assert sorted(np.concatenate([test for _, test in folds[0]])) == list(range(103))
    assert not np.array_equal(folds[0][0][1], folds[1][0][1])


def test_few_values_give_the_folds_of_classes():
    y = RNG.integers(0, 4, 60)
    ours = make_folds(4, None, y, seeds=seeds(), numeric=True)[0]
    theirs = make_folds(4, None, y, seeds=seeds())[0]
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one[1], other[1])


def test_groups_stay_together():
    groups = np.repeat(np.arange(20), 4)
    for train, test in make_folds(4, X, Y, groups, seeds=seeds(), numeric=True)[0]:
        assert not set(groups[train]) & set(groups[test])


def test_more_folds_than_rows():
    with pytest.raises(InvalidDataError, match="cv=10 folds need at least as many rows; got 8"):
        make_folds(10, X[:8], Y[:8], seeds=seeds(), numeric=True)


@pytest.mark.parametrize("weigher", [correlations, Lasso(0.1), make_pipeline(StandardScaler(), LinearRegression())])
def test_stability_of_weights_for_a_number(weigher):
    curve = stability_curve(weigher, X, Y, cv=5)
    assert curve.frequencies(2).head(2).to_dict() == {"x1": 1.0, "x3": 1.0}
    assert curve.stability[1] == pytest.approx(1.0)


def test_weighers_and_knn_for_a_number_and_any_number_of_jobs():
    weigher = GradientWeights(gamma=1.0)
    curves = [stability_curve(weigher, X, Y, cv=3, n_jobs=jobs) for jobs in (1, 2)]
    np.testing.assert_array_equal(curves[0].weights, curves[1].weights)
    assert set(curves[0].frequencies(2).index[:2]) == {"x1", "x3"}
    votes = stability_curve(LearnedVotesRegressor(weigher=GradientWeights(gamma=1.0), width=1.0, ridge=0.1), X, Y, cv=2)
    assert votes.weights.shape == (2, 5)


def test_models_are_told_what_the_target_is():
    y = np.append(np.repeat([1.0, 2.0, 3.0, 4.0], 5), 0.5)  # whole numbers in every fold that lacks the last row
    rows = np.arange(42.0).reshape(21, 2)
    Told.seen.clear()
    stability_curve(make_pipeline(StandardScaler(), Told()), rows, y, cv=3)
    assert [kind for kind, _ in Told.seen] == ["numeric"] * 3
    Told.seen.clear()
    permutation_test(Told("classes"), rows, y, n_permutations=39)
    assert {kind for kind, _ in Told.seen} == {"classes"}  # the user has decided
    Told.seen.clear()
    whole = np.repeat([1.0, 2.0, 3.0], 7)
    stability_curve(Told(), rows, whole, cv=3)
    stability_curve(Told(), rows, whole, cv=3, target_type="numeric")
    stability_curve(Told(), rows, whole.astype(int), cv=3)
    assert [kind for kind, _ in Told.seen] == ["classes"] * 3 + ["numeric"] * 3 + ["auto"] * 3


def test_what_a_model_expects():
    assert expected_target(LinearRegression()) == "numeric"
    assert expected_target(make_pipeline(StandardScaler(), GradientWeights(target_type="classes"))) == "classes"
    assert expected_target(GradientWeights()) is None
    assert expected_target(make_pipeline(StandardScaler(), RReliefF())) == "numeric"
    assert expected_target(ReliefF()) is None
    assert expected_target(correlations) is None
    assert decide_target_type([1, 2, 3], "auto", expected_target(Lasso())) == "numeric"


@pytest.mark.parametrize("function", [stability_curve, permutation_test])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([np.inf, *Y[1:]], "infinity"),
        ([np.nan, *Y[1:]], "missing"),
        ([0.5] * 80, "constant"),
        ([str(value) for value in Y], "text that looks like a numeric target"),
    ],
)
def test_targets_that_cannot_be_used(function, y, message):
    with pytest.raises(InvalidDataError, match=message):
        function(correlations, X, y)


@pytest.mark.parametrize("function", [stability_curve, permutation_test])
@pytest.mark.parametrize("y", [None, np.c_[Y, Y]])
def test_one_target_per_row_is_needed(function, y):
    with pytest.raises(InvalidDataError, match="Give one label or number per row"):
        function(correlations, X, y)


def test_whole_numbers_that_are_no_classes_are_named_with_the_switch():
    with pytest.raises(InvalidDataError, match=r"cv=3 .* the largest of 80 classes has 1\. .* target_type='numeric'"):
        stability_curve(correlations, X, np.arange(80), cv=3)
    stability_curve(correlations, X, np.arange(80), cv=3, target_type="numeric")


def test_one_row_and_unknown_type():
    with pytest.raises(InvalidDataError, match="at least 2 rows"):
        stability_curve(correlations, X[:1], Y[:1])
    with pytest.raises(InvalidDataError, match="target_type must be"):
        permutation_test(correlations, X, Y, target_type="number")
    with pytest.raises(InvalidDataError, match="(use|Use) (a regressor|RReliefF)"):
        stability_curve(ReliefF(), X, Y)


def test_relevant_features_are_found():
    found = permutation_test(correlations, X, Y, n_permutations=99)
    assert found.discoveries() == ["x1", "x3"]
    assert "targets exchanged between rows" in repr(found)


def test_groups_of_a_number():
    groups = np.repeat(np.arange(40), 2)
    same = np.repeat(RNG.normal(size=40), 2)
    assert permutation_test(correlations, X, same, groups=groups, n_permutations=39).scheme == (
        "targets exchanged between whole groups"
    )
    assert "within groups" in permutation_test(correlations, X, Y, groups=groups, n_permutations=39).scheme


def test_p_values_of_noise_are_uniform():
    rng = np.random.default_rng(1)
    p = []
    for _ in range(120):
        found = permutation_test(
            correlations, rng.normal(size=(25, 2)), rng.exponential(size=25), n_permutations=39, null="feature",
            level=0.5, random_state=rng.integers(1 << 30),
        )  # fmt: skip
        p.append(found.p_values[0])
    # p-values are multiples of 1/40: a uniform shift below them makes their distribution continuous.
    assert kstest(np.array(p) - rng.random(120) / 40, "uniform").pvalue > 0.01
    assert np.mean(np.array(p) <= 0.1) < 0.2


def test_prediction_stability_by_hand():
    found = prediction_stability([[1.5, 4.0, np.nan], [3.5, 4.0, 2.0]], [1.0, 3.0, 5.0])
    # deviations of (1.5, 3.5) and (4, 4): sqrt(2) and 0; the standard deviation of y is 2
    np.testing.assert_allclose(found.per_instance, [np.sqrt(2), 0, np.nan])
    assert found.deviation == pytest.approx(np.sqrt(2) / 2)
    assert found.relative == pytest.approx(np.sqrt(2) / 4)
    assert (found.n_runs, found.n_instances) == (2, 3)
    assert "1 of them predicted less than twice" in repr(found)
    assert found.frame()["spread"].item() == 2.0


def test_prediction_stability_without_the_target():
    frame = pd.DataFrame([[1.5, 4.5], [2.5, 4.5]])
    found = prediction_stability(frame)
    assert found.spread == pytest.approx(np.std([2.0, 4.5], ddof=1))
    flat = prediction_stability([[1.5, 1.5], [1.5, 1.5]])
    assert np.isnan(flat.relative) and "does not vary" in flat.reason  # noqa: PT018


def test_labels_stay_labels():
    assert prediction_stability([[0.0, 1.0, np.nan], [0.0, 1.0, 1.0]]).agreement == 1.0
    assert prediction_stability([[1, 2], [1, 3]]).agreement == 0.5
    assert prediction_stability([[1, 2], [1, 3]], target_type="numeric").deviation == pytest.approx(np.sqrt(0.5) / 2)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1.5, np.inf], [1.0, 2.0]],), {}, "must be finite"),
        (([["a", "b"], ["a", "b"]],), {"target_type": "numeric"}, "must be numbers"),
        (([[1.5, 2.5], [1.0, 2.0]], [1.0]), {}, "one number per instance"),
        (([[1.5, 2.5], [1.0, 2.0]], [1.0, np.nan]), {}, "missing values"),
        (([[1.5, np.nan], [np.nan, 2.0]],), {}, "two runs"),
        (([[1.5, 2.5]],), {}, "at least 2 are needed"),
        (([["a"], ["b"]], [1.0]), {"target_type": "classes"}, "goes with predicted numbers"),
    ],
)
def test_predictions_that_cannot_be_compared(arguments, options, message):
    with pytest.raises(InvalidDataError, match=message):
        prediction_stability(*arguments, **options)
