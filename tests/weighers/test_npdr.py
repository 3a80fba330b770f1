"""NPDR against statsmodels, its invariances, its permutations, separated pairs and bad input."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from naive import npdr as naive
from scipy import sparse
from scipy.stats import binom, kstest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from weighbors import NPDR, ReliefF, WeightedKNeighborsClassifier
from weighbors.exceptions import (
    FewNeighborsWarning,
    InvalidDataError,
    NothingSelectedWarning,
    SeparatedPairsWarning,
    UnusedCovariateWarning,
)
from weighbors.weighers.npdr import expected_neighbors

pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")
quiet = pytest.mark.filterwarnings("ignore::weighbors.exceptions.WeighborsWarning")


def make_table(seed):
    """A small table: its kind (target, covariates, categories, missing cells, ties) follows from the seed."""
    rng = np.random.default_rng([seed, 21])
    n, m = int(rng.integers(24, 36)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, m))
    if seed % 4 == 1:  # whole numbers, as SNPs: many distances are tied
        X = rng.integers(0, 3, size=(n, m)).astype(float)
    nominal = [seed % 4 == 2 and j == 0 for j in range(m)]
    if nominal[0]:
        X[:, 0] = rng.integers(0, 3, size=n)
    age, sex = rng.normal(50, 10, size=n), rng.choice(["f", "m"], size=n)
    numeric = seed % 2 == 0
    y = X[:, 0] + age / 20 + rng.normal(size=n)
    y = y if numeric else np.where(y > np.median(y), "ill", "well")
    if seed % 4 == 3 and m > 1:
        X[rng.random(n) < 0.2, 1] = np.nan
    covariates = [[], [age.tolist()], [age.tolist(), sex.tolist()]][seed % 3]
    return X, y, nominal, numeric, covariates


def frame_of(covariates):
    return pd.DataFrame(dict(zip(["age", "sex"], covariates, strict=False))) if covariates else None


@pytest.mark.parametrize("seed", range(20))
def test_equals_statsmodels(seed):
    X, y, nominal, numeric, covariates = make_table(seed)
    # Nearest rows have the same category. Among more rows, the feature differs in some pairs.
    unique, k = seed % 5 > 1, 15 if any(nominal) else 5
    weigher = NPDR(k, pairs="unique" if unique else "all", categorical_features=nominal)
    weigher.fit(X, y, covariates=frame_of(covariates))
    assert not weigher.separated_.any()  # the tables are such that statsmodels has an answer
    wanted = naive.npdr(X.tolist(), y, k, numeric=numeric, covariates=covariates, unique=unique, nominal=nominal)
    np.testing.assert_allclose(weigher.coefficients_, wanted[:, 0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(weigher.feature_weights_, wanted[:, 1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weigher.p_values_, wanted[:, 2], rtol=1e-5)
    np.testing.assert_allclose(weigher.q_values_, naive.benjamini_hochberg(weigher.p_values_))
    assert weigher.n_pairs_ == len(naive.neighbor_pairs(X.tolist(), k, unique=True, nominal=nominal))


def test_the_number_of_neighbours_is_that_of_the_paper():
    for n in (2, 3, 4, 5, 50, 100, 101, 999):
        assert expected_neighbors(n) == naive.expected_k(n)
    X, y, *_ = make_table(3)
    assert NPDR().fit(X, y).n_neighbors_ == naive.expected_k(len(X))


def test_features_that_matter_only_together_are_found():
    rng = np.random.default_rng(0)
    bits, numbers = rng.integers(0, 2, (200, 8)), rng.normal(size=(300, 8))
    for table, y in ((bits, bits[:, 0] ^ bits[:, 1]), (numbers, numbers[:, 0] * numbers[:, 1])):
        found = NPDR(n_permutations=40, random_state=0).fit(table, y)
        assert np.flatnonzero(found.q_values_ < 0.05).tolist() == [0, 1]


def test_the_sign_is_one_sided():
    # x0 differs between classes. Neighbours that differ much in x1 must be near in x0, so that they are hits.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = np.column_stack([y + rng.normal(0, 0.4, 100), rng.normal(size=100)])
    found = NPDR(30).fit(X, y)
    assert found.p_values_[0] < 1e-6 < 0.5 < found.p_values_[1]
    assert found.coefficients_[1] < 0


CONFOUNDED = np.random.default_rng(5)
AGE = CONFOUNDED.normal(size=120)
X, Y = CONFOUNDED.normal(size=(120, 7)), (AGE + CONFOUNDED.normal(size=120) > 0).astype(int)
X[:, 2] += 2 * AGE
X[:, 4] += 2 * Y


@pytest.mark.parametrize("options", [{}, {"n_permutations": 20}])
@pytest.mark.parametrize("target", [Y, AGE + X[:, 4]], ids=["classes", "numeric"])
def test_results_do_not_depend_on_threads_containers_or_batches(options, target, monkeypatch):
    wanted = NPDR(random_state=0, **options).fit(X, target, covariates=AGE)
    names = [name for name in ("coefficients_", "feature_weights_", "p_values_", "q_values_") if hasattr(wanted, name)]
    others = [
        NPDR(random_state=0, n_jobs=3, **options).fit(np.asfortranarray(X), target, covariates=AGE[:, None]),
        NPDR(random_state=0, **options).fit(pd.DataFrame(X), target, covariates=pd.Series(AGE)),
    ]
    for other in others:
        for name in names:
            np.testing.assert_array_equal(getattr(other, name), getattr(wanted, name))
    monkeypatch.setattr("weighbors.weighers.pair_regression._PERMUTED_CELLS", 1)  # one permutation at a time
    close = [
        NPDR(random_state=0, **options).fit(sparse.csr_matrix(X), target, covariates=AGE),
        NPDR(random_state=0, **options).fit(1e3 * X + 7, target, covariates=5 - 3 * AGE),
    ]
    for other in close:
        np.testing.assert_allclose(other.coefficients_, wanted.coefficients_, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(other.feature_weights_, wanted.feature_weights_, rtol=1e-5, atol=1e-7)


def test_labels_and_columns_may_have_any_names():
    a = NPDR().fit(X, Y)
    b = NPDR().fit(X[:, ::-1], np.where(Y == 1, "well", "ill"))
    np.testing.assert_allclose(a.coefficients_, b.coefficients_[::-1], rtol=1e-10)
    assert list(b.classes_) == ["ill", "well"]


def test_three_classes_are_hits_and_misses():
    three = Y + 2 * (X[:, 0] > 1)
    wanted = naive.npdr(X[:40].tolist(), three[:40], 6, numeric=False)
    np.testing.assert_allclose(NPDR(6).fit(X[:40], three[:40]).coefficients_, wanted[:, 0], rtol=1e-7)


# --- permutations -----------------------------------------------------------------------------------------------


def statistic_by_hand(X, y, age, k):
    """Score statistics of a logistic regression, as the derivative of the likelihood over its standard error."""
    import statsmodels.api as sm

    pairs = naive.neighbor_pairs(X.tolist(), k, unique=True)
    outcome = np.array([float(y[i] != y[z]) for i, z in pairs])
    columns = [np.ones(len(pairs))] + ([] if age is None else [[abs(age[i] - age[z]) for i, z in pairs]])
    design = np.column_stack(columns)
    p = sm.Logit(outcome, design).fit(disp=0, tol=1e-12, method="newton").predict(design)
    out = []
    for j in range(X.shape[1]):
        d = np.array([abs(X[i, j] - X[z, j]) for i, z in pairs])
        full = np.column_stack([design, d])
        information = full.T @ (full * (p * (1 - p))[:, None])
        out.append(d @ (outcome - p) * np.sqrt(np.linalg.inv(information)[-1, -1]))
    return np.array(out)


@pytest.mark.parametrize("age", [None, AGE[:40]], ids=["no covariates", "age"])
def test_permuted_statistics_are_score_statistics(age, monkeypatch):
    seen = {}

    def record(scores, permuted, null):
        seen.update(scores=scores, permuted=permuted)
        return np.ones(len(scores)), None

    monkeypatch.setattr("weighbors.weighers.npdr.null_p_values", record)
    NPDR(6, n_permutations=3, random_state=0).fit(X[:40], Y[:40], covariates=age)
    np.testing.assert_allclose(seen["scores"], statistic_by_hand(X[:40], Y[:40], age, 6), rtol=1e-6)
    assert seen["permuted"].shape == (3, 7)
    assert not np.isclose(seen["permuted"], seen["scores"]).any()


def test_a_seed_gives_the_same_permutations():
    runs = [NPDR(n_permutations=30, random_state=seed).fit(X, Y, covariates=AGE).p_values_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


def null_table(rng, *, numeric, confounded, categories):
    """Noise, of which half follows the covariate if it confounds; the target depends on the covariate only."""
    n = 60
    covariate = rng.integers(0, 3, size=n) - 1.0 if categories else rng.normal(size=n)
    X = rng.normal(size=(n, 8))
    X[:, :4] += 1.5 * confounded * covariate[:, None]
    effect = 1.5 * confounded * covariate
    y = effect + rng.normal(size=n) if numeric else (rng.random(n) < 1 / (1 + np.exp(-effect))).astype(int)
    return X, y, pd.Series(covariate.astype(int).astype(str)) if categories else covariate


@pytest.mark.parametrize("confounded", [False, True], ids=["plain", "confounded"])
@pytest.mark.parametrize("categories", [False, True], ids=["age", "batch"])
@pytest.mark.parametrize("numeric", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("repeats", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_type_one_error_of_permutation_p_values(numeric, categories, confounded, repeats):
    # One p-value per table: those of one table are not independent.
    found = []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, numeric, categories, confounded])
        table, y, covariate = null_table(rng, numeric=numeric, confounded=confounded, categories=categories)
        weigher = NPDR(15, n_permutations=29, null="feature", random_state=seed).fit(table, y, covariates=covariate)
        found.append(weigher.p_values_[seed % 4])
    found = np.array(found)
    for level in (0.1, 0.5):
        low, high = binom.interval(0.999, repeats, level)
        assert low <= (found <= level).sum() <= high
    assert kstest(found, "uniform").pvalue > 1e-4


def test_without_covariates_the_same_tables_fool_it():
    rejected = 0
    for seed in range(40):
        table, y, _ = null_table(np.random.default_rng(seed), numeric=True, confounded=True, categories=False)
        rejected += NPDR(15, n_permutations=49, null="feature", random_state=0).fit(table, y).p_values_[0] <= 0.1
    assert rejected > binom.ppf(0.999, 40, 0.1)


def test_a_confounder_that_fools_relieff_does_not_fool_npdr():
    best = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        age = rng.uniform(20, 80, size=200)
        y = rng.random(200) < 1 / (1 + np.exp((50 - age) / 6))
        table = rng.normal(size=(200, 12))
        table[:, 0] += age / 10
        table[:, 5] += 1.5 * y
        fooled = ReliefF().fit(table, y).feature_weights_
        plain, adjusted = (
            np.flatnonzero(NPDR(n_permutations=99, random_state=0).fit(table, y, covariates=c).q_values_ < 0.05)
            for c in (None, age)
        )
        best.append((int(fooled.argmax()), plain.tolist(), adjusted.tolist()))
    # ReliefF puts the feature that only follows age first, and NPDR without covariates finds it, too.
    assert best == [(0, [0, 5], [5])] * 5


def test_a_second_fit_forgets_the_first():
    weigher = NPDR(n_permutations=5).fit(X, Y)
    weigher.set_params(n_permutations=0).fit(X, Y)
    assert not hasattr(weigher, "permutation_scheme_")
    np.testing.assert_array_equal(weigher.p_values_, weigher.regression_p_values_)


# --- separated pairs --------------------------------------------------------------------------------------------


def test_separated_features_have_firths_coefficients_and_stay_on_top():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 10)
    table = np.column_stack([y, rng.normal(size=20)])  # x0 differs in all misses and in no hit
    with pytest.warns(SeparatedPairsWarning, match="1 feature"):
        found = NPDR(15).fit(table, y)
    assert found.separated_.tolist() == [True, False]
    assert np.isfinite(found.feature_weights_).all()
    assert found.feature_weights_.argmax() == 0
    pairs = list(naive.neighbor_pairs(table.tolist(), 15, unique=True))
    miss = np.array([float(y[i] != y[z]) for i, z in pairs])
    wanted = naive.firth(np.column_stack([np.ones(len(pairs)), miss]), miss)
    np.testing.assert_allclose(found.coefficients_[0], wanted[1], rtol=1e-4)


@quiet
def test_covariates_that_separate_give_finite_answers():
    for covariate in (np.where(Y == 1, "a", "b"), Y + 0.0):
        found = NPDR(20).fit(X, Y, covariates=covariate)
        assert np.isfinite(found.feature_weights_).all()
        assert np.isfinite(found.coefficients_).all()
        assert ((found.p_values_ >= 0) & (found.p_values_ <= 1)).all()
        assert found.separated_.all()


def test_pairs_of_one_kind_only():
    rows = np.repeat([[0.0], [10.0]], 5, axis=0) + np.linspace(0, 1, 10)[:, None]
    with pytest.warns(SeparatedPairsWarning, match="all pairs of neighbours are hits"):
        found = NPDR(2).fit(np.column_stack([rows, rows**2]), np.repeat([0, 1], 5))
    assert np.isfinite(found.feature_weights_).all()
    assert (found.p_values_ > 0.01).all()


def test_pairs_whose_targets_differ_equally():
    with pytest.warns(SeparatedPairsWarning, match="differ equally"):
        found = NPDR(1, n_permutations=5, random_state=0).fit(np.arange(8.0)[:, None] ** 2, np.arange(8.0) / 3)
    assert found.feature_weights_.tolist() == [0]


# --- bad input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (np.where(np.arange(120) == 3, np.nan, AGE), "covariate 0' has 1 missing"),
        (pd.DataFrame({"sex": [None] + ["f"] * 119}), "'sex' has 1 missing"),
        (np.where(np.arange(120) == 3, np.inf, AGE), "infinity"),
        (AGE[:-1], "119 rows and X has 120"),
        (np.zeros((120, 0)), "no columns"),
        (np.zeros((120, 1, 1)), "one or two dimensions"),
        (pd.DataFrame({"day": pd.date_range("2020-01-01", periods=120)}), "dates"),
    ],
)
def test_bad_covariates_are_refused(covariates, message):
    with pytest.raises(InvalidDataError, match=message):
        NPDR().fit(X, Y, covariates=covariates)


def test_constant_covariates_change_nothing():
    table = pd.DataFrame({"site": "one", "age": AGE})
    with pytest.warns(UnusedCovariateWarning, match="'site'"):
        found = NPDR().fit(X, Y, covariates=table)
    assert found.covariate_names_ == ("age",)
    np.testing.assert_array_equal(found.coefficients_, NPDR().fit(X, Y, covariates=AGE).coefficients_)
    with pytest.warns(UnusedCovariateWarning):
        alone = NPDR(n_permutations=5, random_state=0).fit(X, Y, covariates=np.ones(120))
    np.testing.assert_array_equal(alone.coefficients_, NPDR().fit(X, Y).coefficients_)
    assert alone.permutation_scheme_ == "labels exchanged between rows"


@pytest.mark.parametrize("target", [Y, X[:, 1]], ids=["classes", "numeric"])
def test_collinear_covariates_count_once(target):
    table = pd.DataFrame({"age": AGE, "born": 2000 - AGE, "id": [f"row {i}" for i in range(120)]})
    with pytest.warns(UnusedCovariateWarning, match="'born', 'id'"):
        found = NPDR().fit(X, target, covariates=table)
    assert found.covariate_names_ == ("age",)
    np.testing.assert_allclose(found.coefficients_, NPDR().fit(X, target, covariates=AGE).coefficients_)


@quiet
def test_a_feature_that_is_a_covariate_has_nothing_to_add():
    found = NPDR(n_permutations=9, random_state=0).fit(np.column_stack([X, AGE]), Y, covariates=AGE)
    assert found.coefficients_[-1] == found.feature_weights_[-1] == 0
    assert found.p_values_[-1] == found.regression_p_values_[-1] == 1


def test_constant_features_have_nothing_to_add():
    table = X.copy()
    table[:, 3] = 5
    for target in (Y, X[:, 1]):
        found = NPDR(n_permutations=9, random_state=0).fit(table, target)
        assert found.coefficients_[3] == found.feature_weights_[3] == 0
        assert found.p_values_[3] == found.regression_p_values_[3] == 1


def test_one_feature():
    found = NPDR(119, n_permutations=19, random_state=0).fit(X[:, [4]], Y, covariates=AGE)
    assert found.p_values_[0] == found.q_values_[0] == 0.05


def test_near_rows_of_a_single_feature_speak_against_it():
    # The notes say so: rows that are near in the one feature there is lie in the gap between classes.
    assert NPDR(40).fit(X[:, [4]], Y).feature_weights_[0] < 0 < NPDR(119).fit(X[:, [4]], Y).feature_weights_[0]


def test_one_class_and_one_row_are_refused():
    with pytest.raises(InvalidDataError, match="class"):
        NPDR().fit(X, np.zeros(120, dtype=int))
    with pytest.raises(ValueError, match="1"):
        NPDR().fit(X[:1], Y[:1])


@quiet
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("numeric", [False, True])
def test_tiny_tables_give_finite_numbers_or_a_clear_error(n, numeric):
    y = np.arange(n) * 0.5 if numeric else np.arange(n) % 2
    weigher = NPDR(3, target_type="numeric" if numeric else "classes")
    if n == 2:
        with pytest.raises(InvalidDataError, match="1 pairs of neighbours are too few"):
            weigher.fit(X[:n], y)
        return
    found = weigher.fit(X[:n], y)
    assert np.isfinite(found.feature_weights_).all()
    assert np.isfinite(found.p_values_).all()


def test_more_neighbours_than_rows():
    with pytest.warns(FewNeighborsWarning, match="n_neighbors=119 or less"):
        found = NPDR(500).fit(X, Y)
    assert found.n_neighbors_ == 119
    assert found.n_pairs_ == 120 * 119 / 2


@quiet
def test_classes_that_follow_from_covariates_cannot_be_permuted():
    with pytest.raises(InvalidDataError, match="never differ between rows that have the same covariates"):
        NPDR(n_permutations=5).fit(X, Y, covariates=np.where(Y == 1, "a", "b"))
    with pytest.raises(InvalidDataError, match="determine the classes"):
        NPDR(n_permutations=5).fit(X, Y, covariates=Y * 5.0)
    with pytest.raises(InvalidDataError, match="determine the target"):
        NPDR(n_permutations=5).fit(X, 3 * AGE + 1, covariates=AGE)


# --- as a weigher -----------------------------------------------------------------------------------------------


def test_it_selects_and_serves_a_k_nn():
    weigher = NPDR(n_features_to_select=1)
    assert weigher.fit_transform(X, Y, covariates=AGE).shape == (120, 1)
    assert weigher.get_support(indices=True).tolist() == [4]
    assert WeightedKNeighborsClassifier(5, weigher=NPDR()).fit(X, Y).score(X, Y) > 0.7
    with pytest.warns(NothingSelectedWarning):
        NPDR().fit(X, Y).transform(X)


def test_covariates_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        weigher = NPDR(n_features_to_select=1).set_fit_request(covariates=True)
        model = make_pipeline(weigher, KNeighborsClassifier()).fit(X, Y, covariates=AGE)
        assert model[0].covariate_names_ == ("covariate 0",)
        search = GridSearchCV(model, {"npdr__n_features_to_select": [1, 2]}, cv=3).fit(X, Y, covariates=AGE)
        assert search.best_estimator_[0].covariate_names_ == ("covariate 0",)


def test_missing_values_and_categories_of_a_frame():
    frame = pd.DataFrame(X[:, :3]).assign(kind=np.where(Y == 1, "a", np.where(X[:, 1] > 0, "b", "c")))
    frame.loc[:20, "kind"] = None
    frame.columns = frame.columns.astype(str)
    found = NPDR(20).fit(frame, Y, covariates=pd.DataFrame({"batch": np.arange(120) % 3}).astype("category"))
    assert found.feature_weights_.argmax() == 3
    assert found.covariate_names_ == ("batch",)
