"""Studies: same table after any interruption, failures in their own cells, nothing learned from test rows."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from stubs import Trouble, noise_of, two_problems

import weighbors as wb
from weighbors.datasets import Dataset
from weighbors.evaluation import (
    Study,
    StudyData,
    load_results,
    nogueira_stability,
    prediction_stability,
    weight_stability,
)
from weighbors.exceptions import (
    IncompleteStudyError,
    IncompleteStudyWarning,
    InvalidDataError,
    MissingDependencyError,
    StoreError,
)
from weighbors.stats import compare, corrected_resampled_ttest

TESTS = Path(__file__).parents[1]
TIMES = ["fit_seconds", "predict_seconds"]


def table_of(results):
    return results.frame().drop(columns=TIMES)


def small(store, **options):
    methods = {"centre": Trouble(), "plain": wb.WeightedKNeighborsClassifier(3)}
    return Study(two_problems(), methods, store, **{"cv": 3, "n_repeats": 2, "measures": {"noise": noise_of}} | options)


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
    for task in study._plan():
        train, test = task.train, task.test
        scaler = StandardScaler().fit(X.iloc[train])
        inner = wb.ReliefF(n_features_to_select=2).fit(scaler.transform(X.iloc[train]), y.iloc[train])
        model = wb.WeightedKNeighborsClassifier(3, inner.weights_).fit(scaler.transform(X.iloc[train]), y.iloc[train])
        place = (task.cell.repeat, task.cell.fold)
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


SCRIPT = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from stubs import Trouble, noise_of, two_problems
import weighbors as wb
from weighbors.evaluation import Study
methods = {{"centre": Trouble(seconds=0.02), "plain": wb.WeightedKNeighborsClassifier(3)}}
study = Study(two_problems(), methods, sys.argv[1], cv=3, n_repeats=4, measures={{"noise": noise_of}})
study.run(n_jobs=int(sys.argv[2]))
"""


def slowly(store):
    methods = {"centre": Trouble(seconds=0.02), "plain": wb.WeightedKNeighborsClassifier(3)}
    return Study(two_problems(), methods, store, cv=3, n_repeats=4, measures={"noise": noise_of})


def cells_in(store):
    return len(list((store / "cells").glob("[!.]*.cell"))) if (store / "cells").is_dir() else 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_killed_study_goes_on(tmp_path, n_jobs):
    pick, store = random.Random(n_jobs), tmp_path / "killed"
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), str(n_jobs)])
        goal = cells_in(store) + pick.randint(1, 20)
        while process.poll() is None and cells_in(store) < goal:
            time.sleep(0.001)
        time.sleep(pick.uniform(0, 0.02))
        process.kill()
        process.wait()
        assert process.returncode  # killed, not ended
    assert 0 < cells_in(store) < 48
    resumed = slowly(store).run()
    whole = slowly(tmp_path / "whole").run()
    pd.testing.assert_frame_equal(table_of(resumed), table_of(whole))
    assert resumed.complete


def test_two_processes_on_one_store(tmp_path):
    store = tmp_path / "shared"
    processes = [subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), "1"]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    shared = load_results(store)
    assert shared.complete
    pd.testing.assert_frame_equal(table_of(shared), table_of(slowly(tmp_path / "alone").run()))
    assert not [name for name in os.listdir(store / "cells") if name.startswith(".")]


