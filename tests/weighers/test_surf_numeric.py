"""The SURF family and TuRF with numeric targets, against an oracle by loops and scikit-rebate."""

import numpy as np
import pytest
from naive import relief_numeric as naive
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso
from support.numeric_tables import numeric_table

from weighbors import SURF, MultiSURF, MultiSURFStar, ReliefF, RReliefF, SURFStar, TuRF
from weighbors.exceptions import InvalidDataError, NumericTargetWarning
from weighbors.tables.coded import CodedTable
from weighbors.tables.targets import Target
from weighbors.tables.validation import TableCoder
from weighbors.weighers.rows import Instances
from weighbors.weighers.surf import hit_ranges, surf_scores

RNG = np.random.default_rng
FAMILY = {
    SURF: {"multi": False, "star": False},
    SURFStar: {"multi": False, "star": True},
    MultiSURF: {"multi": True, "star": False},
    MultiSURFStar: {"multi": True, "star": True},
}
pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")


@pytest.mark.parametrize("cls", FAMILY, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("seed", range(40))
def test_numeric_targets_equal_the_oracle(seed, cls):
    X, y, nominal, weight = numeric_table(seed)
    found = cls(target_type="numeric", categorical_features=nominal).fit(X, y, sample_weight=weight)
    expected = naive.surf(X, y, nominal=nominal, weight=weight, **FAMILY[cls])
    np.testing.assert_allclose(found.feature_weights_, expected, rtol=0, atol=1e-9)
    assert found.target_type_ == "numeric"


@pytest.mark.parametrize(("n", "m"), [(64, 3), (65, 4), (700, 37)])
@pytest.mark.parametrize("cls", FAMILY, ids=lambda cls: cls.__name__)
def test_sums_over_zones_equal_those_by_coefficients(n, m, cls):
    # a constant category makes the table mixed: that way every pair has its coefficient
    rng = RNG(n)
    X, y, weight = rng.normal(size=(n, m)), np.sort(rng.normal(size=n)), rng.random(n)
    table = CodedTable(
        X, TableCoder(nominal=np.zeros(m, bool)), Target(np.zeros(n, dtype=np.int64), np.zeros(0), y), weight
    )
    plain = Instances(X, table.nominal, scaled=True, p=1, n_jobs=2)
    mixed = Instances(np.c_[X, np.ones(n)], np.arange(m + 1) == m, scaled=True, p=1, n_jobs=1)
    assert plain.plain
    assert not mixed.plain
    expected = surf_scores(mixed, table, **FAMILY[cls])[:m]
    np.testing.assert_allclose(surf_scores(plain, table, **FAMILY[cls]), expected, rtol=1e-11, atol=1e-14)


def test_two_classes_far_apart_are_two_targets_far_apart():
    # The standard deviation of 0 and 1, half of each, is 1/2: hits are the rows of the same class.
    rng = RNG(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    for cls in FAMILY:
        expected = cls(target_type="classes").fit(X, y).feature_weights_
        np.testing.assert_allclose(
            cls(target_type="numeric").fit(X, 7 + 3 * y).feature_weights_, expected, rtol=0, atol=1e-12
        )


def test_hits_are_the_rows_within_a_standard_deviation():
    y = np.array([0.0, 1.0, 2.0, 9.0])
    deviation, found = y.std(ddof=1), hit_ranges(y)
    for i, v in enumerate(y):
        hits = np.flatnonzero(np.abs(y - v) < deviation)
        assert found[i].tolist() == [hits[0], hits[-1] + 1]
    # Differences that equal the deviation up to rounding are misses: here the deviation is 0.2, as two differences are.
    equal = np.array([0.1, 0.3, 0.5]) + 0.7
    np.testing.assert_array_equal(hit_ranges(equal), [[0, 1], [1, 2], [2, 3]])
    assert hit_ranges(np.sort(RNG(0).normal(size=9)) + 1e9).shape == (9, 2)


def test_scores_are_those_of_scikit_rebate():
    skrebate = pytest.importorskip("skrebate")
    X, y = load_diabetes(return_X_y=True)
    # Without the sex: beside categories, scikit-rebate counts differences of numbers above a deviation as 1.
    X, y = np.delete(X[:150], 1, axis=1), y[:150]
    for theirs, mine in ((skrebate.MultiSURF, MultiSURF), (skrebate.MultiSURFstar, MultiSURFStar)):
        np.testing.assert_allclose(
            mine().fit(X, y).feature_weights_, theirs().fit(X, y).feature_importances_, atol=1e-9
        )
    for theirs, mine in ((skrebate.SURF, SURF), (skrebate.SURFstar, SURFStar)):
        found, expected = mine().fit(X, y).feature_weights_, theirs().fit(X, y).feature_importances_
        assert np.abs(found - expected).max() < 0.003  # its mean distance counts each row's distance 0 to itself


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.LonelyClassWarning")
def test_what_auto_takes_is_said():
    X = RNG(0).normal(size=(60, 3))
    assert MultiSURF().fit(X, np.arange(60) % 3).target_type_ == "classes"
    found = MultiSURF().fit(X, X[:, 0])
    assert (found.target_type_, hasattr(found, "classes_")) == ("numeric", False)
    assert "a number to predict: 60 different values" in found.target_statement_
    Z = np.repeat(X, 2, axis=0)
    with pytest.warns(NumericTargetWarning, match="target_type='numeric'"):
        SURF().fit(Z, np.r_[np.arange(61), np.arange(59)])
    for y, told in (([np.inf] * 30 + [0.5] * 30, "infinity"), (X[:, 0].astype(str), "text that looks like a numeric")):
        with pytest.raises(InvalidDataError, match=told):
            SURF().fit(X, y)
    with pytest.raises(InvalidDataError, match="constant"):
        SURF(target_type="numeric").fit(X, np.ones(60))


def test_turf_with_numeric_targets():
    rng = RNG(0)
    X = rng.normal(size=(300, 30))
    y = X[:, 3] * X[:, 7] + 0.1 * rng.normal(size=300)
    found = TuRF(n_features_to_select=2).fit(X, y)
    assert found.get_support(indices=True).tolist() == [3, 7]
    assert found.target_type_ == "numeric"
    same = TuRF(RReliefF(), n_features_to_select=2).fit(X, y)
    np.testing.assert_array_equal(same.feature_weights_, found.feature_weights_)
    last = RReliefF().fit(X[:, [3, 7]], y).feature_weights_
    np.testing.assert_array_equal(found.feature_weights_[[3, 7]], last)
    whole = np.round(10 * y).astype(int)
    assert TuRF(RReliefF(), n_features_to_select=2).fit(X, whole).target_type_ == "numeric"  # it takes nothing else
    assert TuRF(MultiSURF(), n_features_to_select=2).fit(X, y).get_support(indices=True).tolist() == [3, 7]
    assert TuRF(Lasso(0.1), n_features_to_select=2).fit(X, X[:, 5] + X[:, 6]).get_support(indices=True).tolist() == [
        5,
        6,
    ]
    with pytest.raises(InvalidDataError, match="ReliefF needs classes, and the target is numeric. Use RReliefF"):
        TuRF(ReliefF()).fit(X, y)
