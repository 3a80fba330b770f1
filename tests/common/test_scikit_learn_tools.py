"""scikit-learn's selectors and its check of parameters, with every weigher."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.utils.validation import check_is_fitted
from support.per_class import PerClassRelief

import weighbors as wb

QUICK = {"population_size": 8, "max_evaluations": 80, "random_state": 0}
WEIGHERS = {
    **{
        name: getattr(wb, name)()
        for name in ("Relief", "RelievedF", "ReliefF", "SURF", "SURFStar", "MultiSURF", "MultiSURFStar", "IRelief")
    },
    **{name: getattr(wb, name)() for name in ("ClassRelief", "TuRF", "Simba", "SimbaMBIW")},
    "ClassRelief, one vector per class": PerClassRelief(),
    "search": wb.EvolutionaryWeigher("FS+FW", **QUICK),
    "search, per class": wb.EvolutionaryWeigher("FW", per_class=True, **QUICK),
    "strata": wb.Stratified(wb.ReliefF(3), 2),
    "votes": wb.Democratic(wb.ReliefF(3), 2, n_strata=2),
}


def one_good_feature():
    y = np.arange(60) % 2
    rows = np.random.default_rng(0).normal(size=(60, 6))
    rows[:, 3] += 2 * y
    return rows, y


def test_a_whole_number_is_no_share_of_the_features():
    rows, y = one_good_feature()
    assert wb.ReliefF(n_features_to_select=1).fit(rows, y).get_support(indices=True).tolist() == [3]
    for bad in (0, 1.0, 0.0, -1, 1.5, "all"):
        with pytest.raises(ValueError, match="n_features_to_select"):
            wb.ReliefF(n_features_to_select=bad).fit(rows, y)


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")
@pytest.mark.parametrize("name", WEIGHERS)
def test_scikit_learns_selectors_need_no_getter(name):
    rows, y = one_good_feature()
    weigher = clone(WEIGHERS[name])
    chosen = SelectFromModel(weigher, max_features=2, threshold=-np.inf).fit(rows, y)
    assert chosen.get_support().sum() == 2
    eliminated = RFE(weigher, n_features_to_select=1).fit(rows, y)
    counted = RFECV(weigher, cv=3, scoring=lambda model, rows, y: -rows.shape[1]).fit(rows, y)
    assert counted.n_features_ == 1
    # eighty evaluations find no more than some good answer; far rows of the other sign hide a feature that acts alone
    if not name.startswith("search") and not name.endswith("Star"):
        assert chosen.get_support()[3]
        assert eliminated.get_support(indices=True).tolist() == [3]
        assert counted.get_support(indices=True).tolist() == [3]


@pytest.mark.parametrize("name", WEIGHERS)
def test_importances_are_never_negative(name):
    rows, y = one_good_feature()
    weigher = clone(WEIGHERS[name])
    assert not hasattr(weigher, "feature_importances_")
    weigher.fit(rows, y)
    check_is_fitted(weigher)
    assert weigher.feature_importances_.shape == (6,)
    assert (weigher.feature_importances_ >= 0).all()


def test_a_feature_worse_than_none_is_not_taken_for_a_good_one():
    """A large negative weight: squared, as `RFE` does, or absolute, as `SelectFromModel` does, it would be the best."""
    y = np.arange(40) % 2
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=40) * 0.1 + y, np.repeat(rng.permutation(20), 2) * 1.0])
    rows[:, 1] += rng.normal(size=40) * 1e-3  # pairs of different classes are alike in it
    weigher = wb.Relief().fit(rows, y)
    assert weigher.feature_weights_[1] < -np.abs(weigher.feature_weights_[0])
    assert RFE(wb.Relief(), n_features_to_select=1).fit(rows, y).get_support(indices=True).tolist() == [0]
    assert SelectFromModel(wb.Relief(), max_features=1).fit(rows, y).get_support(indices=True).tolist() == [0]


def test_weighers_without_feature_weights_have_no_importances():
    rows, y = one_good_feature()
    for weigher in (wb.MBIW(), wb.Stratified(wb.MBIW(), 1)):
        assert not hasattr(weigher.fit(rows, y), "feature_importances_")
