"""ScoreWeigher beside the score functions of scikit-learn, and I-RELIEF of ranks."""

import warnings

import numpy as np
import pandas as pd
import pytest
from naive import scores as naive
from naive.relief import irelief
from scipy import sparse
from scipy.stats import ttest_ind
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import (
    SelectKBest,
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    r_regression,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from weighbors import IRelief, ScoreWeigher, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError
from weighbors.weighers.f_scores import f_of_classes, f_of_numbers
from weighbors.weighers.irelief import rank_columns
from weighbors.weighers.score import univariate_scores


def table(seed=0, n=40, p=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X[:, 1] + 0.5 * rng.normal(size=n) > 0, "yes", "no")


def test_two_classes_give_the_squared_t_statistic():
    X, y = table()
    wanted = ttest_ind(X[y == "yes"], X[y == "no"]).statistic ** 2
    np.testing.assert_allclose(ScoreWeigher().fit(X, y).feature_weights_, wanted)


@pytest.mark.parametrize("score", [f_classif, chi2], ids=lambda one: one.__name__)
def test_the_selection_is_that_of_scikit_learn(score):
    X, y = table()
    ours = ScoreWeigher(score, n_features_to_select=2).fit_transform(np.abs(X), y)
    assert np.array_equal(ours, SelectKBest(score, k=2).fit_transform(np.abs(X), y))


def test_numeric_targets():
    X, _ = table()
    y = X[:, 2] - X[:, 3]
    np.testing.assert_allclose(ScoreWeigher().fit(X, y).feature_weights_, f_regression(X, y)[0])
    np.testing.assert_allclose(ScoreWeigher(r_regression).fit(X, y).feature_weights_, np.abs(r_regression(X, y)))
    whole = np.round(3 * y).astype(int)  # looks like classes, but the function is made for numbers
    assert ScoreWeigher(f_regression).fit(X, whole).target_type_ == "numeric"
    forest = ScoreWeigher(RandomForestRegressor(10, random_state=0)).fit(X, whole)
    assert forest.target_type_ == "numeric"
    assert hasattr(forest.estimator_, "estimators_")


def test_estimators_with_importances_or_coefficients():
    X, y = table()
    forest = RandomForestClassifier(10, random_state=0)
    assert np.array_equal(
        ScoreWeigher(forest, n_jobs=1).fit(X, y).feature_weights_, forest.fit(X, y).feature_importances_
    )
    linear = LogisticRegression()
    assert np.array_equal(ScoreWeigher(linear).fit(X, y).feature_weights_, np.abs(linear.fit(X, y).coef_[0]))
    assert WeightedKNeighborsClassifier(3, ScoreWeigher(linear)).fit(X, y).score(X, y) > 0.8


def test_constant_and_perfect_features_have_finite_scores():
    X, y = table()
    X[:, 0], X[:, 5] = 1.0, y == "yes"
    found = ScoreWeigher().fit(X, y).feature_weights_
    assert found[0] == 0
    assert found[5] == 2 * found[1:5].max()


def test_missing_values_are_left_out_per_feature():
    X, y = table()
    X[:7, 2], X[3:5, 4], X[:7, 5], X[y == "yes", 3] = np.nan, np.nan, np.nan, np.nan
    found = ScoreWeigher().fit(X, y).feature_weights_
    for j in (0, 1, 2, 4, 5):
        known = ~np.isnan(X[:, j])
        assert found[j] == pytest.approx(f_classif(X[known][:, [j]], y[known])[0][0])
    assert found[3] == 0  # one class alone is known


def test_categories():
    X, y = table()
    colour = np.random.default_rng(1).choice(["red", "green", "blue"], 40)
    colour[:12] = np.where(y[:12] == "yes", "red", "blue")
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(colour=pd.Categorical(colour))
    frame.loc[:2, "colour"] = None
    found = ScoreWeigher().fit(frame, y).feature_weights_
    np.testing.assert_allclose(found[:6], f_classif(X, y)[0])
    known = np.arange(40) > 2
    each = [
        f_classif((colour[known] == one)[:, None].astype(float), y[known])[0][0] for one in ("red", "green", "blue")
    ]
    assert found[6] == pytest.approx(max(each))
    told = ScoreWeigher(lambda X, y, discrete_features: discrete_features * 1.0).fit(frame.drop(index=range(3)), y[3:])
    assert told.feature_weights_.tolist() == [0] * 6 + [1]
    assert ScoreWeigher(mutual_info_classif).fit(frame, y).feature_weights_.shape == (7,)


def test_sparse_rows():
    X, y = table()
    rows = sparse.csr_matrix(np.where(X > 0, X, 0))
    np.testing.assert_allclose(
        ScoreWeigher().fit(rows, y).feature_weights_, ScoreWeigher().fit(rows.toarray(), y).feature_weights_
    )


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (chi2, "chi2 cannot score these features: .*non-negative"),
        (lambda X, y: np.ones(2), r"<lambda> gives scores of shape \(2,\); one per feature \(6\)"),
        (KNeighborsClassifier(), "ScoreWeigher needs .* after fit: KNeighborsClassifier has none"),
        ("f", "score_func"),
    ],
)
def test_bad_scores(score, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        ScoreWeigher(score).fit(X, y)


def test_ranks_of_columns():
    X = np.array([[3.0, 1.0], [1.0, np.nan], [3.0, 0.0], [9.0, 2.0]])
    found = rank_columns(X, np.array([False, False]))
    np.testing.assert_allclose(found, [[0.5, 0.5], [0.0, np.nan], [0.5, 0.0], [1.0, 1.0]])
    assert np.array_equal(rank_columns(X, np.array([True, True])), X, equal_nan=True)
    assert rank_columns(X.astype(np.float32), np.array([False, False])).dtype == np.float32


def test_irelief_of_ranks_equals_loops():
    X, y = table(p=4)
    ranks = np.array([[np.sum(X[:, j] < X[i, j]) / (len(X) - 1) for j in range(4)] for i in range(len(X))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = IRelief(2.0, scale="rank", max_iter=3, tol=0).fit(X, y)
    np.testing.assert_allclose(found.feature_weights_, irelief(ranks, y, 2.0, 3))


def test_irelief_of_ranks_does_not_see_monotone_changes():
    X, y = table(p=4)
    ranks = IRelief(scale="rank").fit(X, y).feature_weights_
    np.testing.assert_allclose(IRelief(scale="rank").fit(np.exp(3 * X), y).feature_weights_, ranks)
    np.testing.assert_allclose(IRelief().fit(rank_columns(X, np.zeros(4, dtype=bool)), y).feature_weights_, ranks)


def test_irelief_of_both_is_the_mean_of_the_unit_vectors():
    X, y = table(p=4)
    total = IRelief().fit(X, y).feature_weights_ + IRelief(scale="rank").fit(X, y).feature_weights_
    found = IRelief(scale="both").fit(X, y)
    np.testing.assert_allclose(found.feature_weights_, total / np.linalg.norm(total))
    assert found.n_iter_ >= 1


@pytest.mark.parametrize("seed", range(5))
def test_f_scores_of_all_columns_at_once_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = 5 + rng.normal(size=(40, 30))
    X[rng.random(X.shape) < 0.2] = np.nan
    y, target = rng.integers(0, 3, 40), rng.normal(size=40)
    for j in range(30):
        known = ~np.isnan(X[:, j])
        expected = f_classif(X[known, j : j + 1], y[known])[0][0]
        assert f_of_classes(X, y)[j] == pytest.approx(expected, rel=1e-7)
        expected = f_regression(X[known, j : j + 1], target[known])[0][0]
        assert f_of_numbers(X, target)[j] == pytest.approx(expected, rel=1e-7)


def test_f_scores_that_are_not_defined_are_0():
    X = np.array([[0.1, np.nan, np.nan, 5], [0.1, np.nan, 2.0, 6], [0.1, 3.0, np.nan, np.nan], [0.1, 4.0, np.nan, 7]])
    for score, y in ((f_classif, np.array([0, 0, 1, 1])), (f_regression, np.array([0.0, 0.0, 1.0, 2.0]))):
        found = univariate_scores(score, X, y)
        assert found[0] == 0.0  # constant
        assert found[2] == 0.0  # known in one row
        assert np.isfinite(found).all()


# --- the F-statistic with an offset


def wide_table(seed=0, n=30, p=120, scatter=0.5):
    """Columns of different deviations, the first five related to the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :5] += 1.5 * y[:, None]
    return X * np.exp(scatter * rng.normal(size=p)), y


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("numeric", [False, True], ids=["classes", "numeric"])
def test_the_offset_is_that_of_the_loops(seed, numeric):
    rng = np.random.default_rng(seed)
    X = 3 + rng.normal(size=(25, 40)) * np.exp(rng.normal(size=40))
    X[rng.random(X.shape) < 0.1 * (seed % 2)] = np.nan
    y = rng.normal(size=25) if numeric else np.arange(25) % 3
    expected = naive.moderated_f(X.T.tolist(), y.tolist(), numeric=numeric, share=0.6)
    found = ScoreWeigher(offset=0.6).fit(X, y)
    np.testing.assert_allclose(found.feature_weights_, expected, rtol=1e-9)
    assert found.offset_ == 0.6


def test_two_classes_give_the_squared_statistic_of_sam():
    X, y = wide_table()
    one, other = X[y == 0], X[y == 1]
    deviation = np.sqrt((one.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / 2)
    difference = (one.mean(axis=0) - other.mean(axis=0)) * np.sqrt(15 / 2)
    expected = np.square(difference / (deviation + np.quantile(deviation, 0.75)))
    usual = (deviation > np.quantile(deviation, 0.05)) & (deviation < np.quantile(deviation, 0.95))
    found = ScoreWeigher(offset=0.75).fit(X, y).feature_weights_
    np.testing.assert_allclose(found[usual], expected[usual])


def test_auto_takes_the_offset_only_if_columns_are_on_one_scale():
    X, y = wide_table()
    plain = ScoreWeigher().fit(X, y).feature_weights_
    auto = ScoreWeigher(offset="auto").fit(X, y)
    assert auto.offset_ == 0.75
    np.testing.assert_array_equal(auto.feature_weights_, ScoreWeigher(offset=0.75).fit(X, y).feature_weights_)
    units = 10.0 ** np.random.default_rng(1).integers(-4, 4, X.shape[1])
    frame = pd.DataFrame(X).rename(columns=str).assign(sex=pd.Categorical(np.array(["f", "m"])[y]))
    for table, wanted in ((X * units, plain), (X[:, :99], plain[:99]), (sparse.csr_array(X), plain), (frame, None)):
        other = ScoreWeigher(offset="auto").fit(table, y)
        assert other.offset_ is None
        if wanted is not None:
            np.testing.assert_allclose(other.feature_weights_, wanted)


def test_the_unit_of_the_table_does_not_matter_and_standardised_columns_have_the_order_of_f():
    X, y = wide_table()
    expected = ScoreWeigher(offset=0.75).fit(X, y).feature_weights_
    np.testing.assert_allclose(ScoreWeigher(offset=0.75).fit(1e6 * X, y).feature_weights_, expected)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.argsort(ScoreWeigher(offset=0.75).fit(Z, y).feature_weights_)
    assert np.array_equal(order, np.argsort(ScoreWeigher().fit(Z, y).feature_weights_))


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_a_single_column_in_another_unit_is_neither_lost_nor_far_ahead(unit):
    X, y = wide_table(scatter=0.2)
    plain = ScoreWeigher().fit(X, y).feature_weights_
    for column in (0, 50):  # one that is related to the class, and one that is not
        other = X.copy()
        other[:, column] *= unit
        found = ScoreWeigher(offset="auto").fit(other, y)
        assert found.offset_ == 0.75
        share = found.feature_weights_ / plain
        assert share.min() / 1.0001 <= share[column] <= share.max() * 1.0001
        assert share.max() / share.min() < 4
        assert (found.feature_weights_.argsort()[::-1][:5] < 5).sum() >= 4


def test_constant_and_separated_columns_with_an_offset():
    X, y = wide_table()
    X[:, 7], X[:, 8] = 3.0, y  # constant; and constant within classes, with an infinite F-statistic
    found = ScoreWeigher(offset="auto").fit(X, y).feature_weights_
    assert found[7] == 0
    assert found.argmax() == 8
    assert np.isfinite(found).all()


def test_an_offset_that_has_no_meaning_is_an_error():
    X, y = wide_table()
    with pytest.raises(InvalidDataError, match="is for the F-statistic"):
        ScoreWeigher(chi2, offset="auto").fit(np.abs(X), y)
    frame = pd.DataFrame(X).assign(sex=pd.Categorical(np.array(["f", "m"])[y]))
    with pytest.raises(InvalidDataError, match="1 columns hold categories"):
        ScoreWeigher(offset=0.5).fit(frame.rename(columns=str), y)
    with pytest.raises(ValueError, match="offset"):
        ScoreWeigher(offset=1.5).fit(X, y)
