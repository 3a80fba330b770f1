"""The preset of paper 004: its description, and its tables on results made by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from weighbors import EvolutionaryWeigher, WeightedKNeighborsClassifier
from weighbors.datasets import list_datasets
from weighbors.evaluation import StudyResults
from weighbors.presets import ifsw, load_preset, run_preset

METHODS = ["none", *ifsw.COMBINATIONS]


def cells_of(scores, folds=2):
    """Cells of {data set: {method: score}}: accuracy and G-mean are alike, the folds too."""
    rows = [
        {
            "dataset": name,
            "method": method,
            "repeat": 0,
            "fold": fold,
            "status": "done",
            "accuracy": score,
            "g_mean": score,
            "performance": score,
            "reduction": np.nan if "S" not in method else 0.5,
            "fit_seconds": 1.0,
        }
        for name, methods in scores.items()
        for method, score in methods.items()
        for fold in range(folds)
    ]
    return pd.DataFrame(rows)


def falling(names, order=METHODS, suffix=""):
    """The first of ``order`` is best everywhere; gaps differ between data sets."""
    return {
        name: {method + suffix: 1 - 0.01 * place * (row + 1) for place, method in enumerate(order)}
        for row, name in enumerate(names)
    }


def test_all_combinations():
    assert len(ifsw.COMBINATIONS) == 15
    assert {frozenset(tasks.split("+")) for tasks in ifsw.COMBINATIONS} == {
        frozenset(task for bit, task in enumerate(("IS", "FS", "IW", "FW")) if number >> bit & 1)
        for number in range(1, 16)
    }


def test_problems(papers_data):
    definition = load_preset("ifsw").build(False, None)
    assert (len(ifsw.STANDARD), len(ifsw.IMBALANCED)) == (40, 43)
    assert not set(ifsw.STANDARD) & set(ifsw.IMBALANCED)
    sizes = list_datasets().set_index(["group", "name"])["rows"]
    for name, load in definition.datasets.items():
        data = load()
        assert len(data.X) <= sizes[(ifsw.STANDARD | ifsw.IMBALANCED)[name], name] <= 2500, name
        assert np.isfinite(data.X.to_numpy()).all(), name
        counts = pd.Series(data.y).value_counts()
        methods = definition.methods(name)
        if name in ifsw.IMBALANCED:
            assert (len(counts), len(methods)) == (2, 45), name
            assert counts.min() >= 10, name  # one in every test part
        else:
            assert len(methods) == 27, name


@pytest.mark.parametrize("name", ["cleveland", "iris", "wisconsin"])
def test_partitions_of_keel(papers_data, name):
    data = load_preset("ifsw").build(False, None).datasets[name]()
    assert len(data.splits) == 30
    for repetition in (data.splits[:10], data.splits[10:20], data.splits[20:]):
        tested = np.concatenate([test for _, test in repetition])
        np.testing.assert_array_equal(np.sort(tested), np.arange(len(data.y)))
    shares = pd.Series(data.y).value_counts(normalize=True)
    for train, test in data.splits:
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == len(data.y)
        found = pd.Series(data.y[test]).value_counts(normalize=True)
        assert (found.reindex(shares.index, fill_value=0) - shares).abs().max() < 0.08  # stratified, to two rows


def test_undersampling_alone():
    y = np.array(["b"] * 30 + ["a"] * 7 + ["c"] * 9)
    first, again, other = (
        ifsw.Undersample(seed).fit(np.zeros((46, 1)), y).weights_.instance_mask for seed in (1, 1, 2)
    )
    assert pd.Series(y[first]).value_counts().to_dict() == {"a": 7, "b": 7, "c": 7}
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_cell_is_what_it_is_by_hand(papers_data, tmp_path):
    definition = load_preset("ifsw").build(True, None)
    methods = ["none", "IS+FW", "FS, undersampled", "none, undersampled"]
    study = definition.study(tmp_path)
    cells = study.run(datasets=["new-thyroid1"], methods=methods).frame().query("status == 'done'")
    assert len(cells) == 12
    data = definition.datasets["new-thyroid1"]()
    cell = cells.query("method == 'IS+FW'").iloc[0]
    rows = pd.read_csv(papers_data / "D_imbalanced" / "new-thyroid1.csv")
    np.testing.assert_allclose(data.X, rows.iloc[:, :-1], rtol=1e-6)
    train, test = next(
        (one.train, one.test)
        for one in study._list_cells()
        if (one.dataset, one.method, one.fold) == ("new-thyroid1", "IS+FW", cell["fold"])
    )
    X, y = data.X.to_numpy(), data.y
    scaler = StandardScaler().fit(X[train])
    search = EvolutionaryWeigher(
        "IS+FW", "g_mean", population_size=50, max_evaluations=1000, random_state=int(cell["seed"])
    ).fit(scaler.transform(X[train]), y[train])
    model = WeightedKNeighborsClassifier(1, search.weights_).fit(scaler.transform(X[train]), y[train])
    told = model.predict(scaler.transform(X[test]))
    recalls = [np.mean(told[y[test] == c] == c) for c in np.unique(y)]
    assert cell["g_mean"] == pytest.approx(np.sqrt(recalls[0] * recalls[1]))
    assert cell["accuracy"] == pytest.approx(np.mean(told == y[test]))
    assert cell["reduction"] == pytest.approx(1 - search.instance_support_.mean())  # no feature is dropped
    assert cell["performance"] == pytest.approx(search.performance_)
    alone = cells.query("method == 'none, undersampled'")
    smallest = pd.Series(y).value_counts().min()
    np.testing.assert_allclose(alone["reduction"], 1 - 2 * smallest * 2 / 3 / (len(y) * 2 / 3), atol=0.02)


@pytest.mark.parametrize("strategy", ["all", "auto"])
@pytest.mark.parametrize("name", [name for name, made in ifsw.SELECTORS.items() if isinstance(made, str)])
def test_samplers_of_imbalanced_learn_keep_the_same_rows(name, strategy):
    under_sampling = pytest.importorskip("imblearn.under_sampling")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 3)), rng.normal(1.0, size=(25, 3))])
    y = np.array(["many"] * 60 + ["few"] * 25)
    sampler = getattr(under_sampling, ifsw.SELECTORS[name])(sampling_strategy=strategy)
    if "random_state" in sampler.get_params():
        sampler.set_params(random_state=5)
    sampler.fit_resample(X, (y == "many").astype(int))
    kept = np.flatnonzero(ifsw.Resample(ifsw.SELECTORS[name], strategy, 5).fit(X, y).weights_.instance_mask)
    np.testing.assert_array_equal(kept, np.sort(sampler.sample_indices_))
    assert 0 < len(kept) < 85


def test_selectors_beside_the_search_for_instances():
    order = ["IS", "FCNN", "none", "ENN"]
    cells = cells_of(falling(["bupa", "glass", "iris", "wine", "pima"], order))
    found = ifsw.by_selector(ifsw.per_data_set(cells)).set_index("selector")
    assert found.index.tolist() == order
    assert (found["block"] == "standard").all()
    np.testing.assert_allclose(found["score"], 1 - 0.03 * np.arange(4))
    assert found.loc["FCNN", ["wins", "ties", "losses"]].tolist() == [0, 0, 5]
    assert found.loc["FCNN", "p_value"] == pytest.approx(2 / 2**5)
    assert found.loc["FCNN", "holm"] == pytest.approx(6 / 2**5)
    assert np.isnan(found.loc["IS", "p_value"])
    assert not len(ifsw.by_selector(ifsw.per_data_set(cells_of(falling(["iris"], order)))))
    # Classical selectors do not change the ranks of the combinations.
    ranks = ifsw.by_combination(ifsw.per_data_set(cells)).set_index("tasks")["rank"]
    assert ranks.to_dict() == {"IS": 1, "none": 2}


def test_means_over_folds():
    cells = cells_of({"iris": {"none": 0.9, "IS": 0.7}, "glass2": {"IS": 0.5, "IS, undersampled": 0.6}})
    cells.loc[cells.query("dataset == 'iris' and method == 'IS'").index[0], ["accuracy", "g_mean", "reduction"]] = (
        0.8, 0.1, 0.9)  # fmt: skip
    cells.loc[cells.query("dataset == 'glass2' and method == 'IS'").index[0], ["accuracy", "g_mean"]] = (0.0, 0.9)
    found = ifsw.per_data_set(cells).set_index(["block", "dataset", "tasks"])
    assert found.loc[("standard", "iris", "IS"), "score"] == pytest.approx(0.75)  # the accuracy
    assert found.loc[("standard", "iris", "IS"), "std"] == pytest.approx(0.1 / np.sqrt(2))
    assert found.loc[("standard", "iris", "IS"), "reduction"] == pytest.approx(0.7)
    assert found.loc[("standard", "iris", "none"), "reduction"] == 0
    assert found.loc[("imbalanced", "glass2", "IS"), "score"] == pytest.approx(0.7)  # the G-mean
    assert found.loc[("undersampled", "glass2", "IS"), "score"] == pytest.approx(0.6)
    assert (found["folds"] == 2).all()


def test_ranks_and_tests_by_hand():
    names = ["bupa", "glass", "iris"]
    scores = falling(names)
    scores["iris"] = dict(zip(METHODS, reversed(scores["iris"].values()), strict=True))
    per_set = ifsw.per_data_set(cells_of(scores))
    combined = ifsw.by_combination(per_set).set_index("tasks")
    # place j twice and 17 - j once
    np.testing.assert_allclose(combined["rank"], [(2 * j + 17 - j) / 3 for j in range(1, 17)])
    assert (combined["data_sets"] == 3).all()
    assert combined.loc["FS", "score"] == pytest.approx(np.mean([1 - 0.02, 1 - 0.04, 1 - 0.13 * 3]))
    # two rows in order and one reversed: mean ranks deviate by (j - 8.5)/3, so chi2 = (k - 1)/3 = 5
    omnibus = ifsw.omnibus(per_set).set_index("test")["statistic"]
    assert omnibus["Friedman"] == pytest.approx(5)
    assert omnibus["Iman-Davenport"] == pytest.approx((3 - 1) * 5 / (3 * 15 - 5))
    holm = ifsw.against_best(per_set).set_index("tasks")
    assert (holm["best"] == "none").all()
    assert len(holm) == 15
    np.testing.assert_allclose(holm.loc["IS", "z"], -(1 / 3) / np.sqrt(16 * 17 / (6 * 3)))


def test_signed_ranks_by_hand():
    pairs = ifsw.wilcoxon_pairs(ifsw.per_data_set(cells_of(falling(["bupa", "glass", "iris", "wine", "pima"]))))
    assert len(pairs) == 16 * 15 / 2
    row = pairs.set_index(["first", "second"]).loc[("FS", "IW")]
    assert (row["wins"], row["ties"], row["losses"]) == (5, 0, 0)
    assert row["p_value"] == pytest.approx(2 / 2**5)  # all five differences of one sign
    assert row["mean_difference"] == pytest.approx(0.01 * np.mean([1, 2, 3, 4, 5]))
    assert (pairs["holm"] == 1).all()  # 120 times 1/16


def test_with_and_without_undersampling():
    names = ["glass2", "ecoli3", "yeast-2_vs_4"]
    plain, under = falling(names), falling(names, suffix=", undersampled")
    both = {name: plain[name] | {key: value + 0.005 for key, value in under[name].items()} for name in names}
    found = ifsw.undersampling(ifsw.per_data_set(cells_of(both))).set_index("tasks")
    assert list(found.index) == METHODS
    np.testing.assert_allclose(found["g_mean_undersampled"] - found["g_mean"], 0.005)
    assert (found["wins"] == 3).all()


AS_THE_PAPER = ["FW", "IS+FS", "none", *(t for t in ifsw.COMBINATIONS if t not in ("FW", "IS+FS", "FS")), "FS"]


def test_claims_hold_where_they_should():
    names, imbalanced = ["bupa", "glass", "iris", "wine", "pima"], ["glass2", "ecoli3", "glass6"]
    scores = falling(names, AS_THE_PAPER)
    for name in imbalanced:
        scores[name] = falling([name])[name] | falling([name], ["IS+FS", *METHODS[:-1]], ", undersampled")[name]
        scores[name] |= {f"{tasks}, undersampled": 0.1 for tasks in METHODS if tasks != "IS+FS"}
        scores[name]["IS+FS, undersampled"] = 1.1
    cells = cells_of(scores)
    cells.loc[cells["method"] == "IS+FS", "reduction"] = 0.9
    found = ifsw.claims(ifsw.per_data_set(cells))
    assert found["block"].tolist() == ["standard"] * 5 + ["imbalanced"]
    assert found["holds"].tolist() == [True] * 6
    assert found["found"][0] == "mean ranks: FW 1.00, place 1 of 15; first FW 1.00, last FS 15.00"
    assert found["found"][2].startswith("per cent of the table left: IS+FS 10.00, place 1 of 15")


def test_claims_fail_where_they_should():
    names = ["bupa", "glass", "iris", "wine", "pima", "tae", "sonar", "wdbc", "ecoli", "monk-2"]
    order = ["IS+FS+FW", "FS", *(t for t in METHODS if t not in ("FS", "IS+FS+FW", "IS+FS")), "IS+FS"]
    scores = falling(names, order)
    for name in ["glass2", "ecoli3"]:
        scores[name] = falling([name])[name] | falling([name], suffix=", undersampled")[name]
    cells = cells_of(scores)
    cells.loc[cells["method"] == "FS", "reduction"] = 0.95
    found = ifsw.claims(ifsw.per_data_set(cells))
    # FS is no longer worst, nor IS+FS the smallest, nor near the best, nor without gain; 'IS' leads the imbalanced ones
    assert found["holds"].tolist() == [False] * 6
    assert "IS+FS+FW +" in found["found"][4]


def test_tables_of_what_is_there():
    results = StudyResults(cells_of(falling(["iris"])), ("accuracy", "g_mean", "performance"))
    alone = ifsw.tables(results)
    assert sorted(alone) == ["combinations", "data_sets"]
    assert "nothing to compare" in ifsw.summary(alone)
    two = ifsw.tables(StudyResults(cells_of(falling(["iris", "wine"])), results.scores))
    assert "undersampling" not in two
    assert two["claims"]["block"].unique().tolist() == ["standard"]
    lines = ifsw.summary(two).splitlines()
    assert lines[0].startswith("standard: FW has the best accuracy: no (mean ranks: FW 4.00, place 4 of 15; first IS ")
    assert "over 2 data sets and 16 methods" in lines[-1]


@pytest.mark.slow
def test_quick(papers_data, tmp_path):
    result = run_preset("ifsw", output=tmp_path, quick=True, n_jobs=1, progress=False)
    assert not len(result.failures)
    assert result.made["cells"] == {"done": (3 * 27 + 3 * 45) * 3}
    assert sorted(result.tables) == [
        "claims", "combinations", "data_sets", "holm", "omnibus", "selectors", "undersampling", "wilcoxon"]  # fmt: skip
    combined = result.tables["combinations"].set_index(["block", "tasks"])
    assert combined.loc[("standard", "none"), "reduction"] == 0
    assert combined.loc[("standard", "IS+FS"), "reduction"] > 0.9
    assert combined.loc[("standard", "none"), "score"] > 0.9  # iris, wine and new-thyroid are easy


def test_quick_without_a_directory_of_data_sets(monkeypatch, tmp_path):
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    monkeypatch.setattr(ifsw, "BUILT_IN", {name: ifsw.BUILT_IN[name] for name in ("iris", "iris0")})
    some = {name + under for name in ("none", "IS", "FW") for under in ("", ifsw.UNDERSAMPLED)} | {"HMNEI"}

    def few_methods(name, **options):
        return {method: model for method, model in every_method(name, **options).items() if method in some}

    every_method = ifsw._methods
    monkeypatch.setattr(ifsw, "_methods", few_methods)
    monkeypatch.setattr(ifsw, "COMBINATIONS", ("IS", "FW"))
    result = run_preset("ifsw", output=tmp_path, quick=True, n_jobs=1, progress=False)
    assert len(result.failures) == 0
    assert result.made["statement"] == ifsw.PRESET.offline
    found = result.tables["data_sets"]
    assert set(found["block"]) == {"standard", "imbalanced", "undersampled"}
    assert (found["score"] > 0.85).all()


def test_built_in_problems_need_nothing_else():
    for name, (_, positive) in ifsw.BUILT_IN.items():
        data = ifsw._load_built_in(name)
        counts = np.unique(data.y, return_counts=True)[1]
        assert (positive is None) == (name in ifsw.STANDARD)
        if positive is not None:
            assert len(counts) == 2
            assert counts.min() / counts.sum() < 0.35
        models = ifsw._methods(name, quick=True, built_in=True).values()
        assert not any(isinstance(model[-1].weigher, ifsw.Resample) for model in models)
