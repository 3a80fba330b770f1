"""Studies: what a cell holds, seeds, folds, and nothing learned from test rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import binomtest
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.stubs import Trouble, noise_of, two_problems
from support.studies import TIMES, small, table_of

import weighbors as wb
from weighbors.datasets import Dataset
from weighbors.evaluation import (
    Study,
    StudyData,
    nogueira_stability,
    prediction_stability,
    weight_stability,
)
from weighbors.exceptions import (
    InvalidDataError,
)


def test_plan_run_results(tmp_path):
    study = small(tmp_path / "runs", scoring=["accuracy", "g_mean", "f1"])
    plan = study.plan()
    assert len(plan) == 2 * 2 * 2 * 3
    assert (plan["status"] == "missing").all()
    assert not (tmp_path / "runs").exists()
    results = study.run()
    frame = results.frame()
    assert (frame["status"] == "done").all()
    assert (frame["schema"] == 1).all()
    assert results.scores == ("accuracy", "g_mean", "f1", "noise")
    assert set(frame["id"]) == set(plan["id"])
    assert frame["versions"].str.contains("weighbors=").all()
    assert (study.plan()["status"] == "done").all()
    assert "2 data sets × 2 methods" in repr(study)
    assert study.frame().shape == plan.shape


def test_scores_are_those_of_the_predictions(tmp_path):
    data = two_problems()
    study = small(tmp_path)
    results = study.run()
    predictions = results.predictions("first", "plain")
    assert predictions.shape == (2, 40)
    right = (predictions.to_numpy() == data["first"][1]).mean()
    sizes = study.plan().query("dataset == 'first' and method == 'plain'")["n_test"]
    scores = results.folds(dataset="first")["plain"]
    assert np.average(scores, weights=sizes) == pytest.approx(right)
    assert prediction_stability(predictions).n_runs == 2


def test_cells_are_what_a_loop_computes(tmp_path):
    data = {"iris": load_iris(return_X_y=True, as_frame=True)}
    weigher = wb.ReliefF(n_features_to_select=2)
    study = Study(
        data, {"a": make_pipeline(StandardScaler(), wb.WeightedKNeighborsClassifier(3, weigher))}, tmp_path, cv=4
    )
    results = study.run()
    X, y = data["iris"]
    weights = results.weights("iris", "a")
    assert weights.columns.tolist() == X.columns.tolist()
    for cell in study._list_cells():
        train, test = cell.train, cell.test
        scaler = StandardScaler().fit(X.iloc[train])
        inner = wb.ReliefF(n_features_to_select=2).fit(scaler.transform(X.iloc[train]), y.iloc[train])
        model = wb.WeightedKNeighborsClassifier(3, inner.weights_).fit(scaler.transform(X.iloc[train]), y.iloc[train])
        place = (cell.repeat, cell.fold)
        np.testing.assert_array_equal(weights.loc[place], inner.feature_weights_)
        np.testing.assert_array_equal(results.selections("iris", "a").loc[place], inner.get_support())
        assert results.folds(dataset="iris").loc[place, "a"] == model.score(
            scaler.transform(X.iloc[test]), y.iloc[test]
        )
    assert (results.frame()["reduction"] == 0.5).all()
    assert (results.frame()["n_selected"] == 2).all()
    assert nogueira_stability(results.selections("iris", "a")).n_runs == 4
    assert weight_stability(weights) > 0.9


def test_worker_processes_give_the_same_table(tmp_path):
    here = small(tmp_path / "a").run()
    apart = small(tmp_path / "b").run(n_jobs=2)
    pd.testing.assert_frame_equal(table_of(here), table_of(apart))
    for name in ("weights", "predictions"):
        pd.testing.assert_frame_equal(getattr(here, name)("first", "centre"), getattr(apart, name)("first", "centre"))


def test_seeds_depend_on_names_only(tmp_path):
    whole = small(tmp_path / "a").run().frame()
    data = two_problems()
    part = Study(
        {"second": data["second"]},
        {"centre": Trouble()},
        tmp_path / "b",
        cv=3,
        n_repeats=2,
        measures={"noise": noise_of},
    )
    both = whole.query("dataset == 'second' and method == 'centre'").reset_index(drop=True)
    pd.testing.assert_frame_equal(part.run().frame().drop(columns=TIMES), both.drop(columns=TIMES))
    assert both["noise"].nunique() == 6
    other = small(tmp_path / "c", random_state=1).run().frame()
    assert not set(other["id"]) & set(whole["id"])


def test_a_given_random_state_stays(tmp_path):
    study = Study(two_problems(), {"a": Trouble(random_state=4)}, tmp_path, cv=3, measures={"noise": noise_of})
    noise = study.run().frame()["noise"]
    assert (noise == noise[0]).all()


def test_resuming_computes_only_what_is_not_there(tmp_path):
    study = small(tmp_path)
    study.run(datasets=["first"])
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert len(before) == 12
    assert not study.results().complete
    assert study.run().complete
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert len(after) == 24
    assert all(after[path] == when for path, when in before.items())
    methods = {**study.methods, "five": wb.WeightedKNeighborsClassifier(5)}
    more = Study(two_problems(), methods, tmp_path, cv=3, n_repeats=2, measures={"noise": noise_of})
    assert (more.plan()["status"] == "missing").sum() == 12
    changed = Study(two_problems(), {"plain": wb.WeightedKNeighborsClassifier(4)}, tmp_path, cv=3, n_repeats=2)
    assert (changed.plan()["status"] == "missing").all()


def test_progress_only_on_request(tmp_path, capfd):
    small(tmp_path / "a").run(progress=None)
    assert capfd.readouterr().err == ""
    small(tmp_path / "b").run(progress=True)
    err = capfd.readouterr().err
    assert "24/24 cells" in err
    assert err.endswith("\n")


def test_one_thread_inside(tmp_path):
    seen = []
    measure = lambda model, *rows: seen.append(model.n_jobs) or 0.0  # noqa: E731
    study = Study({"a": two_problems()["first"]}, {"m": Trouble(n_jobs=2)}, tmp_path, cv=2, measures={"m1": measure})
    study.run()
    assert seen == [1, 1]


def test_groups_and_given_splits(tmp_path):
    X, y = two_problems()["first"]
    patients = np.repeat(np.arange(10), 4)
    splits = [
        (np.arange(30), np.arange(30, 40)),
        (np.arange(10, 40), np.arange(10)),
        (np.arange(10, 40), np.arange(10)),
    ]
    data = {"grouped": (X, y, patients), "given": StudyData(X, y, splits=splits)}
    study = Study(data, {"a": Trouble()}, tmp_path, cv=3)
    for cell in study._list_cells():
        if cell.dataset == "grouped":
            assert not set(patients[cell.train]) & set(patients[cell.test])
    results = study.run()
    found = [cell for cell in study._list_cells() if cell.dataset == "given"]
    assert [cell.test.tolist() for cell in found] == [test.tolist() for _, test in splits]
    assert results.predictions("given", "a").shape == (3, 20)  # rows 0 to 9 are tested twice
    repeated = Study(
        {"first": (X, y)}, {"a": Trouble()}, tmp_path / "r", cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=3)
    )
    assert repeated.plan()["repeat"].tolist() == [0, 0, 1, 1, 2, 2]
    again = Study({"first": (X, y)}, {"a": Trouble()}, tmp_path / "r", cv=ShuffleSplit(2))
    assert (
        again.plan()["id"].tolist()
        == Study({"first": (X, y)}, {"a": Trouble()}, tmp_path, cv=ShuffleSplit(2)).plan()["id"].tolist()
    )


def test_kinds_of_data(tmp_path):
    X, y = two_problems()["first"]
    text = np.where(y == 1, "yes", "no")
    frame = pd.DataFrame(X).add_prefix("f").assign(kind=np.where(X[:, 0] > 0, "a", "b"))
    study = Study(
        {"set": Dataset("set", X, y), "loader": lambda: (frame, text), "lists": (X.tolist(), y.tolist())},
        {"knn": wb.WeightedKNeighborsClassifier(3)},
        tmp_path,
        cv=2,
    )
    results = study.run()
    assert results.complete
    assert set(np.unique(results.predictions("loader", "knn"))) == {"yes", "no"}


def test_a_cell_is_known_by_what_it_is_made_of(tmp_path):
    X, y = two_problems()["first"]
    dense = np.where(np.abs(X) > 1, X, 0)
    other = X.copy()
    other[0, 0] += 1e-9
    frame = pd.DataFrame(X)

    def known_by(X, y=y, method=None, n_train=30, **options):
        data = {"data": StudyData(X, y, splits=[(np.arange(n_train), np.arange(30, 40))])}
        return Study(data, {"m": method or Trouble()}, tmp_path, **options).plan()["id"][0]

    forms = {
        "plain": known_by(X),
        "another value": known_by(other),
        "another label": known_by(X, 1 - y),
        "single precision": known_by(X.astype("f4")),
        "a frame": known_by(frame),
        "other columns": known_by(frame.add_prefix("c")),
        "sparse": known_by(sparse.csr_matrix(dense)),
        "another parameter": known_by(X, method=Trouble(seconds=0.5)),
        "deep inside": known_by(X, method=make_pipeline(StandardScaler(), Trouble())),
        "deeper": known_by(X, method=make_pipeline(StandardScaler(with_mean=False), Trouble())),
        "weights": known_by(X, method=wb.WeightedKNeighborsClassifier(3, wb.Weights(feature_weights=np.ones(5)))),
        "other weights": known_by(
            X, method=wb.WeightedKNeighborsClassifier(3, wb.Weights(feature_weights=np.arange(5.0)))
        ),
        "other rows": known_by(X, n_train=29),
        "another seed": known_by(X, random_state=1),
        "another score": known_by(X, scoring="g_mean"),
        "a measure": known_by(X, measures={"a": lambda *parts: 1.0}),
        "another measure": known_by(X, measures={"a": lambda *parts: 2.0}),
    }
    assert len(set(forms.values())) == len(forms)
    assert known_by(np.asfortranarray(X)) == forms["plain"]
    assert known_by(sparse.csc_matrix(dense)) == forms["sparse"]


def test_a_weigher_alone(tmp_path):
    results = Study(two_problems(), {"relief": wb.ReliefF()}, tmp_path, cv=2).run()
    assert results.weights("first", "relief").shape == (2, 5)
    with pytest.raises(InvalidDataError, match="has no predictions: the method predicts nothing"):
        results.predictions("first", "relief")


def test_warnings_are_counted(tmp_path):
    X, y = two_problems()["first"]
    study = Study({"a": (np.zeros_like(X), y)}, {"m": wb.WeightedKNeighborsClassifier(3, wb.ReliefF())}, tmp_path, cv=2)
    assert (study.run().frame()["n_warnings"] >= 1).all()


# --- no leakage -------------------------------------------------------------------------------------------------------


def test_pure_noise_gives_chance(tmp_path):
    # labels that nothing can tell: 2 × 150 rows, tested once each; any look at the test rows would show
    data = {}
    for seed in range(2):
        source = np.random.default_rng(seed)
        data[f"noise {seed}"] = source.normal(size=(150, 40)), np.arange(150) % 2
    weighers = [wb.ReliefF(n_features_to_select=5), wb.Relief(), wb.MultiSURF(n_features_to_select=5), wb.Simba(),
                wb.SimbaMBIW(), wb.IRelief(), wb.ClassRelief(), wb.TuRF(n_features_to_select=5)]  # fmt: skip
    methods = {
        type(w).__name__: make_pipeline(StandardScaler(), wb.WeightedKNeighborsClassifier(5, w)) for w in weighers
    }
    methods["plain"] = wb.WeightedKNeighborsClassifier(5)
    results = Study(data, methods, tmp_path, cv=10).run()
    for method in methods:
        right = sum(int((results.predictions(name, method).to_numpy()[0] == y).sum()) for name, (_, y) in data.items())
        assert binomtest(right, 300).pvalue > 0.01, (method, right)


def test_the_wrong_way_round_shows(tmp_path):
    # the same noise, but features chosen with all rows at hand before the folds are made
    X, y = np.random.default_rng(0).normal(size=(150, 4000)), np.arange(150) % 2
    leaked = SelectKBest(f_classif, k=10).fit_transform(X, y)
    inside = make_pipeline(SelectKBest(f_classif, k=10), wb.WeightedKNeighborsClassifier(5))
    wrong = Study({"a": (leaked, y)}, {"m": wb.WeightedKNeighborsClassifier(5)}, tmp_path / "w", cv=10).run()
    right = Study({"a": (X, y)}, {"m": inside}, tmp_path / "r", cv=10).run()
    correct = [int((results.predictions("a", "m").to_numpy()[0] == y).sum()) for results in (wrong, right)]
    assert binomtest(correct[0], 150).pvalue < 0.001
    assert binomtest(correct[1], 150).pvalue > 0.01


def test_methods_of_their_own(tmp_path):
    def methods(name):
        wanted = {"first": {"centre": Trouble(), "near": wb.WeightedKNeighborsClassifier(1)}}
        return wanted.get(name, {"near": wb.WeightedKNeighborsClassifier(7)})

    study = Study(two_problems(), methods, tmp_path, cv=3)
    assert list(study.methods) == ["centre", "near"]
    assert study.plan().groupby(["dataset", "method"]).size().to_dict() == {
        ("first", "centre"): 3, ("first", "near"): 3, ("second", "near"): 3}  # fmt: skip
    found = study.run(n_jobs=2).table("accuracy")
    assert np.isnan(found.loc["second", "centre"])
    for name, k in (("first", 1), ("second", 7)):
        alone = Study({name: two_problems()[name]}, {"near": wb.WeightedKNeighborsClassifier(k)}, tmp_path / name, cv=3)
        assert found.loc[name, "near"] == alone.run().table("accuracy").loc[name, "near"]
    with pytest.raises(InvalidDataError, match="methods must be a mapping"):
        Study(two_problems(), lambda name: None, tmp_path)


def test_names_of_built_in_data_sets(tmp_path, monkeypatch):
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    methods = {"plain": wb.WeightedKNeighborsClassifier(5)}
    found = Study(["iris", "wine"], methods, tmp_path / "runs", cv=3).run().table()
    assert found.index.tolist() == ["iris", "wine"]
    with pytest.raises(InvalidDataError, match=r"'colon' is no built-in data set \(breast-cancer, .*WEIGHBORS_DATA"):
        Study(["colon"], methods, tmp_path / "other", cv=3).run()


def test_a_data_set_of_the_directory_comes_before_a_built_in_one(tmp_path, monkeypatch):
    from weighbors.datasets.loaders import load_named

    (tmp_path / "MANIFEST.csv").write_text("name,group,file\niris,own,iris.csv\n")
    (tmp_path / "iris.csv").write_text("size,class\n1.5,a\n2.5,b\n")
    monkeypatch.setenv("WEIGHBORS_DATA", str(tmp_path))
    assert load_named("iris").X.shape == (2, 1)
    assert load_named("wine").X.shape == (178, 13)
    with pytest.raises(InvalidDataError, match="there is no data set 'whine'"):
        load_named("whine")