FAILING = {
    "raise": ("raised", "RuntimeError: this method never works"),
    "exit": ("raised", "SystemExit: 3"),
    "nan": ("nan", "predictions are NaN"),
    "nan weights": ("nan", "5 feature weights are NaN"),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_failures_are_cells(tmp_path, n_jobs):
    methods = {"good": Trouble(), **{how: Trouble(how) for how in FAILING}}
    study = Study({"first": two_problems()["first"]}, methods, tmp_path, cv=2)
    results = study.run(n_jobs)
    failures = results.failures().set_index(["method", "fold"])
    assert len(failures) == 2 * len(FAILING)
    for how, (kind, error) in FAILING.items():
        assert failures.loc[(how, 1), "kind"] == kind
        assert error in failures.loc[(how, 1), "error"]
        assert "Traceback" in failures.loc[(how, 1), "traceback"]
    assert (results.frame().query("method == 'good'")["status"] == "done").all()
    assert "8 failed" in repr(results)
    assert "failed: first × raise, repeat 0, fold 0: RuntimeError" in repr(results)
    assert "and 3 more" in repr(results)


def test_a_hanging_cell_is_stopped_and_the_rest_goes_on(tmp_path):
    methods = {"hangs": Trouble("hang hard"), "dies": Trouble("die"), "good": Trouble()}
    study = Study({"first": two_problems()["first"]}, methods, tmp_path, cv=2, time_limit=3.0)
    begin = time.perf_counter()
    results = study.run()
    assert time.perf_counter() - begin < 300
    found = results.frame().set_index(["method", "fold"])
    assert (found.loc["good", "status"] == "done").all()
    assert (found.loc["hangs", "kind"] == "timeout").all()
    assert (found.loc["dies", "kind"] == "died").all()
    assert found.loc[("hangs", 0), "error"] == "TimeoutError: the cell did not end within 3 seconds and was stopped"
    assert "ended with code" in found.loc[("dies", 0), "error"]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc to see child processes")
@pytest.mark.parametrize("how", ["hang", "hang hard"])
def test_workers_die_with_the_study(tmp_path, how):
    script = SCRIPT.replace('"centre": Trouble(seconds=0.02)', f'"centre": Trouble("{how}")')
    store = tmp_path / "s"
    process = subprocess.Popen([sys.executable, "-c", script, str(store), "2"])
    while process.poll() is None and not cells_in(store):  # one of two neighbouring cells does not hang
        time.sleep(0.01)
    time.sleep(1)  # now the workers hang, or are about to
    lists = Path(f"/proc/{process.pid}/task").glob("*/children")
    workers = [int(pid) for one in lists for pid in one.read_text(encoding="utf8").split()]
    assert len(workers) == 2
    assert all(map(is_alive, workers))
    process.kill()
    process.wait()
    until = time.monotonic() + 20
    while any(map(is_alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_alive, workers))


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX knows them")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_study_stops_and_goes_on(tmp_path, n_jobs):
    store = tmp_path / "s"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), str(n_jobs)], stderr=subprocess.PIPE)
    while process.poll() is None and cells_in(store) < 3:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=30)[1]
    assert 0 < cells_in(store) < 48
    assert slowly(store).run().complete


def test_failed_cells_can_be_retried(tmp_path, monkeypatch):
    study = Study({"first": two_problems()["first"]}, {"a": Trouble("raise")}, tmp_path, cv=2)
    assert not study.run().complete
    mended = Trouble.fit
    monkeypatch.setattr(Trouble, "fit", lambda self, X, y: mended(self.set_params(how="not"), X, y))
    assert not study.run().complete  # failed cells stay as they are
    assert study.run(retry_failed=True).complete


def test_prints_do_not_disturb(tmp_path, capfd):
    study = Study({"first": two_problems()["first"]}, {"a": Trouble("print")}, tmp_path, cv=2, time_limit=60)
    assert study.run().complete
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("printed in fit") == 2


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
    for task in study._plan():
        if task.cell.dataset == "grouped":
            assert not set(patients[task.train]) & set(patients[task.test])
    results = study.run()
    found = [task for task in study._plan() if task.cell.dataset == "given"]
    assert [task.test.tolist() for task in found] == [test.tolist() for _, test in splits]
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


# --- tables -----------------------------------------------------------------------------------------------------------


def test_incomplete_blocks_are_refused_or_named(tmp_path):
    data = two_problems()
    study = Study(data, {"good": Trouble(), "bad": wb.WeightedKNeighborsClassifier(3)}, tmp_path, cv=2)
    study.run(datasets=["first"])
    study.run(methods=["good"])
    results = study.results()
    with pytest.raises(IncompleteStudyError, match=r"2 of 8 cells have no accuracy: second × bad \(missing\)"):
        results.table()
    with pytest.warns(IncompleteStudyWarning, match=r"left out \['second'\]"):
        assert results.table(incomplete="drop").index.tolist() == ["first"]
    assert results.table(methods=["good"]).shape == (2, 1)
    assert results.incomplete().to_dict("records") == [
        {"dataset": "second", "method": "bad", "done": 0, "failed": 0, "damaged": 0, "missing": 2}
    ]
    with pytest.raises(IncompleteStudyError, match="2 of 2 cells of second × bad are not done"):
        results.weights("second", "bad")
    with pytest.raises(IncompleteStudyError, match="second × bad"):
        results.folds(dataset="second")
    with pytest.warns(IncompleteStudyWarning), pytest.raises(IncompleteStudyError, match="no data set has all"):
        results.table(datasets=["second"], incomplete="drop")


