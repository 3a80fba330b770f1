"""The RELIEF family against exact oracles and published numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from naive import relief as naive
from sklearn.datasets import load_iris, make_classification

from weighbors import (
    SURF,
    ClassRelief,
    IRelief,
    MultiSURF,
    MultiSURFStar,
    Relief,
    ReliefF,
    RelievedF,
    SURFStar,
    TuRF,
    WeightedKNeighborsClassifier,
)
from weighbors.datasets import data_directory, load_dataset
from weighbors.exceptions import InvalidDataError, LonelyClassWarning, NoPositiveWeightWarning
from weighbors.tables.coded import CodedTable
from weighbors.tables.targets import Target
from weighbors.tables.validation import TableCoder
from weighbors.weighers.rows import Instances
from weighbors.weighers.surf import surf_scores

RNG = np.random.default_rng
# k beyond the size of a class is among the cases
pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.FewNeighborsWarning")
ALL = [Relief, RelievedF, ReliefF, SURF, SURFStar, MultiSURF, MultiSURFStar, IRelief, ClassRelief, TuRF]


def generated(seed):
    """Small tables: integers full of ties and duplicates, or reals; constant columns; 2 to 8 classes."""
    rng = RNG(seed)
    n, m, classes = int(rng.integers(16, 30)), int(rng.integers(2, 6)), 2 + seed % 7
    X = rng.integers(0, 4, size=(n, m)).astype(float) if seed % 2 else rng.normal(size=(n, m))
    if seed % 3 == 0:
        X[:, 0] = 7.0
    if seed % 5 == 0:
        X[n // 2 :] = X[: n - n // 2]
    y = np.concatenate([np.arange(classes), np.arange(classes), rng.integers(0, classes, size=n - 2 * classes)])
    return X, y


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoPositiveWeightWarning)
        yield


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("ties", ["share", "index"])
def test_neighbour_weighers_equal_the_oracle(seed, ties):
    X, y = generated(seed)
    if ties == "index" and seed % 2 == 0:
        X = np.round(X, 1) * 8  # keep index ties exact
        X = np.round(X)
    k = 1 + seed % 4
    close = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(
        Relief(k, ties=ties).fit(X, y).feature_weights_, naive.relief(X, y, k, ties=ties), **close
    )
    np.testing.assert_allclose(
        RelievedF(k, ties=ties).fit(X, y).feature_weights_, naive.relievedf(X, y, k, ties=ties), **close
    )
    if ties == "share":
        np.testing.assert_allclose(
            ReliefF(k, ties=ties).fit(X, y).feature_weights_, naive.relieff(X, y, k, ties=ties), **close
        )
    for credit in ("instance", "neighbor"):
        for skip_zero in (False, True):
            found = ClassRelief(k, ties=ties, credit=credit, skip_zero=skip_zero).fit(X, y)
            expected = naive.class_relief(X, y, k, ties=ties, credit=credit, skip_zero=skip_zero)
            np.testing.assert_allclose(found.class_feature_weights_, [expected[c] for c in found.classes_], **close)


@pytest.mark.parametrize("seed", range(40))
def test_threshold_weighers_equal_the_oracle(seed):
    X, y = generated(seed)
    for weigher, options in (
        (SURF(), {"multi": False, "star": False}),
        (SURFStar(), {"multi": False, "star": True}),
        (MultiSURF(), {"multi": True, "star": False}),
        (MultiSURFStar(), {"multi": True, "star": True}),
    ):
        found = weigher.fit(X, y).feature_weights_
        np.testing.assert_allclose(found, naive.surf(X, y, **options), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_irelief_equals_the_oracle(seed):
    X, y = generated(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = IRelief(sigma=0.5, max_iter=3, tol=0).fit(X, y).feature_weights_
    np.testing.assert_allclose(found, naive.irelief(X, y, 0.5, 3), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_categories_and_sample_weights_equal_the_oracle(seed):
    X, y = generated(2 * seed + 1)
    nominal = np.arange(X.shape[1]) % 2 == 0
    weight = RNG(seed).integers(0, 4, size=len(y)).astype(float)
    weight[0] = 1
    found = ReliefF(3, categorical_features=nominal).fit(X, y, sample_weight=weight).feature_weights_
    np.testing.assert_allclose(found, naive.relieff(X, y, 3, nominal=nominal, weight=weight), atol=1e-9)
    found = Relief(2, categorical_features=nominal).fit(X, y, sample_weight=weight).feature_weights_
    np.testing.assert_allclose(found, naive.relief(X, y, 2, nominal=nominal, weight=weight), atol=1e-9)


def test_relieff_on_iris_as_mathworks_documents_it():
    # MathWorks, relieff documentation: city-block, range-scaled, prior-weighted, k = 10
    X, y = load_iris(return_X_y=True)
    found = ReliefF(n_neighbors=10, ties="index").fit(X, y).feature_weights_
    np.testing.assert_allclose(found, [0.1399, 0.1226, 0.3590, 0.3754], atol=0.0005)


def test_the_toy_of_paper_001():
    """Class vectors (-6, 6) and (6, -6), RELIEF (0, 0): six points built to have that outcome."""
    X = np.array([[0, 1], [6, 6], [9, 8], [5, 1], [1, 4], [0, 8]], dtype=float)
    found = ClassRelief(n_neighbors=1).fit(X, [1, 1, 1, 2, 2, 2])
    np.testing.assert_array_equal(found.class_feature_weights_, [[-6, 6], [6, -6]])
    np.testing.assert_array_equal(found.feature_weights_, [0, 0])


@pytest.mark.parametrize("seed", range(10))
def test_class_weights_sum_to_relief(seed):
    X, y = generated(seed)
    for credit in ("instance", "neighbor"):
        parts = ClassRelief(3, credit=credit).fit(X, y).class_feature_weights_
        np.testing.assert_allclose(parts.sum(axis=0), Relief(3).fit(X, y).feature_weights_, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("breast-cancer", (-0.35, 64.43, 64.43), (15.75, 10.79, 10.79)),
        ("heart", (36.33, 63.88, 67.41), (16.64, 16.37, 10.38)),
    ],
)
def test_table_2_of_paper_001(papers_data, name, mean, std):
    data = load_dataset(name, "A_ida")
    X, y = np.asarray(data.X, dtype=float), data.y
    splits = np.load(data_directory() / "A_ida" / f"{name}_splits.npz")
    rows = []
    for train in splits["train"]:
        found = ClassRelief(1, credit="neighbor", skip_zero=True, ties="index").fit(X[train], y[train])
        rows.append([*found.class_correlations_, found.agreement_])
    rows = 100 * np.array(rows)
    np.testing.assert_allclose(rows.mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(rows.std(axis=0, ddof=1), std, atol=0.05)


@pytest.mark.parametrize("weigher", [cls() for cls in ALL if cls is not TuRF], ids=lambda w: type(w).__name__)
def test_a_constant_column_changes_nothing(weigher):
    X, y = make_classification(100, 5, random_state=0)
    expected = weigher.fit(X, y).feature_weights_
    found = weigher.fit(np.insert(X, 2, 3.0, axis=1), y).feature_weights_
    assert found[2] == 0
    if isinstance(weigher, IRelief):  # its default width and start depend on the number of features
        found = (
            weigher.set_params(sigma=0.5, tol=1e-12, max_iter=500).fit(np.insert(X, 2, 3.0, axis=1), y).feature_weights_
        )
        expected = weigher.fit(X, y).feature_weights_
    np.testing.assert_allclose(np.delete(found, 2), expected, atol=1e-8 if isinstance(weigher, IRelief) else 1e-12)


@pytest.mark.parametrize(
    "weigher",
    [cls(10) if cls in (Relief, RelievedF) else cls() for cls in ALL if cls is not TuRF],
    ids=lambda w: type(w).__name__,
)
def test_one_missing_cell_changes_little(weigher):
    X, y = make_classification(1000, 50, random_state=0)
    before = weigher.set_params(n_jobs=2).fit(X, y).feature_weights_
    for row, column in ((123, 4), (7, 31), (900, 12)):
        hole = X.copy()
        hole[row, column] = np.nan
        after = weigher.fit(hole, y).feature_weights_
        assert np.abs(after - before).max() <= 0.02 * np.abs(before).max()


def test_missing_values_count_by_expectation():
    # by hand: two numeric values known per class; the query's value is missing
    X = np.array([[0.0], [1.0], [np.nan], [4.0], [2.0]])
    y = np.array([0, 0, 0, 1, 1])
    from weighbors.weighers.rows import Expectation

    expected = Expectation(X[:, 0], y, 2, nominal=False)
    assert expected.differences(np.array([2]), np.array([3])) == 3.5  # class 0 knows 0 and 1: mean |4 - v|
    assert expected.differences(np.array([3]), np.array([2])) == 3.5
    nominal = Expectation(np.array([0.0, 0.0, 1.0, np.nan, 1.0, np.nan]), np.array([0, 0, 0, 0, 1, 1]), 2, nominal=True)
    assert nominal.differences(np.array([3]), np.array([4])) == pytest.approx(1 - 1 / 3)
    assert nominal.differences(np.array([3]), np.array([5])) == pytest.approx(1 - 1 / 3)


@pytest.mark.parametrize(("n", "m"), [(64, 3), (65, 4), (700, 37)])
@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("star", [False, True])
def test_sums_over_zones_equal_those_by_coefficients(n, m, multi, star):
    # a constant category makes the table mixed: that way every pair has its coefficient
    rng = RNG(n)
    X, y = rng.normal(size=(n, m)), np.sort(rng.integers(0, 3, size=n))
    weight = rng.random(n)
    table = CodedTable(X, TableCoder(nominal=np.zeros(m, bool)), Target(y, np.arange(3)), weight)
    plain = Instances(X, table.nominal, scaled=True, p=1, n_jobs=2)
    mixed = Instances(np.c_[X, np.ones(n)], np.arange(m + 1) == m, scaled=True, p=1, n_jobs=1)
    assert plain.plain
    assert not mixed.plain
    expected = surf_scores(mixed, table, multi=multi, star=star)[:m]
    np.testing.assert_allclose(surf_scores(plain, table, multi=multi, star=star), expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("n_classes", [20, 100])
@pytest.mark.parametrize("weigher", [cls() for cls in ALL], ids=lambda w: type(w).__name__)
def test_many_classes_some_with_one_instance(weigher, n_classes):
    rng = RNG(0)
    y = np.concatenate([np.repeat(np.arange(n_classes - 1), 3), [n_classes - 1]])
    X = rng.normal(size=(len(y), 4)) + y[:, None] * np.array([1.0, 0, 0, 0])
    with pytest.warns(LonelyClassWarning) as told:
        found = weigher.fit(X, y)
    assert sum(issubclass(w.category, LonelyClassWarning) for w in told) >= 1
    assert np.isfinite(found.feature_weights_).all()
    assert found.feature_weights_.argmax() == 0


def test_duplicates_across_classes_and_k_beyond_class_size():
    X, y = np.zeros((6, 2)), np.array([0, 1, 0, 1, 0, 1])
    for cls in ALL:
        assert (cls().fit(X, y).feature_weights_ <= 0).all()
    X = RNG(0).normal(size=(9, 2))
    y = np.array([0, 0, 1, 1, 1, 1, 2, 2, 2])
    np.testing.assert_allclose(ReliefF(50).fit(X, y).feature_weights_, naive.relieff(X, y, 50), atol=1e-9)


def test_agreement_says_why_it_is_undefined():
    X, y = np.zeros((6, 2)), np.array([0, 1] * 3)
    found = ClassRelief(1).fit(X, y)
    assert np.isnan(found.agreement_)
    assert "constant" in found.agreement_reasons_[0]
    assert ClassRelief(1).fit(X[:, :1], y).agreement_reasons_[1] == "there is one feature"


def test_cd_relief_ranks_by_the_class_of_largest_variance():
    X, y = make_classification(100, 6, random_state=3)
    found = ClassRelief(5, ranking="variance").fit(X, y)
    largest = found.class_feature_weights_.var(axis=1).argmax()
    np.testing.assert_array_equal(found.feature_weights_, found.class_feature_weights_[largest])


def test_selection():
    X, y = make_classification(200, 10, n_informative=3, n_redundant=0, shuffle=False, random_state=0)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(10)])
    found = ReliefF(n_features_to_select=3).fit(frame, y)
    assert found.get_support().sum() == 3
    assert found.get_feature_names_out().tolist() == [f"g{j}" for j in np.flatnonzero(found.support_)]
    assert found.weights_.feature_mask.tolist() == found.support_.tolist()
    assert (
        found.set_output(transform="pandas").transform(frame).columns.tolist() == found.get_feature_names_out().tolist()
    )
    assert ReliefF(n_features_to_select=0.5).fit(X, y).get_support().sum() == 5
    np.testing.assert_array_equal(found.feature_importances_, np.maximum(found.feature_weights_, 0))
    with pytest.raises(InvalidDataError, match="more than the 10 features"):
        ReliefF(n_features_to_select=11).fit(X, y)
    model = WeightedKNeighborsClassifier(5, ReliefF(n_features_to_select=3)).fit(frame, y)
    assert model.explain(frame[:1]).filter(like="share of").gt(0).any().sum() == 3


def test_negative_weights_count_zero_and_none_positive_is_uniform():
    X, y = make_classification(100, 6, random_state=3)
    found = ReliefF().fit(X, y)
    np.testing.assert_array_equal(found.weights_.feature_weights, np.maximum(found.feature_weights_, 0))
    with pytest.warns(NoPositiveWeightWarning):
        flat = Relief().fit(np.zeros((6, 2)), [0, 1] * 3)
    assert flat.weights_.feature_weights.tolist() == [1, 1]


@pytest.mark.parametrize("seed", range(40))
def test_turf_against_the_oracle(seed):
    X, y = generated(2 * seed)  # reals: of scores that tie but for rounding either may go
    X = np.c_[X, RNG(seed + 1).normal(size=(len(X), 5))]
    share, goal = (0.2, 0.35)[seed % 2], 1 + seed % 3
    found = TuRF(ReliefF(1 + seed % 3), n_features_to_select=goal, share=share).fit(X, y)
    last, rounds = naive.turf(X, y, 1 + seed % 3, max(1, int(share * X.shape[1])), goal)
    np.testing.assert_array_equal(found.round_, [rounds[j] for j in range(X.shape[1])])
    final = [j for j in rounds if rounds[j] == max(rounds.values())]
    np.testing.assert_allclose(found.feature_weights_[final], [float(last[j]) for j in final], atol=1e-9)
    ranked = sorted(rounds, key=lambda j: (rounds[j], last[j]))
    assert (np.diff(found.feature_weights_[ranked]) >= 0).all()


def test_turf_ranks_later_rounds_above_earlier_ones():
    X, y = make_classification(150, 20, n_informative=3, n_redundant=0, shuffle=False, random_state=1)
    found = TuRF(ReliefF(5), share=0.2).fit(X, y)
    order = np.argsort(-found.feature_weights_)
    assert (np.diff(found.round_[order]) <= 0).all()
    assert found.round_.max() == 5
    assert TuRF(MultiSURF(), n_features_to_select=4).fit(X, y).get_support().sum() == 4
    with pytest.raises(TypeError, match="takes no sample_weight"):
        TuRF(IRelief()).fit(X, y, sample_weight=np.ones(150))
