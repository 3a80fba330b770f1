"""The preset of paper 002: its figures, and its tables on results made by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from weighbors import WIBK
from weighbors.evaluation import StudyResults
from weighbors.presets import load_preset, run_preset, wibk
from weighbors.presets._weka_folds import WekaFolds

ALL = [method for methods in wibk.METHODS.values() for method in methods]


def cells_of(accuracies, n_test=None):
    """Cells of {data set: {method: [accuracy of each fold of one repeat]}}."""
    rows = [
        {"dataset": name, "method": method, "repeat": 0, "fold": fold, "status": "done", "accuracy": accuracy}
        for name, methods in accuracies.items()
        for method, folds in methods.items()
        for fold, accuracy in enumerate(folds)
    ]
    cells = pd.DataFrame(rows)
    sizes = cells["fold"].map(dict(enumerate(n_test))) if n_test else 1
    return cells.assign(n_test=sizes).astype({"n_test": "Int64"})


def found_of(accuracies):
    """Accuracies in per cent, as `wibk.accuracies` gives them."""
    rows = [
        {"dataset": name, "method": method, "accuracy": value, "std": 0.5}
        | dict.fromkeys(["fold_mean", "first_fold_mean", "first_accuracy"], value)
        for name, methods in accuracies.items()
        for method, value in methods.items()
    ]
    return pd.DataFrame(rows)


def printed(name):
    """The paper's own figures as if they were ours."""
    paper = wibk.PROBLEMS[name].paper
    return {method: paper[column] for column, methods in wibk.METHODS.items() for method in methods}


def test_the_paper_counts_its_own_tables():
    # paper 002, sections 4.2 and 4.3: best on 6 of 8 data sets in table 4 and on 4 of 8 in table 5
    found = wibk.claims(found_of({name: printed(name) for name in wibk.PROBLEMS}))
    assert found["paper"].tolist() == [6, 4]
    assert found["WIBK"].tolist() == [6, 4]
    assert found["data_sets"].tolist() == [8, 8]


def test_every_column_has_a_method():
    assert list(wibk.METHODS) == list(wibk.COLUMNS)
    assert sorted(ALL) == sorted(wibk._methods("tae"))
    for name, problem in wibk.PROBLEMS.items():
        models = wibk._methods(name)
        assert models["WIBK"].n_neighbors == models["IBk, 1-d"].n_neighbors == problem.k


def test_complete_rows(papers_data):
    # complete rows of the files: breast-cancer loses 16 of 699, lung-cancer 5 of 32
    shapes = {name: load().X.shape for name, load in load_preset("wibk").build(False, None).datasets.items()}
    assert shapes["breast-cancer-wisconsin"] == (683, 9)
    assert shapes["lung-cancer"] == (27, 56)
    assert shapes["cmc"] == (1473, 9)


def test_accuracy_over_rows_and_over_folds():
    cells = pd.concat(
        [
            cells_of({"tae": {"IB1": [1.0, 0.5]}}, n_test=[1, 4]),
            cells_of({"tae": {"IB1": [0.0, 0.75]}}, n_test=[1, 4]).assign(repeat=1),
        ]
    )
    found = wibk.accuracies(cells).iloc[0]
    assert found["accuracy"] == pytest.approx(100 * (3 / 5 + 3 / 5) / 2)  # 1 + 2 and 0 + 3 of five rows
    assert found["std"] == pytest.approx(0)
    assert found["fold_mean"] == pytest.approx(100 * (1 + 0.5 + 0 + 0.75) / 4)
    assert found["first_accuracy"] == pytest.approx(60)
    assert found["first_fold_mean"] == pytest.approx(75)


def test_ours_beside_the_paper():
    found = found_of({name: dict.fromkeys(ALL, 60.0) for name in ("tae", "cmc")})
    found = found.assign(first_fold_mean=62.2917, first_accuracy=52.9)
    table = wibk.beside_paper(found, "4").set_index(["dataset", "method"])
    assert len(table) == 2 * 13
    row = table.loc[("tae", "IBk, ties by index")]
    assert (row["k"], row["paper"], row["column"]) == (1, 62.291, "IB-K")
    assert row["difference"] == pytest.approx(60 - 62.291)
    assert row["paper_folds"] == 62.2917  # table 4 has means over folds
    table = wibk.beside_paper(found, "5").set_index(["dataset", "method"])
    assert len(table) == 2 * 6
    assert table.loc[("tae", "GaussianNB"), "paper_folds"] == 52.9  # table 5 shares of all rows