def test_results_feed_the_tests(tmp_path):
    results = small(tmp_path).run()
    table = results.table()
    frame = results.frame()
    assert table.loc["first", "centre"] == pytest.approx(
        frame.query("dataset == 'first' and method == 'centre'")["accuracy"].mean()
    )
    assert compare(table).pairs.shape[0] == 1
    folds = results.folds(dataset="first")
    assert corrected_resampled_ttest(folds["centre"], folds["plain"], n_folds=3).n == 6


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_tables_come_back(tmp_path, ending):
    results = small(tmp_path / "s").run()
    results.save(tmp_path / f"t.{ending}")
    back = load_results(tmp_path / f"t.{ending}")
    pd.testing.assert_frame_equal(back.frame(), results.frame())
    pd.testing.assert_frame_equal(back.table(), results.table())
    with pytest.raises(StoreError, match="from a table alone"):
        back.weights("first", "centre")
    stored = load_results(tmp_path / "s")
    pd.testing.assert_frame_equal(stored.frame(), results.frame())
    assert stored.weights("first", "centre").equals(results.weights("first", "centre"))
    assert (tmp_path / "s" / "results.parquet").exists()


def test_awkward_names_and_labels(tmp_path):
    X, y = two_problems()["first"]
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[y]
    data = {"NA": (X, y), "1": (X, y.astype(bool)), "ä/ö": (X, np.where(y == 1, "ß", "n")), "dates": (X, dates)}
    results = Study(data, {"nan": Trouble(), "2e5": Trouble(random_state=1)}, tmp_path / "s", cv=2).run()
    assert results.complete, results
    results.save(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(load_results(tmp_path / "t.csv").frame(), results.frame(), check_exact=True)
    assert set(results.predictions("1", "nan").to_numpy().ravel()) == {True, False}
    assert set(results.predictions("dates", "nan").to_numpy().ravel()) == {"2020-01-01", "2021-01-01"}


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr("weighbors.evaluation.results._has_parquet", lambda: False)
    results = small(tmp_path).run()
    assert (tmp_path / "results.csv").exists()
    with pytest.raises(MissingDependencyError, match="need pyarrow"):
        results.save(tmp_path / "x.parquet")


def test_damaged_cells_are_computed_again(tmp_path):
    study = small(tmp_path)
    whole = table_of(study.run())
    paths = sorted((tmp_path / "cells").iterdir())
    for path, content in zip(
        paths, (b"", b"weighbors.cell 1 00000000\n{}\n", paths[2].read_bytes()[:60]), strict=False
    ):
        path.write_bytes(content)
    assert (study.plan()["status"] == "damaged").sum() == 3
    assert "3 damaged" in repr(study.results())
    pd.testing.assert_frame_equal(table_of(study.run()), whole)
    broken = bytearray(paths[3].read_bytes())
    broken[-1] ^= 255
    paths[3].write_bytes(bytes(broken))
    place = study.plan().set_index("id").loc[paths[3].stem]
    with pytest.raises(StoreError, match="is damaged"):
        study.results().predictions(place["dataset"], place["method"])


def test_stores_of_another_kind(tmp_path):
    store = tmp_path / "s"
    small(store).run()
    text = (store / "study.json").read_text(encoding="utf8")
    (store / "study.json").write_text(text.replace('"schema": 1', '"schema": 99'), encoding="utf8")
    for call in (small(store).run, lambda: load_results(store)):
        with pytest.raises(StoreError, match="has schema 99 and this release reads schema 1"):
            call()
    (store / "study.json").write_text(json.dumps({"format": "other"}), encoding="utf8")
    with pytest.raises(StoreError, match="was not written by a study"):
        load_results(store)
    (store / "study.json").write_text("{", encoding="utf8")
    with pytest.raises(StoreError, match="damaged.*Run the study again: its cells are kept"):
        load_results(store)
    written = {path: path.stat().st_mtime_ns for path in (store / "cells").iterdir()}
    assert small(store).run().complete
    assert {path: path.stat().st_mtime_ns for path in (store / "cells").iterdir()} == written
    assert load_results(store).complete
    (tmp_path / "file").write_text("x", encoding="utf8")
    with pytest.raises(StoreError, match="holds no study"):
        small(tmp_path).run()
    with pytest.raises(StoreError, match="not a directory"):
        small(tmp_path / "file").run()
    with pytest.raises(StoreError, match="neither a study nor a table"):
        load_results(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="holds no study"):
        load_results(tmp_path / "empty")


def test_tables_of_another_kind(tmp_path):
    results = small(tmp_path / "s").run()
    results.frame().assign(schema=2).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(StoreError, match="has schema 2"):
        load_results(tmp_path / "t.csv")
    pd.DataFrame({"a": [1]}).to_csv(tmp_path / "u.csv", index=False)
    with pytest.raises(StoreError, match="not a table of results of a study"):
        load_results(tmp_path / "u.csv")
    (tmp_path / "v.parquet").write_bytes(b"no")
    with pytest.raises(StoreError, match="not a table of results"):
        load_results(tmp_path / "v.parquet")


DATA = two_problems()
GOOD = {"plain": DummyClassifier()}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: Study({}, GOOD, p), "at least one data set"),
        (lambda p: Study(DATA, {}, p), "at least one method"),
        (lambda p: Study("wine", GOOD, p), "datasets must be a mapping"),
        (lambda p: Study(["a", "a"], GOOD, p), "named twice"),
        (lambda p: Study({1: DATA["first"]}, GOOD, p), "must be text; got 1"),
        (lambda p: Study(DATA, [DummyClassifier()], p), "mapping of names to estimators; got list"),
        (lambda p: Study(DATA, {"a": DummyClassifier}, p), "method 'a' must be an estimator"),
        (lambda p: Study(DATA, GOOD, p, scoring="acuracy"), "no score 'acuracy'. Did you mean 'accuracy'"),
        (lambda p: Study(DATA, GOOD, p, measures={"fold": noise_of}), "cannot be called 'fold'"),
        (lambda p: Study(DATA, GOOD, p, measures={"x": 3}), "measure 'x' must be a function"),
        (lambda p: Study(DATA, GOOD, p, random_state=None), "so that it can be resumed"),
        (lambda p: Study(DATA, GOOD, p, time_limit=0), "time_limit must be"),
        (lambda p: Study({"a": 3}, GOOD, p).plan(), "data set 'a' must be"),
        (lambda p: Study({"a": ([[1], [2]], [1, None])}, GOOD, p).plan(), "1 rows without a label"),
        (lambda p: Study(DATA, GOOD, p, cv=3).run(methods=["plan"]), "no method 'plan'. Did you mean 'plain'"),
        (lambda p: Study(DATA, GOOD, p, cv=3).run(datasets=["frist"]), "no data set 'frist'. Did you mean 'first'"),
        (lambda p: Study(DATA, GOOD, p, cv=3).run().table("recall"), "there is no score 'recall'"),
        (lambda p: Study(DATA, GOOD, p, cv=3).run().table(incomplete="x"), "incomplete must be"),
        (lambda p: Study(DATA, GOOD, p, cv=3).run().weights("first", "plain"), "publishes no weights"),
        (lambda p: Study(DATA, GOOD, p, cv=3).run().weights("thrid", "plain"), "no data set 'thrid'"),
        (lambda p: Study(DATA, GOOD, p, cv=3).run().save(p / "x.txt"), "saved as .parquet or .csv"),
    ],
)
def test_bad_input(tmp_path, call, message):
    with pytest.raises(InvalidDataError, match=message):
        call(tmp_path)


def test_unknown_data_set_names(tmp_path, papers_data):
    with pytest.raises(InvalidDataError, match="Did you mean .*sonar"):
        Study(["sonnar"], GOOD, tmp_path).plan()
    assert len(Study(["sonar"], GOOD, tmp_path, cv=2).plan()) == 2


def test_a_measure_that_is_no_number_fails_its_cell(tmp_path):
    results = Study(DATA, GOOD, tmp_path, cv=2, measures={"x": lambda *parts: "many"}).run()
    assert results.failures()["error"].str.contains("measure 'x' must return one number").all()


def test_methods_that_cannot_travel_are_said_so(tmp_path):
    class Stuck(DummyClassifier):
        def __reduce__(self):
            return eval, ("1/0",)

    study = Study(DATA, {"stuck": Stuck()}, tmp_path, cv=2, time_limit=30)
    with pytest.raises(InvalidDataError, match="could not take the job.*ZeroDivisionError|must be importable"):
        study.run()
