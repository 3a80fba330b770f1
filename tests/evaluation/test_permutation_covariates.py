"""Permutation tests that hold covariates fixed: the schemes, their type-I error, and bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, kstest
from sklearn.feature_selection import f_classif

from weighbors import NPDR, ReliefF
from weighbors.evaluation import permutation_test
from weighbors.exceptions import InvalidDataError, UnusedCovariateWarning
from weighbors.tables.covariates import check_covariates, independent_columns
from weighbors.weighers.permutations import ResidualPermuter, StrataPermuter, SwapPermuter, choose_permuter

pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.FewPermutationsWarning")
rng = np.random.default_rng(0)
AGE = rng.normal(size=150)
Y = (AGE + rng.logistic(size=150) > 0).astype(int)
X = rng.normal(size=(150, 5))
X[:, 1] += 2 * AGE


def f_values(X, y):
    return f_classif(X, y)[0]


def sizes_of_correlations(X, y):
    return np.abs((y - y.mean()) @ (X - X.mean(axis=0)) / X.std(axis=0))


# --- schemes ----------------------------------------------------------------------------------------------------


def test_categories_are_exchanged_within_rows_of_equal_covariates():
    table = pd.DataFrame({"sex": np.tile(["f", "m"], 75), "site": np.repeat(["a", "b", "c"], 50)})
    permuter = choose_permuter(Y, numeric=False, covariates=check_covariates(table, 150))
    assert isinstance(permuter, StrataPermuter)
    drawn = permuter.draw(np.random.default_rng(0))
    assert (drawn != Y).any()
    for _, rows in table.groupby(["sex", "site"]):
        assert sorted(drawn[rows.index]) == sorted(Y[rows.index])


def test_residuals_of_numbers_are_exchanged():
    y = 3 * AGE + rng.normal(size=150)
    covariates = check_covariates(np.column_stack([AGE, AGE**2, 2 * AGE]), 150)  # the last one adds nothing
    permuter = choose_permuter(y, numeric=True, covariates=covariates)
    assert isinstance(permuter, ResidualPermuter)
    design = np.column_stack([np.ones(150), AGE, AGE**2])
    fitted = design @ np.linalg.solve(design.T @ design, design.T @ y)
    drawn = permuter.draw(np.random.default_rng(0))
    # Permuted residuals have the size of the original ones, and are unrelated to the covariates, too.
    np.testing.assert_allclose(np.linalg.norm(drawn - fitted), np.linalg.norm(y - fitted))
    np.testing.assert_allclose(design.T @ (drawn - fitted), 0, atol=1e-9)
    assert np.abs(drawn - y).max() > 1


def test_swaps_draw_each_permutation_by_its_likelihood():
    # Four rows, two labels of each kind: six arrangements, whose probabilities are known in full.
    y = np.array([0, 0, 1, 1])
    permuter = SwapPermuter(y, check_covariates([1.0, 4.0, 2.0, 3.0], 4), np.random.default_rng(9))
    permuter.log_probability = np.log(np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.5, 0.5]]))
    random, n = np.random.default_rng(1), 4000
    drawn = np.array([permuter.draw(random) for _ in range(n)])
    arrangements = [a for a in np.ndindex(2, 2, 2, 2) if sum(a) == 2]
    likelihood = np.array([np.exp(permuter.log_probability[range(4), list(a)].sum()) for a in arrangements])
    for arrangement, share in zip(arrangements, likelihood / likelihood.sum(), strict=True):
        low, high = binom.interval(0.9999, n, share)
        assert low <= (drawn == arrangement).all(axis=1).sum() <= high


def test_swapped_labels_depend_on_the_covariate_as_the_original_ones_do():
    permuter = choose_permuter(Y, numeric=False, covariates=check_covariates(AGE, 150), random=np.random.default_rng(0))
    drawn = np.array([permuter.draw(np.random.default_rng(seed)) for seed in range(100)])
    assert (drawn.sum(axis=1) == Y.sum()).all()
    slopes = [np.corrcoef(AGE, labels)[0, 1] for labels in drawn]
    assert np.mean(slopes) == pytest.approx(np.corrcoef(AGE, Y)[0, 1], abs=0.03)
    assert (drawn == Y).mean() < 0.8


def test_labels_may_be_text_and_have_three_classes():
    names = np.array(["a", "b", "c"])[Y + (X[:, 0] > 0.5)]
    found = permutation_test(f_values, X, names, n_permutations=30, covariates=AGE)
    assert found.scheme == "labels exchanged between rows by their probabilities given the covariates covariate 0"


# --- the test ---------------------------------------------------------------------------------------------------


def test_a_feature_that_follows_a_covariate_is_found_only_without_it():
    table = X.copy()
    table[:, 3] += 1.5 * Y
    assert set(permutation_test(ReliefF(), table, Y, n_permutations=60).discoveries()) == {"x1", "x3"}
    for weigher in (ReliefF(), f_values, NPDR()):
        adjusted = permutation_test(weigher, table, Y, n_permutations=60, covariates=pd.DataFrame({"age": AGE}))
        assert adjusted.discoveries() == ["x3"]
        assert adjusted.scheme.endswith("given the covariates age")


def test_a_weigher_that_takes_covariates_gets_them():
    found = permutation_test(NPDR(), X, Y, n_permutations=20, covariates=AGE)
    np.testing.assert_array_equal(found.scores, NPDR().fit(X, Y, covariates=AGE).feature_weights_)
    plain = permutation_test(ReliefF(), X, Y, n_permutations=20, covariates=AGE)
    np.testing.assert_array_equal(plain.scores, ReliefF().fit(X, Y).feature_weights_)


def null_table(seed, *, numeric, confounded, categories):
    random = np.random.default_rng([seed, numeric, confounded, categories])
    covariate = random.integers(0, 3, size=60) - 1.0 if categories else random.normal(size=60)
    effect = 1.5 * confounded * covariate
    table = random.normal(size=(60, 4)) + effect[:, None]
    y = effect + random.normal(size=60) if numeric else (random.logistic(size=60) < effect).astype(int)
    return table, y, pd.Series(covariate.astype(int).astype(str)) if categories else covariate


@pytest.mark.parametrize("confounded", [False, True], ids=["plain", "confounded"])
@pytest.mark.parametrize("categories", [False, True], ids=["age", "batch"])
@pytest.mark.parametrize("numeric", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("repeats", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_type_one_error(numeric, categories, confounded, repeats):
    # The notes of permutation_test say that this case is conservative.
    found, conservative = [], confounded and not categories and not numeric
    for seed in range(repeats):
        table, y, covariate = null_table(seed, numeric=numeric, confounded=confounded, categories=categories)
        test = permutation_test(
            sizes_of_correlations,
            table,
            y,
            n_permutations=29,
            covariates=covariate,
            null="feature",
            random_state=seed,
        )
        found.append(test.p_values[seed % 4])
    for level in (0.1, 0.5):
        low, high = binom.interval(0.999, repeats, level)
        assert np.sum(np.array(found) <= level + 1e-9) <= high
        assert conservative or np.sum(np.array(found) <= level + 1e-9) >= low
    # A p-value is a multiple of 1/30, so only a value drawn between it and the multiple below can be uniform.
    spread = np.array(found) - np.random.default_rng(0).random(repeats) / 30
    assert conservative or kstest(spread, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("numeric", [False, True], ids=["classes", "numbers"])
def test_without_covariates_the_confounded_tables_are_rejected(numeric):
    rejected = 0
    for seed in range(30):
        table, y, _ = null_table(seed, numeric=numeric, confounded=True, categories=False)
        rejected += (
            permutation_test(sizes_of_correlations, table, y, n_permutations=29, null="feature").p_values[0] <= 0.1
        )
    assert rejected > binom.ppf(0.999, 30, 0.1)


# --- bad input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (np.append(AGE[:-1], np.nan), "missing"),
        (AGE[:-1], "149 rows and X has 150"),
        ([f"row {i}" for i in range(150)], "none can be exchanged"),
        (Y * 10.0, "determine the classes"),
    ],
)
def test_bad_covariates_are_refused(covariates, message):
    with pytest.raises(InvalidDataError, match=message):
        permutation_test(f_values, X, Y, n_permutations=20, covariates=covariates)


def test_groups_and_covariates_are_not_combined():
    with pytest.raises(InvalidDataError, match="groups or covariates"):
        permutation_test(f_values, X, Y, groups=np.arange(150) // 2, covariates=AGE)


def test_a_constant_covariate_is_left_out():
    with pytest.warns(UnusedCovariateWarning, match="constant"):
        found = permutation_test(f_values, X, Y, n_permutations=20, covariates=np.ones(150))
    wanted = permutation_test(f_values, X, Y, n_permutations=20)
    np.testing.assert_array_equal(found.p_values, wanted.p_values)
    assert found.scheme == wanted.scheme


def test_covariates_come_in_any_container():
    lists = [[age, "f" if label else "m"] for age, label in zip(AGE, Y, strict=True)]
    frame = pd.DataFrame(lists, columns=["age", "sex"])
    for given in (lists, np.array(lists, dtype=object), frame, frame.astype({"sex": "category"})):
        found = check_covariates(given, 150)
        assert found.nominal.tolist() == [False, True]
        np.testing.assert_array_equal(found.coded[:, 0], AGE)
        assert len(np.unique(found.coded[:, 1])) == 2


def test_huge_numbers_do_not_overflow():
    found = check_covariates([-1e308, 0.0, 1e308], 3)
    np.testing.assert_allclose(found.pair_differences(np.array([0, 0]), np.array([1, 2]))[:, 0], [0.5, 1.0])
    assert np.isfinite(found.design()).all()


def test_independent_columns_keep_the_first_of_equal_ones():
    a, b = np.random.default_rng(0).random((2, 20))
    columns = np.column_stack([a, np.ones(20), 2 * a + 1, b, a + b])
    assert independent_columns(columns, np.ones(20)).tolist() == [True, False, False, True, False]
    # Rows of weight 0 do not count.
    assert independent_columns(columns, (np.arange(20) < 2) + 0.0).tolist() == [True, False, False, False, False]
