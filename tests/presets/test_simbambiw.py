"""The preset simbambiw: tables of hand-made results, its inner error, and a small real share."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from support.handmade import results_of

from weighbors import Simba, SimbaMBIW, WeightedKNeighborsClassifier
from weighbors.presets import run_preset
from weighbors.presets.simbambiw import (
    BASELINES,
    PRESET,
    PROBLEMS,
    VARIANTS,
    _paired_t,
    _verdict,
    build,
    inner_error,
    ki_curves,
    tables,
    weighers,
)

#: Two folds. Equal: index 1 at every size. Swapped: 1 and 1 for one and two of four features, and for three
#: (2 - 9/4) / (3 - 9/4) = -1/3, so 5/9 on average. Reversed: (0 - 1/4) / (3/4) = -1/3, (0 - 1) / 1 = -1, -1/3.
EQUAL = ([4, 3, 2, 1], [8, 6, 4, 2])
SWAPPED = ([4, 3, 2, 1], [4, 3, 1, 2])
REVERSED = ([4, 3, 2, 1], [1, 2, 3, 4])


def cells_of(method, per_repeat, errors=(0.5, 0.5), labels=((0, 0), (1, 1))):
    """Cells of ten rows' worth of folds: fold f tests rows 2f and 2f + 1."""
    cells = []
    for repeat, weights in enumerate(per_repeat):
        for fold in (0, 1):
            cell = {
                "dataset": "toy",
                "method": method,
                "repeat": repeat,
                "fold": fold,
                "rows": [2 * fold, 2 * fold + 1],
            }
            cell |= {"scores": {"error_rate": errors[fold]}, "measures": {"inner_error": errors[fold] / 2}}
            cell["predictions"] = labels[fold] if repeat else (0, 0)
            cells.append(cell if weights is None else {**cell, "weights": weights[fold]})
    return cells


@pytest.fixture
def by_hand(tmp_path):
    cells = cells_of("no weights", [None] * 3)
    cells += cells_of("SIMBA", [SWAPPED, SWAPPED, REVERSED])
    cells += cells_of("SIMBA, step 1/N", [EQUAL] * 3, errors=(0.25, 0.25))
    cells += cells_of("SIMBAMBIW, order", [EQUAL, EQUAL, SWAPPED], errors=(0.25, 0.25), labels=((1, 1), (1, 1)))
    return results_of(tmp_path, cells)


def test_curves_by_hand(by_hand):
    assert ki_curves(by_hand, "toy", "SIMBA") == pytest.approx(
        np.array([[1, 1, -1 / 3], [1, 1, -1 / 3], [-1 / 3, -1, -1 / 3]])
    )
    curves = tables(by_hand)["curves"]
    assert curves["size"].tolist() == [1, 2, 3]
    assert curves["SIMBA"].tolist() == pytest.approx([(1 + 1 - 1 / 3) / 3, 1 / 3, -1 / 3])
    assert curves["SIMBA, step 1/N"].tolist() == pytest.approx([1, 1, 1])
    assert "no weights" not in curves


def test_tests_by_hand(by_hand):
    found = tables(by_hand)["tests"].set_index(["method", "against", "measure"])
    assert len(found) == 3 * 4  # step 1/N and order against SIMBA, order against step 1/N; four measures
    # means over sizes: SIMBA 5/9, 5/9, -5/9; order 1, 1, 5/9; differences 4/9, 4/9, 10/9
    row = found.loc[("SIMBAMBIW, order", "SIMBA", "stability")]
    assert row["gain"] == pytest.approx(6 / 9)
    # t = mean / (sd / sqrt 3) = (2/3) / (2/9) = 3, two degrees of freedom: p = 1 - 3 / sqrt(9 + 2)
    assert row["p_value"] == pytest.approx(1 - 3 / np.sqrt(11))
    assert row["verdict"] == "equal"
    # only the first feature is the smaller half of three sizes: SIMBA 1, 1, -1/3, order 1, 1, 1
    assert found.loc[("SIMBAMBIW, order", "SIMBA", "stability, smaller half"), "gain"] == pytest.approx(4 / 9)
    assert found.loc[("SIMBAMBIW, order", "SIMBA", "error")].tolist() == ["toy", 0.25, 0, "better"]  # .25 everywhere
    assert found.loc[("SIMBAMBIW, order", "SIMBA, step 1/N", "error")].tolist() == ["toy", 0, 1, "equal"]
    assert found.loc[("SIMBA, step 1/N", "SIMBA", "inner error"), "gain"] == pytest.approx(0.125)


