"""compare: its parts equal those of the single tests, and every step is described."""

import numpy as np
import pandas as pd
import pytest
from support.published import DEMSAR

from weighbors.exceptions import InvalidDataError
from weighbors.stats import compare, friedman, iman_davenport, nemenyi, posthoc, wilcoxon


def test_it_is_made_of_the_single_tests():
    found = compare(DEMSAR, ties="ignored")
    assert found.friedman.statistic == friedman(DEMSAR, ties="ignored").statistic
    assert found.iman_davenport.p_value == iman_davenport(DEMSAR, ties="ignored").p_value
    assert found.critical_difference.critical_difference == nemenyi(DEMSAR).critical_difference
    for name in ("holm", "hochberg", "shaffer", "bergmann"):
        assert found.pairs[name].tolist() == posthoc(DEMSAR, adjust=name).frame()["adjusted"].tolist()
    first = found.frame().iloc[0]
    assert (first["first"], first["second"]) == ("C4.5", "C4.5+m")
    assert (first["wins"], first["ties"], first["losses"]) == (2, 2, 10)
    assert first["p_wilcoxon"] == wilcoxon(DEMSAR["C4.5"], DEMSAR["C4.5+m"]).p_value


def test_it_says_what_it_did():
    said = repr(compare(DEMSAR))
    for part in ("Ranked 4 methods within each of 14 data sets", "ties on 4 data sets", "ties corrected",
                 "Nemenyi's critical difference of all pairs", "adjusted by holm, hochberg, shaffer, bergmann",
                 "exact for 0, normal approximation for 6"):  # fmt: skip
        assert part in said, part


def test_with_a_control():
    found = compare(DEMSAR, control="C4.5", alpha=0.1)
    assert len(found.pairs) == 3
    assert "shaffer" not in found.pairs
    assert found.critical_difference.test == "Bonferroni-Dunn"
    assert any("against C4.5 at alpha = 0.1" in step for step in found.steps)


def test_errors_turn_wins_into_losses():
    row = compare(1 - DEMSAR, higher_is_better=False).pairs.iloc[0]
    assert (row["wins"], row["losses"]) == (2, 10)


def test_two_methods():
    found = compare(DEMSAR[["C4.5", "C4.5+m"]])
    assert found.friedman is None
    assert any("No omnibus test: there are two methods" in step for step in found.steps)
    with pytest.raises(InvalidDataError, match="identical"):
        compare(DEMSAR[["C4.5"]].assign(other=DEMSAR["C4.5"]))


def test_two_equal_columns_among_others():
    found = compare(DEMSAR.assign(twin=DEMSAR["C4.5"]))
    pair = found.pairs.query("first == 'C4.5' and second == 'twin'").iloc[0]
    assert pair["p_wilcoxon"] == 1
    assert pair["p_rank"] == 1


def test_many_methods():
    found = compare(pd.DataFrame(np.random.default_rng(0).normal(size=(5, 13))))
    assert "bergmann" not in found.pairs
    assert any("Bergmann-Hommel left out" in step for step in found.steps)


def test_missing_cells_are_named():
    table = DEMSAR.copy()
    table.loc["iris", "C4.5+cf"] = np.nan
    with pytest.raises(InvalidDataError, match=r"\('iris', 'C4.5\+cf'\)"):
        compare(table)
    with pytest.raises(InvalidDataError, match="Did you mean 'C4.5'"):
        compare(DEMSAR, control="C45")
