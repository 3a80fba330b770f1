"""Strata and democracy with numeric targets: how strata are drawn, what they learn, and what R² chooses."""

import joblib
import numpy as np
import pytest
from naive import strata as naive
from sklearn.feature_selection import SelectKBest, f_regression

from weighbors import Democratic, EvolutionaryWeigher, GradientWeights, NCAWeights, ReliefF, RReliefF, Stratified
from weighbors.exceptions import InvalidDataError, NumericTargetWarning
from weighbors.tables.targets import check_target
from weighbors.weighers.strata.draw import N_BINS, cut_round, group_rows

RNG = np.random.default_rng
X = np.round(RNG(0).normal(size=(120, 4)), 6)
Y = np.round(2 * X[:, 0] + X[:, 1] + 0.1 * RNG(1).normal(size=120), 6)


def search(tasks="IS", **options):
    return EvolutionaryWeigher(tasks, **{"population_size": 8, "max_evaluations": 120} | options)


def oracle_of(fitted):
    seeds = {(row["round"], row["stratum"]): row["seed"] for row in fitted.strata_.to_dict("records")}
    return naive.fits(fitted.weigher, X, Y, fitted.membership_, seeds)


@pytest.mark.parametrize(("n", "n_strata"), [(120, 7), (9, 2), (1003, 10), (4, 2)])
def test_every_stratum_has_low_and_high_values(n, n_strata):
    y = RNG(n).exponential(size=n)
    y[: n // 3] = y[0]  # ties
    groups = group_rows(check_target(y, "numeric"))
    assert (np.diff(groups[np.argsort(y, kind="stable")]) >= 0).all()  # bins follow the target
    sizes = np.bincount(groups)
    assert len(sizes) == min(N_BINS, n)
    assert np.ptp(sizes) <= 1
    strata = [one.rows for one in cut_round(groups, n_strata, np.random.SeedSequence(0), of_round=0, first=0)]
    assert np.ptp([len(rows) for rows in strata]) <= 1
    for group in range(len(sizes)):
        assert np.ptp([(groups[rows] == group).sum() for rows in strata]) <= 1


def test_strata_of_a_search_equal_the_oracle():
    fitted = Stratified(search("IS+FS+IW"), 3, random_state=0).fit(X, Y)
    found = oracle_of(fitted)
    np.testing.assert_array_equal(fitted.instance_support_, naive.keeps(found, 120) > 0)
    np.testing.assert_allclose(fitted.instance_scales_, naive.scales(found, 120))
    share = naive.feature_share(found)
    assert (
        len({model.feature_support_.sum() for _, _, model in found}) == 1
        or (fitted.support_ == (share >= min(0.5, share.max()))).all()
    )
    assert fitted.target_type_ == "numeric"
    assert not hasattr(fitted, "classes_")
    small, y_small = fitted.reduce(X, Y)
    np.testing.assert_array_equal(y_small, Y[fitted.sample_indices_])
    assert small.shape == (len(y_small), fitted.support_.sum())
    assert Stratified(search(), 2, random_state=0).fit(X, Y).fit(X, Y > 0).classes_.tolist() == [False, True]


@pytest.mark.parametrize("weigher", [NCAWeights(), GradientWeights(), RReliefF(5)])
def test_feature_weights_are_averaged(weigher):
    fitted = Stratified(weigher, 2, random_state=0).fit(X, Y)
    np.testing.assert_allclose(fitted.feature_weights_, naive.mean_features(oracle_of(fitted)))
    assert fitted.feature_weights_.argmax() == 0


def test_the_same_for_every_number_of_jobs():
    weigher = Democratic(search("IS+FS"), 2, n_strata=3, random_state=0)
    alone = weigher.fit(X, Y)
    support, votes = alone.instance_support_, alone.removal_votes_
    with joblib.parallel_config("threading", n_jobs=3):
        again = weigher.fit(X, Y)
    np.testing.assert_array_equal(again.instance_support_, support)
    np.testing.assert_array_equal(again.removal_votes_, votes)


def test_r_squared_chooses_the_threshold():
    fitted = Democratic(search("IS+FS"), 4, n_strata=3, random_state=1).fit(X, Y)
    found = oracle_of(fitted)
    removal = 4 - naive.keeps(found, 120)
    np.testing.assert_array_equal(fitted.removal_votes_, removal)
    frame = fitted.thresholds_
    share = naive.feature_share(found)
    supports = []
    for number in range(1, 5):
        support = share >= number / 4 - 1e-9
        if support.any() and not any((support == other).all() for other in supports):
            supports.append(support)
    if frame["feature_threshold"].isna().all():
        supports = [fitted.support_]
    wanted = naive.judged(X, Y.tolist(), removal, 4, 0.75, supports, numeric=True)
    assert len(frame) == len(wanted)
    for row, (threshold, _, error, kept, f) in zip(frame.to_dict("records"), wanted, strict=True):
        assert row["threshold"] == threshold
        assert (row["error"], row["kept"], row["f"]) == pytest.approx((error, kept, f), abs=1e-9)
    best = min(wanted, key=lambda one: (round(one[4], 9), round(one[3], 9), one[0]))
    assert fitted.threshold_ == best[0]
    np.testing.assert_array_equal(fitted.support_, supports[best[1]])


def test_other_scores_and_selectors():
    for fitness in ("neg_mean_absolute_error", lambda a, b: -float(np.abs(a - b).mean())):
        fitted = Democratic(search(fitness=fitness), 2, n_strata=2, random_state=0).fit(X, Y)
        assert fitted.threshold_ in (1, 2)
    chosen = Stratified(SelectKBest(f_regression, k=2), 3, random_state=0).fit(X, Y)
    assert chosen.support_.tolist() == [True, True, False, False]
    whole = np.round(10 * Y).astype(int)
    numbers = Stratified(SelectKBest(f_regression, k=1), 3, target_type="numeric", random_state=0).fit(X, whole)
    assert numbers.target_type_ == "numeric"
    own = Stratified(NCAWeights(target_type="numeric"), 2, random_state=0).fit(X, whole)
    assert own.target_type_ == "numeric"


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoSkillWarning")
def test_what_cannot_be_used():
    with pytest.raises(InvalidDataError, match="n_strata=61 is more than half of the 120 rows"):
        Stratified(search(), 61).fit(X, Y)
    with pytest.raises(InvalidDataError, match="y looks like a numeric target"):  # a weigher of classes
        Stratified(ReliefF(3), 2).fit(X, Y)
    with pytest.raises(InvalidDataError, match="score of classes"):
        Democratic(search(fitness="g_mean"), 2, n_strata=2).fit(X, Y)
    with pytest.raises(InvalidDataError, match="score of numeric targets"):
        Democratic(search(fitness="r2"), 2, n_strata=2).fit(X, Y > 0)
    with pytest.raises(InvalidDataError, match="constant"):
        Stratified(search(), 2, target_type="numeric").fit(X, np.ones(120))
    with pytest.raises(InvalidDataError, match="infinity"):
        Stratified(search(), 2).fit(X, np.where(np.arange(120) == 3, np.inf, Y))
    with pytest.raises(InvalidDataError, match="resample classes"):
        Stratified(search(), target_type="numeric").as_sampler()
    with pytest.raises(InvalidDataError, match="resample classes"):
        Democratic(search(target_type="numeric")).as_sampler()
    rare = np.where(np.arange(120) < 118, 0.0, 1.5)
    with pytest.raises(InvalidDataError, match="constant") as error:
        Stratified(search(), 4, random_state=0).fit(X, rare)
    assert "was fitted to stratum" in error.value.__notes__[0]
    many = np.where(np.arange(3000) < 2999, 0.0, 1.5)  # the last row is none of the queries
    with pytest.raises(InvalidDataError, match="rows on which the error is measured all have the target"):
        Democratic(search(max_evaluations=20), 2, n_strata=1, random_state=0).fit(np.tile(X, (25, 1)), many)


class TestBlocks:
    """Tables in partitions, without a cluster."""

    @pytest.fixture
    def arrays(self):
        da = pytest.importorskip("dask.array")
        return lambda chunks, y=Y: (da.from_array(X, chunks=(chunks, 4)), da.from_array(y, chunks=chunks))

    @pytest.mark.parametrize(
        "weigher",
        [Stratified(search("IS+FS"), 3, random_state=0), Democratic(search("IS+FS"), 2, n_strata=3, random_state=0)],
        ids=["stratified", "democratic"],
    )
    def test_one_partition_is_the_table_in_memory(self, arrays, weigher):
        local = weigher.fit(X, Y)
        support, rows = local.support_, local.instance_support_
        over = weigher.fit(*arrays(120))
        np.testing.assert_array_equal(over.support_, support)
        np.testing.assert_array_equal(over.instance_support_, rows)
        assert over.target_type_ == "numeric"

    def test_several_partitions(self, arrays):
        fitted = Democratic(NCAWeights(n_features_to_select=2), 2, n_strata=4, random_state=0).fit(*arrays(40))
        assert fitted.support_.tolist() == [True, True, False, False]
        found = Democratic(search(), 2, n_strata=3, random_state=0).fit(*arrays(40))
        assert found.threshold_ in (1, 2)
        assert (found.thresholds_["error"] < 1).all()

    def test_what_y_holds(self, arrays):
        with pytest.raises(InvalidDataError, match="infinity"):
            Stratified(search(), 2).fit(*arrays(60, np.where(np.arange(120) == 3, np.inf, Y)))
        with pytest.raises(InvalidDataError, match="more than half of the 40 rows"):
            Stratified(search(), 63).fit(*arrays(40))
        whole = np.round(10 * Y).astype(int)
        fitted = Stratified(NCAWeights(target_type="numeric"), 3, random_state=0).fit(*arrays(40, whole))
        assert fitted.target_type_ == "numeric"
        assert Stratified(search(), 3, random_state=0).fit(*arrays(40, Y > 0)).target_type_ == "classes"


def test_labels_that_look_numeric_are_still_classes_to_a_weigher_of_classes():
    many = np.argsort(np.argsort(X[:, 0])) // 2 * 1.0  # sixty numbers, two rows each
    with pytest.warns(NumericTargetWarning):
        fitted = Stratified(ReliefF(1), 1).fit(X, many)
    assert len(fitted.classes_) == 60