def test_counts_by_hand(by_hand):
    made = tables(by_hand)
    counts = made["figure1"].set_index(["measure", "method", "against"])
    row = counts.loc[("error", "SIMBAMBIW, order", "SIMBA")]
    assert row[["better", "equal", "worse", "untested", "higher", "n"]].tolist() == [1, 0, 0, 0, 1, 1]
    assert row["worse_on"] == ""
    sizes = made["figure1_by_size"].set_index(["method", "against", "share"])
    # 5 % of four features is one, 50 % two: differences 0, 0, 4/3 and 0, 0, 2
    assert sizes.loc[("SIMBAMBIW, order", "SIMBA", 0.05), "mean_gain"] == pytest.approx(4 / 9)
    assert sizes.loc[("SIMBAMBIW, order", "SIMBA", 0.5), "mean_gain"] == pytest.approx(2 / 3)
    assert "SIMBAMBIW, order against SIMBA, error: better on 1, equal on 0, worse on 0 of 1, mean gain +0.250." in (
        PRESET.summary(made)
    )


def test_facts_by_hand(by_hand):
    facts = tables(by_hand)["by_data_set"].set_index("method")
    assert facts.loc["SIMBA", ["rows", "features", "repeats"]].tolist() == [10, 4, 3]
    assert facts.loc["SIMBA", "ki"] == pytest.approx(5 / 27)
    assert np.isnan(facts.loc["no weights", "ki"])
    assert facts.loc["SIMBAMBIW, order", "error"] == 0.25
    # plain: rows 0 and 1 always 0; rows 2 and 3 once 0, twice 1. order: all rows once 0, twice 1
    assert facts.loc["SIMBAMBIW, order", "same_as_plain"] == pytest.approx(8 / 12)
    assert facts.loc["no weights", "prediction_agreement"] == pytest.approx((1 + 1 + 1 / 3 + 1 / 3) / 4)
    assert facts.loc["SIMBAMBIW, order", "prediction_agreement"] == pytest.approx(1 / 3)
    assert facts.loc["SIMBA, step 1/N", "lowest_weight"] == pytest.approx(1.5)
    assert facts.loc["SIMBA", "seconds"] == 0.5


def test_verdicts():
    assert _verdict(0.1, 0.04) == "better"
    assert _verdict(-0.1, 0.04) == "worse"
    assert _verdict(-0.1, 0.05) == "equal"
    assert _verdict(0.1, np.nan) == "untested"
    two = np.array([0.1, 0.2])
    assert np.isnan(_paired_t(two, two))
    three = np.array([0.1, 0.2, 0.3])
    assert _paired_t(three, three) == 1
    assert _paired_t(three + 0.5, three) == 0


def slow_inner_error(model, X, y):
    """A fresh k-NN for each half, under the weights of its rows."""
    X, knn, wrong = model[:-1].transform(X), model[-1], []
    for train, test in RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=0).split(X, y):
        half = WeightedKNeighborsClassifier(knn.n_neighbors, knn.weights_.take(train))
        wrong.append(np.mean(half.fit(X[train], y[train]).predict(X[test]) != y[test]))
    return np.mean(wrong)


@pytest.mark.parametrize("k", [1, 5, 21])  # 21 of a half are rarely among the first 40 of all
@pytest.mark.parametrize("weigher", [None, Simba(random_state=0), SimbaMBIW()], ids=["none", "Simba", "SimbaMBIW"])
def test_inner_error_is_that_of_ten_fits(k, weigher):
    X, y = make_classification(120, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, flip_y=0.3, random_state=1)
    y = np.array(["u", "v", "w"])[y]
    model = Pipeline([("scale", StandardScaler()), ("knn", WeightedKNeighborsClassifier(k, weigher))]).fit(X, y)
    assert inner_error(model, X, y, None, None) == pytest.approx(slow_inner_error(model, X, y), abs=1e-12)


