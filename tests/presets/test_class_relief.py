"""The preset class-relief: figures the paper prints, and tables of hand-made results."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.handmade import results_of

from weighbors import ClassRelief
from weighbors.exceptions import InvalidDataError
from weighbors.presets import run_preset
from weighbors.presets.class_relief import (
    BUILT_IN,
    CREDITS,
    PRESET,
    PROBLEMS,
    TABLE_2,
    ClassVector,
    build,
    draw_partitions,
    spearman,
    tables,
)

WEIGHTS = {
    "RELIEF": [0, 1, 2],
    "class 1, neighbor": [0, 1, 2],  # correlation 1
    "class 2, neighbor": [2, 1, 0],  # -1
    "class 1, instance": [0, 2, 1],  # 1/2
    "class 2, instance": [1, 0, 2],  # 1/2
}


def cells_of(name, accuracies, second=WEIGHTS):
    """Two runs: the usual weights in the first, ``second`` in the second."""
    cells = []
    for fold, (accuracy, weights) in enumerate(zip(accuracies, (WEIGHTS, second), strict=True)):
        place = {"dataset": name, "fold": fold}
        cells += [{**place, "method": method, "weights": vector} for method, vector in weights.items()]
        for method, bonus in (("5-NN", 0.0), ("RELIEF, top 5", 0.1), ("cdRelief, neighbor, top 1", 0.2)):
            cells.append({**place, "method": method, "scores": {"accuracy": accuracy + bonus}})
    return cells


@pytest.fixture
def by_hand(tmp_path):
    turned = {**WEIGHTS, "class 1, neighbor": [2, 1, 0], "class 2, neighbor": [0, 2, 1]}
    cells = cells_of("bupa", (0.6, 0.8), turned) + cells_of("thyroid", (0.5, 0.5))
    return tables(results_of(tmp_path, cells, {"bupa": ["a", "b", "c"], "thyroid": ["a", "b", "c"]}))


def test_table_2_by_hand(by_hand):
    table = by_hand["table2"].set_index(["dataset", "quantity"])
    # bupa: corr1 1 and -1, corr2 -1 and 1/2, the larger 1 and 1/2; deviations with n - 1
    expected = {"accuracy": (70, np.sqrt(200)), "corr1": (0, np.sqrt(2e4)), "corr2": (-25, 150 / np.sqrt(2)),
                "max_corr": (75, 50 / np.sqrt(2))}  # fmt: skip
    for quantity, (mean, std) in expected.items():
        row = table.loc[("bupa", quantity)]
        assert (row["neighbor"], row["neighbor_std"]) == pytest.approx((mean, std))
    assert table.loc[("bupa", "corr1"), ["instance", "instance_std"]].tolist() == pytest.approx([50, 0])
    assert table.loc[("thyroid", "max_corr"), ["neighbor", "neighbor_std"]].tolist() == pytest.approx([100, 0])
    assert table.loc[("bupa", "corr2"), ["paper", "paper_std"]].tolist() == [-13.47, 38.37]


def test_runs_correlations_and_figures_by_hand(by_hand):
    runs = by_hand["runs"].set_index(["dataset", "run"])
    assert runs.loc[("bupa", 1), "accuracy_top5"] == pytest.approx(0.9)
    assert runs.loc[("bupa", 1), "max_corr_neighbor"] == pytest.approx(0.5)
    found = by_hand["spearman"].set_index(["hardness", "over", "credit"])
    # two means: bupa is the easier (.7 against .5) and has the lower correlation (.75 against 1)
    means = found.loc[("all features", "means", "neighbor")]
    assert (means["rho"], means["p_right"], means["n"]) == pytest.approx((-1, 1, 2))
    # runs: accuracies .6 .8 .5 .5 have ranks 3 4 1.5 1.5, correlations 1 .5 1 1 ranks 3 1 3 3
    assert found.loc[("all features", "runs", "neighbor"), "rho"] == pytest.approx(
        np.corrcoef([3, 4, 1.5, 1.5], [3, 1, 3, 3])[0, 1]
    )
    curve = by_hand["accuracy_by_features"].set_index(["dataset", "ranking", "n_features_used"])
    assert curve.loc[("bupa", "cdRelief, neighbor", 1), "accuracy"] == pytest.approx(0.9)
    weights = by_hand["weights"]
    assert weights.query("dataset == 'bupa'")["class 2, neighbor"].tolist() == [2, 1, 0]  # of the first run
    assert weights["feature"].tolist() == ["a", "b", "c"] * 2
    assert weights["number"].tolist() == [1, 2, 3] * 2
    text = PRESET.summary(by_hand)
    # table 2 has -13.47 (38.37) and 67.53 (23.31) for bupa, where -25 and 75 are; all others are farther off
    assert "credit='neighbor': 2 of 6 correlations" in text
    assert "rho -1.0000, right-tailed p 1; the paper prints 0.5952 and 0.06." in text


def test_the_printed_columns_have_the_printed_correlation():
    # paper 001, section 3.1: rho .5952, right-tailed p .06, of the columns Acc and Max Corr of table 2
    accuracy, largest = ([TABLE_2[name][i][0] for name in PROBLEMS] for i in (0, 3))
    rho, right, both = spearman(accuracy, largest)
    assert rho == pytest.approx(0.5952, abs=5e-5)
    assert right == pytest.approx(0.0662, abs=5e-4)
    assert both == pytest.approx(2 * right, abs=1e-3)
    # the paper's other p over means, .0154 for .8333 (squared rank differences of 14), is the two-sided one
    rho, right, both = spearman(range(8), [0, 1, 2, 3, 5, 7, 6, 4])
    assert rho == pytest.approx(1 - 6 * 14 / (8 * 63))
    assert both == pytest.approx(0.0154, abs=5e-5)
    assert right == pytest.approx(0.0077, abs=5e-5)


def test_exact_p_by_hand():
    # three pairs in order: of six orders one is as good, one as good or as bad
    assert spearman([1, 2, 3], [4, 5, 6]) == pytest.approx((1, 1 / 6, 2 / 6))
    # ties: two of six orders of (1, 1, 2) put the 2 last
    assert spearman([1, 2, 3], [1, 1, 2])[1] == pytest.approx(1 / 3)
    assert np.isnan(spearman([1, 2, 3], [1, 1, 1])).all()
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30))
    rho, right, both = spearman(x, x + y)
    assert right == pytest.approx(both / 2)
    assert rho == pytest.approx(pd.Series(x).corr(pd.Series(x + y), method="spearman"))


def test_partitions_have_the_sizes_of_table_1():
    y = np.repeat(["a", "b"], [145, 200])
    splits = draw_partitions("bupa", y, PROBLEMS["bupa"].train)
    assert len(splits) == 10
    for train, test in splits:
        assert [np.sum(y[train] == label) for label in "ab"] == [119, 157]
        assert [np.sum(y[test] == label) for label in "ab"] == [26, 43]  # paper 001, table 1
        assert sorted([*train, *test]) == list(range(345))
    assert len({tuple(train) for train, _ in splits}) == 10
    again = draw_partitions("bupa", y, PROBLEMS["bupa"].train)
    assert all((one[0] == two[0]).all() for one, two in zip(splits, again, strict=True))
    assert not (draw_partitions("pima", y, (119, 157))[0][0] == splits[0][0]).all()


def test_a_class_vector_is_a_part_of_relief():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    for credit in CREDITS:
        weigher = ClassRelief(1, credit=credit)
        parts = [ClassVector(weigher, c).fit(X, y).feature_weights_ for c in (0, 1)]
        assert sum(parts) == pytest.approx(weigher.fit(X, y).feature_weights_)


def test_published_rows(papers_data, tmp_path):
    # paper 001, table 2, the rows whose partitions exist; printed cut off, not rounded, at two decimals
    names = ["breast-cancer", "heart"]
    methods = ["5-NN", "RELIEF", "RELIEF, top 5", *(f"class {c}, {credit}" for c in (1, 2) for credit in CREDITS)]
    study = build(True, papers_data).study(tmp_path)
    results = study.run(datasets=names, methods=methods)
    done = results.cells[results.cells["status"] == "done"]
    assert len(done) == 2 * 10 * len(methods)
    table = tables(replace(results, cells=done))["table2"]
    assert len(table) == 8
    for row in table.itertuples():
        assert row.neighbor == pytest.approx(row.paper, abs=0.02)
        assert row.neighbor_std == pytest.approx(row.paper_std, abs=0.02)
        if row.quantity in ("corr1", "corr2"):  # the formula as printed gives other figures
            assert abs(row.instance - row.paper) > 20


def test_sizes_of_the_problems(papers_data):
    definition = build(False, papers_data)
    for name, load in definition.datasets.items():
        data = load()
        assert data.X.shape[1] == PROBLEMS[name].n_features
        counts = [np.unique(data.y[train], return_counts=True)[1] for train, _ in data.splits]
        assert len(counts) == 10
        assert all(sum(count) == sum(PROBLEMS[name].train) for count in counts)
        methods = definition.methods(name)
        tops = [method for method in methods if ", top " in method]
        assert len(tops) == 3 * (13 + 10 if name == "splice" else PROBLEMS[name].n_features)
        assert len(methods) == len(tops) + 6


@pytest.mark.slow
def test_quick(papers_data, tmp_path):
    result = run_preset("class-relief", output=tmp_path, quick=True, data_home=papers_data, n_jobs=1)
    assert not len(result.failures)
    assert set(itertools.chain(*[table.columns for table in result.tables.values()])) >= {"rho", "neighbor", "number"}
    assert result.tables["table2"]["dataset"].nunique() == len(PRESET.data_sets(True))


def test_built_in_problems_are_as_described():
    from weighbors.presets.class_relief import _load_built_in

    for name, problem in BUILT_IN.items():
        data = _load_built_in(name)
        assert data.X.shape[1] == problem.n_features
        labels, counts = np.unique(data.y, return_counts=True)
        assert len(labels) == 2
        assert problem.train == tuple(round(0.8 * count) for count in counts)
        train, test = data.splits[0]
        assert np.array_equal(np.unique(data.y[train], return_counts=True)[1], problem.train)
        assert len(train) + len(test) == len(data.y)


def test_quick_without_a_directory_of_data_sets(monkeypatch, tmp_path):
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    monkeypatch.setattr("weighbors.presets.class_relief.BUILT_IN_RUNS", 2)
    monkeypatch.setattr(
        "weighbors.presets.class_relief.BUILT_IN", {name: BUILT_IN[name] for name in list(BUILT_IN)[1:3]}
    )
    result = run_preset("class-relief", output=tmp_path, quick=True, n_jobs=1, progress=False)
    assert len(result.failures) == 0
    assert result.made["statement"] == PRESET.offline
    table = result.tables["table2"]
    assert table["dataset"].unique().tolist() == ["wine, 0 or 1", "wine, 0 or 2"]
    assert table["paper"].isna().all()
    assert table["neighbor"].notna().all()
    curves = result.tables["accuracy_by_features"]
    assert sorted(curves["n_features_used"].unique()) == [1, 2, 3, 5, 8, 13]  # fewer than in the full study
    assert result.text.startswith("Built-in tables")
    assert "the paper prints" not in result.text
    with pytest.raises(InvalidDataError, match="WEIGHBORS_DATA"):
        run_preset("class-relief", output=tmp_path)
