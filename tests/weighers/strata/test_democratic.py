"""Democratic: votes, and the threshold that f chooses, against a slow oracle."""

import numpy as np
import pytest
from naive import strata as naive
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import scale

from weighbors import MBIW, Democratic, EvolutionaryWeigher, ReliefF, Stratified, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError
from weighbors.metrics import g_mean

X, Y = load_iris(return_X_y=True)
X, Y = np.round(scale(X)[::2], 6), Y[::2]
WINE, KINDS = load_wine(return_X_y=True)
WINE, KINDS = np.round(scale(WINE)[::2], 6), KINDS[::2]


def search(tasks="IS", **options):
    return EvolutionaryWeigher(tasks, **{"population_size": 8, "max_evaluations": 160} | options)


def oracle_of(fitted, rows=X, labels=Y):
    seeds = {(row["round"], row["stratum"]): row["seed"] for row in fitted.strata_.to_dict("records")}
    return naive.fits(fitted.weigher, rows, labels, fitted.membership_, seeds)


def check_against(fitted, wanted, supports):
    """Every judgement, and the choice: the smallest f, of equal ones the smallest table."""
    ours = fitted.thresholds_
    assert len(ours) == len(wanted)
    for row, (threshold, _, error, share, f) in zip(ours.to_dict("records"), wanted, strict=True):
        assert row["threshold"] == threshold
        assert row["error"] == pytest.approx(error, abs=1e-12)
        assert row["kept"] == pytest.approx(share, abs=1e-12)
        assert row["f"] == pytest.approx(f, abs=1e-12)
    best = min(wanted, key=lambda one: (round(one[4], 12), round(one[3], 12), one[0]))
    assert fitted.threshold_ == best[0]
    np.testing.assert_array_equal(fitted.get_support(), supports[best[1]])


@pytest.mark.parametrize("seed", range(4))
def test_the_threshold_of_instances(seed):
    fitted = Democratic(search(), 5, n_strata=3, random_state=seed).fit(X, Y)
    removal = 5 - naive.keeps(oracle_of(fitted), len(Y))
    np.testing.assert_array_equal(fitted.removal_votes_, removal)
    everything = np.ones(4, dtype=bool)
    check_against(fitted, naive.judged(X, Y, removal, 5, 0.75, [everything]), [everything])
    np.testing.assert_array_equal(fitted.instance_support_, removal < fitted.threshold_)
    np.testing.assert_array_equal(fitted.weights_.instance_mask, fitted.instance_support_)
    assert len(set(removal.tolist())) > 2


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_alpha_weighs_error_against_size(alpha):
    fitted = Democratic(search(), 4, n_strata=2, alpha=alpha, random_state=0).fit(X, Y)
    everything = np.ones(4, dtype=bool)
    removal = fitted.removal_votes_
    check_against(fitted, naive.judged(X, Y, removal, 4, alpha, [everything]), [everything])


def test_both_thresholds_under_learned_weights():
    fitted = Democratic(search("IS+FS+IW+FW"), 4, n_strata=3, random_state=2).fit(WINE, KINDS)
    found = oracle_of(fitted, WINE, KINDS)
    share = naive.feature_share(found)
    np.testing.assert_allclose(fitted.feature_votes_, share, rtol=1e-12)
    supports = []
    for number in range(1, 5):
        support = share >= number / 4 - 1e-9
        if support.any() and not any(np.array_equal(support, one) for one in supports):
            supports.append(support)
    assert len(supports) > 1
    removal = 4 - naive.keeps(found, len(KINDS))
    v, w = naive.scales(found, len(KINDS)), naive.mean_features(found)
    check_against(fitted, naive.judged(WINE, KINDS, removal, 4, 0.75, supports, a=w**2, v=v), supports)
    np.testing.assert_allclose(fitted.instance_scales_, v, rtol=1e-12)
    np.testing.assert_allclose(fitted.weights_.feature_weights, w**2, rtol=1e-12)
    small, _ = fitted.reduce(WINE, KINDS)
    assert small.shape == (fitted.instance_support_.sum(), fitted.get_support().sum())
    assert fitted.reduction_ == pytest.approx(1 - small.size / WINE.size)


