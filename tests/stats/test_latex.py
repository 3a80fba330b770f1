"""LaTeX tables against answers written by hand: bold, ties, deviations, ranks, p-values, captions and escapes."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.handmade import results_of

from weighbors._display.latex import escape_latex
from weighbors.exceptions import IncompleteStudyWarning, InvalidDataError
from weighbors.stats import compare

SCORES = pd.DataFrame(
    {"ours": [0.91, 0.80, 0.7004, 0.60], "old": [0.91, 0.70, 0.7001, 0.50], "k_1 & 50%": [0.10, 0.90, 0.20, 0.30]},
    index=["wine", "iris", "a_b", "[x]*"],
)


def test_every_line_by_hand():
    """Means: 3.0104, 2.8101 and 1.5 over 4. Ranks: 1.5 + 2 + 1 + 1, 1.5 + 3 + 2 + 2, 3 + 1 + 3 + 3 over 4."""
    assert compare(SCORES).to_latex().splitlines() == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"data set & ours & old & k\_1 \& 50\% \\",
        r"\midrule",
        r"wine & $\mathbf{0.910}$ & $\mathbf{0.910}$ & $0.100$ \\",
        r"iris & $0.800$ & $0.700$ & $\mathbf{0.900}$ \\",
        r"a\_b & $\mathbf{0.700}$ & $\mathbf{0.700}$ & $0.200$ \\",  # 0.7004 and 0.7001 print the same
        r"{[}x{]}{*} & $\mathbf{0.600}$ & $0.500$ & $0.300$ \\",
        r"\midrule",
        r"mean $\pm$ sd & $\mathbf{0.753} \pm 0.133$ & $0.703 \pm 0.167$ & $0.375 \pm 0.359$ \\",
        r"mean rank & $\mathbf{1.38}$ & $2.12$ & $2.50$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_the_hand_made_deviations_are_right():
    """0.91, 0.8, 0.7004, 0.6 have the mean 0.7526 and squared differences that sum to 0.0533."""
    values = [0.91, 0.8, 0.7004, 0.6]
    assert np.sqrt(sum((value - 0.7526) ** 2 for value in values) / 3) == pytest.approx(0.133, abs=5e-4)


def test_more_decimals_tell_ties_apart():
    lines = compare(SCORES).to_latex(decimals=4).splitlines()
    assert r"a\_b & $\mathbf{0.7004}$ & $0.7001$ & $0.2000$ \\" in lines


def test_lower_errors_are_better():
    lines = compare(1 - SCORES, higher_is_better=False).to_latex(decimals=2).splitlines()
    assert r"iris & $0.20$ & $0.30$ & $\mathbf{0.10}$ \\" in lines
    assert r"mean rank & $\mathbf{1.38}$ & $2.12$ & $2.50$ \\" in lines


def test_zero_has_no_sign():
    table = pd.DataFrame({"a": [-0.0001, 1.0], "b": [-0.5, 0.5]})
    assert r"0 & $\mathbf{0.00}$ & $-0.50$ \\" in compare(table).to_latex(decimals=2).splitlines()


def test_deviations_stand_beside_the_scores():
    spread = pd.DataFrame(0.0125, index=SCORES.index[::-1], columns=[*SCORES.columns, "another"])
    spread.loc["iris", "old"] = np.nan
    lines = compare(SCORES).to_latex(deviations=spread, decimals=2).splitlines()
    assert r"iris & $0.80 \pm 0.01$ & $0.70$ & $\mathbf{0.90} \pm 0.01$ \\" in lines
    with pytest.raises(InvalidDataError, match=r"they lack \['wine', 'old'\]"):
        compare(SCORES).to_latex(deviations=spread.drop(index="wine", columns="old"))


def test_caption_and_label_are_latex():
    text = compare(SCORES).to_latex(caption=r"Accuracy, $k = 5$, of \emph{ours}.", label="tab:all")
    assert text.splitlines()[:5] == [
        r"\begin{table}",
        r"\centering",
        r"\caption{Accuracy, $k = 5$, of \emph{ours}.}",
        r"\label{tab:all}",
        r"\begin{tabular}{lrrr}",
    ]
    assert text.endswith("\\end{tabular}\n\\end{table}")
    assert r"\caption" not in compare(SCORES).to_latex(label="tab:all")


def test_a_control_has_p_values():
    found = compare(SCORES, control="old")
    expected = {one.second if one.first == "old" else one.first: one.wilcoxon_holm for one in found.pairs.itertuples()}
    last = found.to_latex().splitlines()[-3]
    assert last == rf"$p$ against old & ${expected['ours']:.3f}$ & -- & ${expected['k_1 & 50%']:.3f}$ \\"


def test_tiny_p_values_are_bounded():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"good": rng.random(30) + 2, "bad": rng.random(30), "worse": rng.random(30)})
    assert "$<0.001$" in compare(table, control="good").to_latex()


@pytest.mark.parametrize("decimals", [-1, 2.0, True, 16])
def test_decimals_are_checked(decimals):
    with pytest.raises(InvalidDataError, match="decimals"):
        compare(SCORES).to_latex(decimals=decimals)


def test_every_special_character_is_escaped():
    assert escape_latex("\\ ~ ^ < > | [ ] * & % $ # _ { } \n\tend") == (
        r"\textbackslash{} \textasciitilde{} \textasciicircum{} \textless{} \textgreater{} \textbar{} {[} {]} {*} "
        r"\& \% \$ \# \_ \{ \} end"
    )


def study(place, *, lacking=False):
    """Two data sets, two methods, three folds each: accuracies 0.8, 0.9, 1.0 and so on."""
    means = {("wine", "b"): 0.9, ("wine", "a_1"): 0.9, ("iris", "b"): 0.5, ("iris", "a_1"): 0.7}
    cells = [
        {"dataset": data, "method": method, "fold": fold, "scores": {"accuracy": mean + shift, "error_rate": 1 - mean}}
        for (data, method), mean in means.items()
        for fold, shift in enumerate((-0.1, 0.0, 0.1))
    ]
    if lacking:
        del cells[-1]["scores"]["accuracy"]
    return results_of(place, cells)


def test_results_of_a_study(tmp_path):
    found = study(tmp_path)
    assert found.to_latex(decimals=2).splitlines()[2:-2] == [
        r"data set & a\_1 & b \\",
        r"\midrule",
        r"iris & $\mathbf{0.70} \pm 0.10$ & $0.50 \pm 0.10$ \\",
        r"wine & $\mathbf{0.90} \pm 0.10$ & $\mathbf{0.90} \pm 0.10$ \\",
    ]
    np.testing.assert_allclose(found.deviations(), 0.1)
    text = found.to_latex("error_rate", datasets="wine", methods=["b", "a_1"], decimals=1, caption="c")
    assert r"wine & $\mathbf{0.1} \pm 0.0$ & $\mathbf{0.1} \pm 0.0$ \\" in text.splitlines()
    assert re.search(r"data set & b & a\\_1", text)
    iris = found.to_latex("error_rate", datasets=iter(["iris"]), decimals=1).splitlines()[4]
    assert iris == r"iris & $\mathbf{0.3} \pm 0.0$ & $0.5 \pm 0.0$ \\"
    single = replace(found, cells=found.cells[found.cells["fold"] == 0])
    assert single.deviations().isna().to_numpy().all()
    assert r"iris & $\mathbf{0.6}$ & $0.4$ \\" in single.to_latex(decimals=1)
    whole = compare(found.table()).to_latex(deviations=found.deviations(), decimals=2)
    assert r"iris & $\mathbf{0.70} \pm 0.10$ & $0.50 \pm 0.10$ \\" in whole


def test_data_sets_that_lack_cells_are_left_out(tmp_path):
    with pytest.warns(IncompleteStudyWarning):
        text = study(tmp_path, lacking=True).to_latex(incomplete="drop", datasets=["iris", "wine"])
    assert "wine &" in text
    assert "iris &" not in text