def test_figures_to_the_digit():
    # printed 62.291: 62.2917 was cut off there, 62.2921 and 62.2909 were not
    columns = ["column", "method", "paper", "paper_folds", "difference"]
    rows = [("IB-K", "IBk", 62.291, ours, 2.0) for ours in (62.2917, 62.2921, 62.2909, 63.3, 61.292)]
    rows += [("LWL", "LWL", 92.09, 92.0908, -0.5)]
    fifth = pd.DataFrame([("NB", "GaussianNB", 96.33, 96.3396, 0.0)], columns=columns)
    found = wibk.on_paper_folds({"4": pd.DataFrame(rows, columns=columns), "5": fifth}).set_index("method")
    assert found["table"].tolist() == ["4", "4", "5"]
    assert found["to_the_digit"].to_dict() == {"IBk": 1, "LWL": 1, "GaussianNB": 1}
    assert found["within_1"].to_dict() == {"IBk": 4, "LWL": 1, "GaussianNB": 1}
    assert found["within_1_repeats"].to_dict() == {"IBk": 0, "LWL": 1, "GaussianNB": 1}
    assert found["data_sets"].tolist() == [5, 1, 1]


def test_how_often_it_is_best():
    ours = {name: dict.fromkeys(ALL, 50.0) for name in ("tae", "cmc", "haberman")}
    ours["tae"] |= {"WIBK": 60.0, "LWL": 55.0}
    ours["cmc"] |= {"IBk, 1/d": 70.0}
    ours["haberman"] |= {"WIBK": 49.0, "k-NN, raw": 80.0, "SVC, linear, C = 1, min-max": 70.0}
    found = wibk.claims(found_of(ours)).set_index("table")
    assert found["WIBK"].to_dict() == {"4": 1, "5": 2}  # tae; there also cmc, where all of table 5 tie
    assert found["k-NN, raw"].to_dict() == {"4": 1, "5": 3}
    assert found["paper"].to_dict() == {"4": 3, "5": 3}


def test_where_the_gain_comes_from():
    # oracles: corrected resampled t on these ten differences, 10-fold: p .169242
    d = [0.02, -0.01, 0.03, 0.04, 0.0, 0.05, 0.01, 0.02, -0.03, 0.06]
    folds = {method: [0.5] * 10 for method in ALL} | {"WIBK": [0.5 + one for one in d]}
    cells = cells_of({"tae": folds})
    found = wibk.gains(StudyResults(cells, ("accuracy",)), wibk.accuracies(cells)).iloc[0]
    assert found["paper_gain"] == pytest.approx(72.958 - 62.291)
    assert found["gain"] == pytest.approx(1.9)
    assert found["of_raw_values"] == pytest.approx(0)
    assert found["of_weights"] == pytest.approx(1.9)
    assert found["p_weights"] == pytest.approx(0.169242, abs=1e-6)
    folds["WIBK"] = folds["k-NN, raw"] = [0.75] * 10  # no difference in any fold
    cells = cells_of({"tae": folds})
    found = wibk.gains(StudyResults(cells, ("accuracy",)), wibk.accuracies(cells)).iloc[0]
    assert (found["of_raw_values"], found["of_weights"], found["p_weights"]) == (25, 0, 1)


def test_summary():
    cells = cells_of({name: {m: [v / 100] * 10 for m, v in printed(name).items()} for name in ("tae", "cmc")})
    tables = wibk.tables(StudyResults(cells, ("accuracy",)))
    assert sorted(tables) == ["best", "gains", "paper_folds", "table4", "table5"]
    lines = wibk.summary(tables).splitlines()
    assert lines[0] == (
        "WIB-K (WIBK): on the paper's own folds its figure to the digit on 2 of 2 data sets, within a point on 2; "
        "over all repeats within a point on 2."
    )
    assert "Table 4: WIB-K is best on 2 of 2 data sets in the paper, on 2 here" in "\n".join(lines)
    assert lines[-1].startswith("Gain over IB-K, mean of the data sets: 8.7 points in the paper, 8.7 here")


def test_a_cell_is_what_it_is_by_hand(papers_data, tmp_path):
    definition = load_preset("wibk").build(True, None)
    study = definition.study(tmp_path)
    cells = study.run(datasets=["hayes-roth-132"], methods=["WIBK", "IB1"]).frame().query("status == 'done'")
    assert len(cells) == 2 * 20
    data = definition.datasets["hayes-roth-132"]()
    X, y = data.X.to_numpy(), data.y
    by_hand = {}
    for cell in study._list_cells():
        if (cell.dataset, cell.method) == ("hayes-roth-132", "WIBK"):
            model = WIBK(2).fit(X[cell.train], y[cell.train])
            by_hand[cell.repeat, cell.fold] = np.mean(model.predict(X[cell.test]) == y[cell.test])
    found = cells.query("method == 'WIBK'").set_index(["repeat", "fold"])["accuracy"]
    pd.testing.assert_series_equal(found.sort_index(), pd.Series(by_hand).sort_index(), check_names=False)


#: methods.md, section 3, a prototype of its own: raw k-NN with ties to the nearest, the default, the complement.
PROTOTYPE = {
    "balance-scale": (89.8, 90.0, 89.8),
    "breast-cancer-wisconsin": (97.6, 97.1, 97.5),
    "cmc": (54.5, 54.7, 54.1),
    "dermatology-358": (90.1, 89.5, 91.2),
    "haberman": (75.7, 74.4, 76.2),
    "hayes-roth-132": (74.6, 74.5, 76.9),
    "lung-cancer": (57.8, 19.6, 60.7),
    "tae": (60.7, 64.4, 64.8),
}
READINGS = ("k-NN, raw, ties to the nearest", "WIBK", "WIBK, complement, ties to the nearest")


