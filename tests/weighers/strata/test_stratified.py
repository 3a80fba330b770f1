"""Stratified: strata, and the weights combined from them, against a slow oracle."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import strata as naive
from sklearn.base import BaseEstimator
from sklearn.datasets import load_wine, make_classification
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from support.per_class import PerClassRelief

from weighbors import (
    MBIW,
    ClassRelief,
    Democratic,
    EvolutionaryWeigher,
    ReliefF,
    RepresentativeIntervals,
    Simba,
    SimbaMBIW,
    Stratified,
    TuRF,
    WeightedKNeighborsClassifier,
    Weights,
)
from weighbors.exceptions import (
    ForeignWeightsError,
    InvalidDataError,
    LonelyClassWarning,
    NoPositiveWeightWarning,
    NothingSelectedWarning,
    RareClassWarning,
)
from weighbors.tables.targets import Target
from weighbors.weighers.strata.draw import count_strata, cut_round

X, Y = load_wine(return_X_y=True)
X = scale(X)


def search(tasks="IS", **options):
    return EvolutionaryWeigher(tasks, **{"population_size": 8, "max_evaluations": 120} | options)


def oracle_of(fitted, rows=X, labels=Y):
    seeds = {(row["round"], row["stratum"]): row["seed"] for row in fitted.strata_.to_dict("records")}
    return naive.fits(fitted.weigher, rows, labels, fitted.membership_, seeds)


def drawn(codes, n_strata, seed):
    """Rows of each stratum of one round."""
    return [one.rows for one in cut_round(codes, n_strata, np.random.SeedSequence(seed), of_round=0, first=0)]


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=5),
    st.integers(1, 12),
    st.integers(0, 2**31),
)
@settings(max_examples=60, deadline=None)
def test_strata_are_disjoint_even_and_have_the_class_shares(counts, n_strata, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    rows = drawn(codes, n_strata, seed)
    assert len(rows) == n_strata
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(codes)))
    stratum = np.repeat(np.arange(n_strata), [len(mine) for mine in rows])[np.argsort(np.concatenate(rows))]
    sizes = np.bincount(stratum, minlength=n_strata)
    assert sizes.sum() == len(codes)
    assert sizes.max() - sizes.min() <= 1
    for code in range(len(counts)):
        per_class = np.bincount(stratum[codes == code], minlength=n_strata)
        assert per_class.max() - per_class.min() <= 1
    for mine in rows:
        assert (np.diff(mine) > 0).all()


def test_strata_are_drawn_at_random():
    codes = np.repeat([0, 1], 50)
    draws = [drawn(codes, 5, seed) for seed in range(200)]
    together = np.mean([any({0, 1} <= set(rows.tolist()) for rows in draw) for draw in draws])
    assert 0.1 < together < 0.28  # (20 / 2 - 1) / (50 - 1) = 0.184 of the pairs of a class


def test_instances_are_united():
    fitted = Stratified(search(), 4, random_state=3).fit(X, Y)
    kept = naive.keeps(oracle_of(fitted), len(Y))
    np.testing.assert_array_equal(fitted.instance_support_, kept == 1)
    np.testing.assert_array_equal(fitted.sample_indices_, np.flatnonzero(kept))
    np.testing.assert_array_equal(fitted.weights_.instance_mask, kept == 1)
    assert fitted.reduction_ == pytest.approx(1 - kept.mean())
    assert fitted.n_strata_ == 4
    assert fitted.weights_.feature_mask is None or fitted.weights_.feature_mask.all()


def test_features_are_voted_and_weights_averaged():
    fitted = Stratified(search("FS+FW", max_evaluations=24), 5, random_state=1, feature_threshold=0.4).fit(X, Y)
    found = oracle_of(fitted)
    share = naive.feature_share(found)
    assert len({model.get_support().sum() for *_, model in found}) > 1
    np.testing.assert_array_equal(fitted.get_support(), share >= 0.4 - 1e-12)
    assert 1 < fitted.get_support().sum() < 13
    mean = naive.mean_features(found)
    np.testing.assert_allclose(fitted.feature_weights_, mean, rtol=1e-12)
    # paper 004: a = w²
    np.testing.assert_allclose(fitted.weights_.feature_weights, mean**2, rtol=1e-12)
    assert fitted.transform(X).shape == (len(X), fitted.get_support().sum())
    np.testing.assert_allclose(fitted.feature_importances_, np.where(fitted.get_support(), mean, 0))


def test_a_vote_nobody_wins_goes_to_the_most_voted():
    fitted = Stratified(search("FS"), 6, random_state=0, feature_threshold=1.0).fit(X, Y)
    share = naive.feature_share(oracle_of(fitted))
    assert share.max() < 1
    np.testing.assert_array_equal(fitted.get_support(), share == share.max())


def test_a_fixed_number_of_features_stays_that_number():
    fitted = Stratified(ReliefF(5, n_features_to_select=4), 6, random_state=0).fit(X, Y)
    found = oracle_of(fitted)
    share, mean = naive.feature_share(found), naive.mean_features(found)
    ranked = sorted(range(13), key=lambda j: (-share[j], -mean[j], j))
    assert fitted.get_support(indices=True).tolist() == sorted(ranked[:4])
    assert 0 < share[ranked[4]] < 1  # there was something to vote on


@pytest.mark.parametrize("weigher", [ReliefF(5), ClassRelief(3), TuRF(ReliefF(3)), Simba(), SimbaMBIW()], ids=str)
def test_feature_weights_of_every_kind(weigher):
    fitted = Stratified(weigher, 4, random_state=0).fit(X, Y)
    found = oracle_of(fitted)
    mean = naive.mean_features(found)
    np.testing.assert_allclose(fitted.feature_weights_, mean, rtol=1e-12, atol=1e-15)
    if isinstance(weigher, (ReliefF, ClassRelief)):
        np.testing.assert_allclose(fitted.weights_.feature_weights, np.maximum(mean, 0), rtol=1e-12, atol=1e-15)
    elif isinstance(weigher, (Simba, SimbaMBIW)):  # methods.md §0: SIMBA's W enters as W²
        np.testing.assert_allclose(fitted.weights_.feature_weights, mean**2, rtol=1e-12)
    else:
        a = sum(len(rows) * model.weights_.feature_weights for _, rows, model in found) / len(X)
        np.testing.assert_allclose(fitted.weights_.feature_weights, a, rtol=1e-12)


def test_class_feature_weights_are_averaged():
    fitted = Stratified(PerClassRelief(3), 3, random_state=0).fit(X, Y)
    found = oracle_of(fitted)
    mean = sum(len(rows) * model.class_feature_weights_ for _, rows, model in found) / len(X)
    np.testing.assert_allclose(fitted.class_feature_weights_, mean, rtol=1e-12, atol=1e-15)
    assert fitted.weights_.kind == "class"
    model = WeightedKNeighborsClassifier(3, fitted).fit(X, Y)
    assert model.predict(X).shape == Y.shape


def test_votes_and_scales_are_put_together_per_instance():
    omega = Stratified(MBIW(), 4, random_state=0).fit(X, Y)
    np.testing.assert_allclose(omega.instance_weights_, naive.instance_weights(oracle_of(omega), len(X)), rtol=1e-12)
    assert omega.instance_weights_.sum() == pytest.approx(1)
    np.testing.assert_allclose(omega.weights_.votes, omega.instance_weights_ * len(X), rtol=1e-12)
    with pytest.warns(NothingSelectedWarning, match="keeps all columns"):
        assert omega.transform(X).shape == X.shape
    v = Stratified(search("IS+IW"), 4, random_state=0).fit(X, Y)
    found = oracle_of(v)
    np.testing.assert_allclose(v.instance_scales_, naive.scales(found, len(X)), rtol=1e-12)
    np.testing.assert_array_equal(v.instance_support_, naive.keeps(found, len(X)) > 0)
    np.testing.assert_array_equal(v.weights_.instance_scales, v.instance_scales_)


@pytest.mark.parametrize(
    "weigher", [search(random_state=0), search("IS+FS+IW+FW", random_state=0), ReliefF(3), MBIW(), SimbaMBIW()], ids=str
)
def test_one_stratum_is_the_weigher_itself(weigher):
    fitted, alone = Stratified(weigher, 1).fit(X, Y), weigher.fit(X, Y)
    assert fitted.weights_.fingerprint == alone.weights_.fingerprint
    for part in ("feature_weights", "instance_scales", "votes", "instance_mask", "feature_mask"):
        ours, theirs = getattr(fitted.weights_, part), getattr(alone.weights_, part)
        if theirs is None:
            assert ours is None or ours.all()
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_results_do_not_depend_on_jobs_chunks_or_backend():
    one = Stratified(search("IS+FS"), 9, random_state=5).fit(X, Y)
    others = [Stratified(search("IS+FS"), 9, random_state=5, n_jobs=2).fit(X, Y)]
    with joblib.parallel_config("threading", n_jobs=2):
        others.append(Stratified(search("IS+FS"), 9, random_state=5).fit(X, Y))
    for other in others:
        assert other.weights_ == one.weights_
        pd.testing.assert_frame_equal(other.strata_.drop(columns="seconds"), one.strata_.drop(columns="seconds"))
    again = Stratified(search("IS+FS"), 9, random_state=5).fit(X, Y)
    assert again.weights_ == one.weights_
    assert Stratified(search("IS+FS"), 9, random_state=6).fit(X, Y).weights_ != one.weights_


def test_categories_and_missing_values():
    rng = np.random.default_rng(0)
    n = 240
    colour, y = rng.choice(["red", "blue", "green"], n), rng.choice(["no", "yes"], n)
    size = np.where(y == "yes", 2.0, 0.0) + rng.normal(size=n)
    size[::17] = np.nan
    frame = pd.DataFrame({"colour": colour, "size": size})
    fitted = Stratified(ReliefF(5), 3, random_state=0).fit(frame, y)
    found = [
        (rows, ReliefF(5).fit(frame.iloc[rows], y[rows]).feature_weights_)
        for rows in (np.flatnonzero(fitted.membership_[0] == s) for s in range(3))
    ]
    mean = sum(len(rows) * weights for rows, weights in found) / n
    np.testing.assert_allclose(fitted.feature_weights_, mean, rtol=1e-12)
    model = WeightedKNeighborsClassifier(3, Stratified(search(), 3, random_state=0)).fit(frame, y)
    assert model.score(frame, y) > 0.6
    given = Stratified(ReliefF(5, categorical_features=[0]), 3, random_state=0)
    coded = np.column_stack([pd.factorize(colour)[0].astype(float), size])
    np.testing.assert_allclose(given.fit(coded, y).feature_weights_, mean, rtol=1e-12)


def test_reduce_and_sampler():
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(13)])
    fitted = Stratified(search("IS+FS"), 4, random_state=0).fit(frame, Y)
    small, labels = fitted.reduce(frame, pd.Series(Y))
    pd.testing.assert_frame_equal(small, frame.iloc[fitted.sample_indices_].loc[:, fitted.get_support()])
    np.testing.assert_array_equal(labels, Y[fitted.sample_indices_])
    assert fitted.reduce(frame).shape == small.shape
    with pytest.raises(ForeignWeightsError, match="the rows that were fitted"):
        fitted.reduce(frame.iloc[::-1], Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.reduce(frame, [*Y, Y[0]])
    sampler = Stratified(search(), 4, random_state=0).as_sampler()
    rows, y = sampler.fit_resample(frame, Y)
    np.testing.assert_array_equal(rows, frame.iloc[sampler.sample_indices_])
    np.testing.assert_array_equal(y, Y[sampler.sample_indices_])


def test_in_a_classifier_and_a_pipeline():
    model = WeightedKNeighborsClassifier(1, Stratified(search(), 3, random_state=0)).fit(X[::2], Y[::2])
    assert model.score(X[1::2], Y[1::2]) > 0.85
    pipe = make_pipeline(
        Stratified(ReliefF(5, n_features_to_select=5), 3, random_state=0), WeightedKNeighborsClassifier(3)
    )
    assert pipe.fit(X[::2], Y[::2]).score(X[1::2], Y[1::2]) > 0.85
    plain = Stratified(search("FS"), 3, random_state=0).set_output(transform="pandas")
    assert isinstance(plain.fit(X, Y).transform(X), pd.DataFrame)


def test_selectors_and_samplers_of_other_packages():
    best = Stratified(SelectKBest(k=3), 4, random_state=0).fit(X, Y)
    share = sum(
        SelectKBest(k=3).fit(X[rows], Y[rows]).get_support() * len(rows)
        for rows in (np.flatnonzero(best.membership_[0] == s) for s in range(4))
    ) / len(X)
    assert best.get_support().sum() == 3
    assert set(np.flatnonzero(share == 1)) <= set(best.get_support(indices=True))
    under = pytest.importorskip("imblearn.under_sampling")
    condensed = Stratified(under.CondensedNearestNeighbour(random_state=0), 3, random_state=0).fit(X, Y)
    expected = np.zeros(len(X), dtype=bool)
    for s in range(3):
        rows = np.flatnonzero(condensed.membership_[0] == s)
        sampler = under.CondensedNearestNeighbour(random_state=0)
        sampler.fit_resample(X[rows], Y[rows])
        expected[rows[sampler.sample_indices_]] = True
    np.testing.assert_array_equal(condensed.instance_support_, expected)
    over = pytest.importorskip("imblearn.over_sampling")
    with pytest.raises(InvalidDataError, match="SMOTE does not say which rows it keeps"):
        Stratified(over.SMOTE(), 2).fit(X, Y)


def test_fit_parameters_reach_the_strata():
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    fitted = Stratified(ReliefF(3), 3, random_state=0).fit(X, Y, sample_weight=weight)
    mean = sum(
        ReliefF(3).fit(X[rows], Y[rows], sample_weight=weight[rows]).feature_weights_ * len(rows)
        for rows in (np.flatnonzero(fitted.membership_[0] == s) for s in range(3))
    ) / len(X)
    np.testing.assert_allclose(fitted.feature_weights_, mean, rtol=1e-12)
    with pytest.raises(InvalidDataError, match="sample_weight must have one entry per row, 178"):
        Stratified(ReliefF(3), 3).fit(X, Y, sample_weight=weight[:5])


def test_checkpoints_are_one_per_stratum_and_resume(tmp_path):
    path = tmp_path / "run.ckpt"
    whole = Stratified(search(random_state=1), 3, random_state=0).fit(X, Y)
    half = search(max_evaluations=40, checkpoint=path, random_state=1)
    Stratified(half, 3, random_state=0).fit(X, Y)
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"run.ckpt.0.{s}" for s in range(3)]
    assert Stratified(half, 3, random_state=0).as_sampler().weigher.weigher.checkpoint is None
    resumed = Stratified(search(checkpoint=path, random_state=1), 3, random_state=0).fit(X, Y)
    assert resumed.weights_ == whole.weights_


def test_automatic_number_of_strata():
    X, y = make_classification(2500, 5, random_state=0)
    assert Stratified(ReliefF(2), random_state=0).fit(X, y).n_strata_ == 2
    assert Stratified(ReliefF(2), random_state=0).fit(X[:500], y[:500]).n_strata_ == 1

    def count(*counts):
        return count_strata("auto", Target(np.repeat([0, 1], counts), np.array(["a", "rare"])))

    with pytest.warns(
        RareClassWarning, match="class 'rare' has 20 instances.* 10 strata of about 4002 rows instead of 40"
    ):
        assert count(40000, 20) == 10
    assert count(40000, 50) == 25


def test_warnings_of_strata_come_once():
    rng = np.random.default_rng(0)
    noise, y = rng.normal(size=(90, 2)), np.tile([0, 1], 45)
    with pytest.warns() as caught:
        fitted = Stratified(ReliefF(1, n_features_to_select=1), 9, random_state=1).fit(noise, y)
    kinds = [w.category for w in caught]
    assert len(kinds) == len(set(kinds))
    assert any("of 9 strata)" in str(w.message) for w in caught if w.category is NoPositiveWeightWarning)
    assert fitted.get_support().sum() == 1


class Silent(BaseEstimator):
    def fit(self, X, y):
        return self


class Failing(BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no")


@pytest.mark.parametrize("kind", [Stratified, Democratic])
def test_bad_input(kind):
    X, y = make_classification(60, 4, weights=[0.9], random_state=0)
    few = int((y == 1).sum())
    with pytest.raises(InvalidDataError, match=rf"n_strata=20 is more than the {few} instances of class"):
        kind(ReliefF(1), n_strata=20).fit(X, y)
    with pytest.raises(InvalidDataError, match="Silent has no weights for rows or features"):
        kind(Silent(), n_strata=2).fit(X, y)
    with pytest.raises(InvalidDataError, match="RepresentativeIntervals learns intervals"):
        kind(RepresentativeIntervals(discretize="frequency"), n_strata=2).fit(X, y)
    with pytest.raises(RuntimeError) as raised:
        kind(Failing(), n_strata=2).fit(X, y)
    assert "stratum 0 of round 0, 30 rows" in raised.value.__notes__[0]
    with pytest.raises(TypeError, match="sample_weight"):
        kind(MBIW()).fit(X, y, sample_weight=np.ones(60))


@pytest.mark.parametrize("kind", [Stratified, Democratic])
def test_what_the_weigher_lacks_is_lacking(kind):
    fitted = kind(MBIW(), n_strata=2, random_state=0).fit(X, Y)
    for name in (
        "feature_weights_",
        "instance_scales_",
        "sample_indices_",
        "feature_importances_",
        "instance_support_",
    ):
        assert not hasattr(fitted, name)
    with pytest.raises(AttributeError, match="MBIW selects no instances"):
        _ = fitted.sample_indices_
    with pytest.raises(InvalidDataError, match="MBIW selects neither instances nor features"):
        fitted.reduce(X, Y)
    with pytest.raises(AttributeError, match="MBIW selects no instances"):
        kind(MBIW(), n_strata=2).as_sampler().fit_resample(X, Y)
    again = fitted.set_params(weigher=ReliefF(3)).fit(X, Y)
    assert not hasattr(again, "instance_weights_")
    assert again.weights_.votes is None


def test_a_second_fit_forgets_the_first():
    fitted = Stratified(search("IS+IW"), 3, random_state=0).fit(X, Y)
    assert hasattr(fitted, "instance_scales_")
    fitted.set_params(weigher=VarianceThreshold()).fit(X, Y)
    assert not hasattr(fitted, "instance_scales_")
    assert not hasattr(fitted, "instance_support_")
    assert isinstance(fitted.weights_, Weights)


def test_lonely_classes_still_fit():
    X, y = make_classification(80, 4, random_state=0)
    y[:4] = 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LonelyClassWarning)
        assert Stratified(search(), 4, random_state=0).fit(X, y).n_strata_ == 4


def test_ctrl_c_ends_all_strata():
    fits = []

    def stop(progress):
        fits.append(progress)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="in stratum 0 of round 0"):
        Stratified(search(callback=stop), 5, random_state=0).fit(X, Y)
    assert len(fits) == 1