def test_the_error_is_measured_by_the_fitness_of_the_weigher():
    X, y = make_classification(160, 5, n_informative=4, n_redundant=0, weights=[0.85], class_sep=0.8, random_state=1)
    X = np.round(X, 6)

    def errors(measure, fitted):
        out = []
        for threshold in fitted.thresholds_["threshold"]:
            kept = np.flatnonzero(fitted.removal_votes_ < threshold)
            found = [
                naive.nearest_class(y, naive.nearest_rows(X, row, kept, np.ones(5), np.ones(160))) for row in range(160)
            ]
            wrong = [1 - y[row] if label is None else label for row, label in enumerate(found)]
            out.append(1 - measure(y, np.array(wrong)))
        return out

    own = Democratic(search(fitness="g_mean"), 3, n_strata=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(own.thresholds_["error"], errors(g_mean, own), atol=1e-12)
    given = Democratic(search(fitness=balanced_accuracy_score), 3, n_strata=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(given.thresholds_["error"], errors(balanced_accuracy_score, given), atol=1e-12)


def test_given_thresholds_need_no_judge():
    fitted = Democratic(search("IS+FS"), 4, n_strata=3, threshold=3, random_state=0).fit(WINE, KINDS)
    assert not hasattr(fitted, "thresholds_")
    np.testing.assert_array_equal(fitted.instance_support_, fitted.removal_votes_ < 3)
    np.testing.assert_array_equal(fitted.get_support(), fitted.feature_votes_ >= 0.5 - 1e-12)


def test_weigher_without_selection_is_averaged_over_rounds():
    fitted = Democratic(MBIW(), 3, n_strata=2, random_state=0).fit(X, Y)
    found = oracle_of(fitted)
    np.testing.assert_allclose(fitted.instance_weights_, naive.instance_weights(found, len(Y)), rtol=1e-12)
    assert not hasattr(fitted, "threshold_")
    weights = Democratic(ReliefF(3), 3, n_strata=2, random_state=0).fit(X, Y)
    np.testing.assert_allclose(weights.feature_weights_, naive.mean_features(oracle_of(weights)), rtol=1e-12)


def test_rounds_are_cut_differently_and_steady():
    one = Democratic(search(), 3, n_strata=3, random_state=7).fit(X, Y)
    assert len({row.tobytes() for row in one.membership_}) == 3
    assert one.strata_.shape[0] == 9
    assert one.strata_["seed"].nunique() == 9
    two = Democratic(search(), 3, n_strata=3, random_state=7, n_jobs=2).fit(X, Y)
    assert one.weights_ == two.weights_
    assert Democratic(search(), 1, n_strata=3, threshold=1, random_state=7).fit(X, Y).weights_ == (
        Stratified(search(), 3, random_state=7).fit(X, Y).weights_
    )


def test_few_queries_with_the_class_shares():
    X, y = make_classification(3000, 5, weights=[0.9], flip_y=0, random_state=0)
    fitted = Democratic(search(), 3, random_state=0).fit(X, y)
    errors = fitted.thresholds_["error"] * 1000
    assert (np.abs(errors - errors.round()) < 1e-9).all()  # of a thousand queries
    assert fitted.n_strata_ == 3
    model = WeightedKNeighborsClassifier(1, fitted.weights_).fit(X, y)
    assert model.score(X, y) > 0.8


def test_bad_thresholds():
    with pytest.raises(InvalidDataError, match="threshold=4 is more than n_rounds=3"):
        Democratic(search(), 3, threshold=4).fit(X, Y)
    strict = Democratic(search(max_evaluations=800), 9, n_strata=2, threshold=1, random_state=0)
    with pytest.raises(InvalidDataError, match="threshold=1 leaves no instance"):
        strict.fit(X, Y)
    for bad in ({"n_rounds": 0}, {"alpha": 1.5}, {"threshold": 0}):
        with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter"):
            Democratic(search(), **bad).fit(X, Y)
