"""Critical differences and comparisons of ranks against published figures and scikit-posthocs."""

import numpy as np
import pytest
import scikit_posthocs
from support.published import DEMSAR

from weighbors.exceptions import InvalidDataError
from weighbors.stats import bonferroni_dunn, nemenyi, posthoc


def test_demsars_critical_differences():
    # Demšar 2006, section 3.2.2: 1.25 and 1.12, 1.16 and 1.04, from rounded q; here with more digits
    assert nemenyi(DEMSAR).critical_difference == pytest.approx(1.2536, abs=5e-5)
    assert nemenyi(DEMSAR, alpha=0.10).critical_difference == pytest.approx(1.1181, abs=5e-5)
    assert bonferroni_dunn(DEMSAR, "C4.5").critical_difference == pytest.approx(1.1681, abs=5e-5)
    assert bonferroni_dunn(DEMSAR, "C4.5", alpha=0.10).critical_difference == pytest.approx(1.0384, abs=5e-5)


def test_demsars_comparison_with_a_control():
    # Demšar 2006, section 3.2.2, the table of Holm's procedure
    frame = posthoc(DEMSAR, control="C4.5").frame().set_index("second").loc[["C4.5+m", "C4.5+cf", "C4.5+m+cf"]]
    np.testing.assert_allclose(frame["z"], [2.3422, 0.5123, 2.4154], atol=5e-5)
    np.testing.assert_allclose(frame["p_value"], [0.01917, 0.60841, 0.01572], atol=5e-6)
    np.testing.assert_allclose(frame["adjusted"], [0.04716, 0.60841, 0.04716], atol=5e-6)


def test_p_values_and_the_critical_difference_agree():
    for alpha in (0.01, 0.05, 0.2, 0.5):
        for result in (nemenyi(DEMSAR, alpha=alpha), bonferroni_dunn(DEMSAR, "C4.5", alpha=alpha)):
            frame = result.frame()
            assert ((frame["p_value"] < alpha) == frame["differs"]).all()


@pytest.mark.parametrize("seed", range(3))
def test_scikit_posthocs_agrees(seed):
    scores = np.random.default_rng(seed).normal(size=(15, 4)) + np.arange(4) / 2
    theirs = scikit_posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    ours = nemenyi(scores).frame()["p_value"].to_numpy()
    np.testing.assert_allclose(ours, theirs[np.triu_indices(4, 1)], atol=1e-6)


def test_groups_are_maximal_runs():
    result = nemenyi(DEMSAR, alpha=0.10)  # CD 1.118: 1.964 2.000 2.893 | 2.893 3.143
    assert result.groups() == [("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5")]
    assert repr(result).count("|") == 5
    assert "* differs from the control" in repr(bonferroni_dunn(DEMSAR, "C4.5", alpha=0.10))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: posthoc(DEMSAR, control="C4.5+n"), "Did you mean 'C4.5\\+m'?"),
        (lambda: bonferroni_dunn(DEMSAR, "zzz"), "There are 'C4.5', 'C4.5"),
        (lambda: posthoc(DEMSAR, control="C4.5", adjust="shaffer"), "made for all pairs"),
        (lambda: posthoc(DEMSAR, adjust="none"), "must be one of"),
        (lambda: nemenyi(DEMSAR, alpha=5), "alpha must lie between"),
        (lambda: nemenyi(DEMSAR, alpha="5 %"), "alpha must lie between 0 and 1; got '5 %'"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidDataError, match=message):
        call()


def test_results_print():
    assert "against C4.5, on 14 data sets; p-values adjusted by holm" in repr(posthoc(DEMSAR, control="C4.5"))