def check_readings(accuracies, slack):
    for name, points in slack.items():
        for reading, figure in zip(READINGS, PROTOTYPE[name], strict=True):
            assert accuracies[name, reading] == pytest.approx(figure, abs=points), (name, reading)


def test_readings_in_part(papers_data, tmp_path):
    slack = {"dermatology-358": 1.5, "haberman": 1.5, "tae": 4.0}
    full = load_preset("wibk").build(False, None)
    part = replace(full, datasets={name: full.datasets[name] for name in slack}, cv=WekaFolds(10, 2))
    cells = part.study(tmp_path).run(methods=READINGS).frame().query("status == 'done'")
    found = wibk.accuracies(cells)
    check_readings(found.set_index(["dataset", "method"])["accuracy"], slack)


@pytest.mark.slow
def test_quick(papers_data, tmp_path):
    result = run_preset("wibk", output=tmp_path, quick=True, n_jobs=1, progress=False)
    assert not len(result.failures)
    assert result.made["cells"] == {"done": 3 * 19 * 20}
    table = result.tables["table4"].set_index(["dataset", "method"])
    assert abs(table.loc[("haberman", "IBk, ties by index"), "difference"]) < 2  # paper 002, table 4
    assert abs(table.loc[("hayes-roth-132", "WIBK"), "difference"]) < 5


@pytest.fixture(scope="module")
def committed():
    place = Path(__file__).parents[2] / "docs" / "results" / "wibk"
    return pd.concat([pd.read_csv(place / f"{table}.csv") for table in ("table4", "table5")])


def test_committed_figures(committed):
    ours = committed.set_index(["dataset", "method"])["accuracy"]
    # within 1 point of the prototype on the five larger sets, within the spread of the repeats on the others
    slack = dict.fromkeys(list(PROTOTYPE)[:5], 1.0) | {"hayes-roth-132": 2.0, "lung-cancer": 4.0, "tae": 2.5}
    check_readings(ours, slack)
    rows = committed.set_index(["method", "dataset"])
    gap = rows["difference"].abs()
    assert (gap["IBk, ties by index"] <= 1.5).sum() >= 6
    assert (gap["IBk, all ties (Weka's rule)"] <= 1.5).sum() >= 5
    # on the paper's own folds LWL is within a point on the sets it is judged by, K* to the digit on all
    there = (rows["paper_folds"] - rows["paper"]).abs()
    assert (there["LWL, all but the farthest"][["balance-scale", "haberman", "tae"]] <= 1).all()
    assert (there["KStar"] < 0.001).all()


@pytest.mark.slow
def test_the_committed_figures_can_be_had_again(committed, papers_data, tmp_path):
    methods = [*READINGS, "IBk, ties by index", "KStar", "DecisionTreeClassifier, not pruned"]
    full = load_preset("wibk").build(False, None)
    study = replace(full, datasets={name: full.datasets[name] for name in ("haberman", "tae")}).study(tmp_path)
    found = wibk.accuracies(study.run(methods=methods).frame().query("status == 'done'"))
    ours = found.set_index(["dataset", "method"])[["accuracy", "std"]]
    expected = committed.set_index(["dataset", "method"])[["accuracy", "std"]].loc[ours.index]
    np.testing.assert_allclose(ours, expected, rtol=1e-5)


def test_quick_without_a_directory_of_data_sets(monkeypatch, tmp_path):
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    monkeypatch.setattr(wibk, "BUILT_IN", {name: wibk.BUILT_IN[name] for name in ["iris, in millimetres"]})
    kept = ("WIBK", "k-NN, raw", "IBk, ties by index")
    every = wibk._methods("iris, in millimetres")
    quick = {name: model if name in kept else WIBK(5) for name, model in every.items()}  # the others are slower
    monkeypatch.setattr(wibk, "_methods", lambda name: quick)
    result = run_preset("wibk", output=tmp_path, quick=True, n_jobs=1, progress=False)
    assert len(result.failures) == 0
    assert result.made["statement"] == wibk.PRESET.offline
    assert result.tables["table4"]["paper"].isna().all()
    assert result.tables["table4"]["accuracy"].between(90, 100).all()
    lines = result.text.splitlines()
    assert lines[0].startswith("Built-in tables")
    assert not any("in the paper" in line for line in lines)
    assert lines[1].startswith("Table 4: WIB-K is best on 1 of 1 data sets; the same k-NN without weights on ")


def test_built_in_tables_are_integers():
    for name in wibk.BUILT_IN:
        data = wibk._load_built_in(name)
        assert (data.X.round() == data.X).all(axis=None)
        assert np.ptp(data.X.to_numpy()) > 10
        assert len(np.unique(data.y)) == (3 if name.startswith("iris") else 2)