def test_inner_error_with_few_rows():
    X, y = make_classification(24, 4, random_state=2)
    model = Pipeline([("knn", WeightedKNeighborsClassifier(3))])
    model = Pipeline([("scale", StandardScaler()), *model.steps]).fit(X, y)
    assert inner_error(model, X, y, None, None) == pytest.approx(slow_inner_error(model, X, y))


def test_what_is_compared():
    assert set(weighers()) == {"no weights", *BASELINES, *VARIANTS}
    assert weighers()["SIMBA, step 1/N"].step == "1/n"
    assert weighers()["SIMBA, fixed order"].order == "fixed"
    assert weighers()["SIMBAMBIW, sample"].strategy == "sample"
    assert weighers()["SIMBAMBIW, synergetic"].synergy


def test_the_data_are_those_of_table_1(papers_data):
    # paper 000, table 1: d and C; gcm has fewer genes here, gisette and dorothea fewer rows (and columns)
    printed = {"pima": (8, 2), "glass": (9, 6), "heart": (13, 2), "ionosphere": (34, 2), "landsat": (36, 6),
               "spectf": (44, 2), "sonar": (60, 2), "vehicle": (18, 4), "waveform": (21, 3), "arcene": (10000, 2),
               "dexter": (20000, 2), "gisette": (5000, 2), "madelon": (500, 2), "breast": (24481, 2),
               "colon": (2000, 2), "lung": (12533, 2), "pop-failures": (18, 2)}  # fmt: skip
    definition = build(False, papers_data)
    assert set(definition.datasets) == set(PROBLEMS)
    for name, (d, classes) in printed.items():
        data = definition.datasets[name]()
        assert (data.X.shape[1], len(np.unique(data.y))) == (d, classes), name


def test_a_small_real_share(papers_data, tmp_path):
    # sonar: rankings of SIMBA differ much more between folds than those of small steps (a prototype had .51 and .76)
    definition = build(True, papers_data)
    methods = ["no weights", "SIMBA", "SIMBA, step 1/N", "SIMBAMBIW, order"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        results = definition.study(tmp_path).run(datasets=["sonar"], methods=methods)
    done = results.cells[results.cells["status"] == "done"]
    assert len(done) == len(methods) * 30
    halves = {name: ki_curves(results, "sonar", name)[:, :30].mean() for name in methods[1:]}
    assert halves["SIMBA"] < 0.6
    assert 0.7 < halves["SIMBA, step 1/N"] < 0.85
    assert 0.7 < halves["SIMBAMBIW, order"] < 0.85
    assert 0.05 < done["error_rate"].mean() < 0.3


def test_weights_are_learned_inside_the_folds(papers_data, tmp_path):
    data = build(True, papers_data).datasets["colon"]()
    rng = np.random.default_rng(0)
    noise = {"noise": (rng.normal(size=(60, 500)), np.asarray(data.y)[:60])}
    definition = build(True, papers_data)
    methods = {name: clone(method) for name, method in definition.methods("colon").items()}
    from weighbors.evaluation import Study

    results = Study(noise, methods, tmp_path, cv=10, n_repeats=2, scoring=("error_rate",), random_state=0).run()
    share = pd.Series(noise["noise"][1]).value_counts(normalize=True).max()
    # guessing costs 2 p (1 - p) to 1 - p here, with a deviation of about .06 over 60 rows
    assert results.table("error_rate").loc["noise"].between(1 - share - 0.15, 0.5 + 0.18).all()


@pytest.mark.slow
def test_quick(papers_data, tmp_path):
    result = run_preset("simbambiw", output=tmp_path, quick=True, data_home=papers_data, n_jobs=1)
    assert not len(result.failures)
    assert set(result.tables["by_data_set"]["dataset"]) == set(PRESET.data_sets(True))
    counts = result.tables["figure1"].set_index(["measure", "method", "against"])
    assert counts.loc[("stability", "SIMBAMBIW, order", "SIMBA"), "worse"] == 0  # the paper's claim


def test_quick_without_a_directory_of_data_sets(monkeypatch, tmp_path):
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    monkeypatch.setattr("weighbors.presets.simbambiw.BUILT_IN", {"iris": "iris"})
    result = run_preset("simbambiw", output=tmp_path, quick=True, n_jobs=1, progress=False)
    assert len(result.failures) == 0
    assert result.tables["by_data_set"]["dataset"].unique().tolist() == ["iris"]
    assert "no directory of data sets is named" in result.made["statement"]
