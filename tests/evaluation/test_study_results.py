"""Tables of results: incomplete blocks, files, stores of another kind, bad input."""

import json
import os
import sys
import zlib

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from support.stubs import Trouble, noise_of, two_problems
from support.studies import small, table_of

import weighbors as wb
from weighbors.evaluation import (
    Study,
    load_results,
)
from weighbors.exceptions import (
    IncompleteStudyError,
    IncompleteStudyWarning,
    InvalidDataError,
    MissingDependencyError,
    StoreError,
)
from weighbors.stats import compare, corrected_resampled_ttest


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
    monkeypatch.setattr("weighbors.evaluation.study.results._has_parquet", lambda: False)
    results = small(tmp_path).run()
    assert (tmp_path / "results.csv").exists()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="need pyarrow, and 'x.parquet' is one"):
        results.save(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingDependencyError, match="need pyarrow"):
        load_results(tmp_path / "x.parquet")


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
    early, raw = study.results(), paths[3].read_bytes()
    for broken in (raw[:-1], raw + b"0", raw[:-1] + bytes([raw[-1] ^ 255])):  # the header is whole, the arrays are not
        paths[3].write_bytes(broken)
        place = study.plan().set_index("id").loc[paths[3].stem]
        assert place["status"] == "damaged"
        results = study.results()
        assert not results.complete
        with pytest.raises(IncompleteStudyError, match="1 of 6 cells"):
            results.predictions(place["dataset"], place["method"])
        with pytest.raises(StoreError, match="is damaged"):
            early.predictions(place["dataset"], place["method"])
    results = study.run()
    assert results.complete
    pd.testing.assert_frame_equal(table_of(results), whole)


def forged_cell(header):
    """A cell with a correct checksum and no arrays."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return b"weighbors.cell 1 %08x\n%s\n" % (zlib.crc32(text), text)


GOOD = {"status": "done", "dataset": "a", "method": "b", "versions": {}, "arrays": [], "checksum": 0}
FORGED = {
    "deep": b"[" * 100_000,
    "no JSON": b"{",
    "no UTF-8": b'"\xff"',
    "a list": [],
    "nothing": {},
    "no status": {k: v for k, v in GOOD.items() if k != "status"},
    "status of another word": {**GOOD, "status": "well"},
    "status of no word": {**GOOD, "status": ["done"]},
    "versions of no text": {**GOOD, "versions": {"numpy": 2}},
    "versions as a list": {**GOOD, "versions": [1]},
    "scores as a list": {**GOOD, "scores": [1]},
    "scores of text": {**GOOD, "scores": {"accuracy": "high"}},
    "scores too large": {**GOOD, "scores": {"accuracy": 10**400}},
    "scores NaN": {**GOOD, "scores": {"accuracy": float("nan")}},
    "seed too large": {**GOOD, "seed": 2**70},
    "seed below 0": {**GOOD, "seed": -1},
    "seconds of text": {**GOOD, "fit_seconds": "1"},
    "an error of numbers": {**GOOD, "error": 3},
    "labels of lists": {**GOOD, "labels": [[1]]},
    "warnings as a number": {**GOOD, "warnings": 3},
    "arrays as a number": {**GOOD, "arrays": 3},
    "arrays of pairs": {**GOOD, "arrays": [["x", "<f8"]]},
    "arrays of objects": {**GOOD, "arrays": [["x", "O", [0]]]},
    "arrays of an unknown type": {**GOOD, "arrays": [["x", "q9!", [0]]]},
    "arrays of a negative shape": {**GOOD, "arrays": [["x", "<f8", [-1]]]},
    "arrays of an endless shape": {**GOOD, "arrays": [["x", "<f8", [10**15]]]},
    "a checksum of text": {**GOOD, "checksum": "0"},
}


def test_forged_cells_are_computed_again(tmp_path):
    study = small(tmp_path)
    whole = table_of(study.run())
    paths = sorted((tmp_path / "cells").iterdir())
    for name, header in FORGED.items():
        paths[0].write_bytes(forged_cell(header))
        assert not study.results().complete, name
        assert (study.plan()["status"] == "damaged").sum() == 1, name
    pd.testing.assert_frame_equal(table_of(study.run()), whole)
    for end in ("weighbors.cell 1", "weighbors.cell 1 00000000 and more\n{}\n", "weighbors.cell 2 00000000\n{}\n"):
        paths[0].write_bytes(end.encode())
        assert not study.results().complete


def test_cells_without_an_end_are_refused_before_they_are_read(tmp_path, monkeypatch):
    study = small(tmp_path)
    study.run()
    path = sorted((tmp_path / "cells").iterdir())[0]
    read, found = os.read, []
    monkeypatch.setattr(os, "read", lambda handle, size: found.append(read(handle, size)) or found[-1])
    for begin, most in ((b"", 2**15), (b"weighbors.cell 1 00000000\n", 2**27 + 2**21)):
        with open(path, "wb") as file:  # a sparse file: its zeros take no disk
            file.write(begin)
            file.truncate(600 * 2**20)
        found.clear()
        assert study.store.status(path.stem) == "damaged"
        assert sum(map(len, found)) <= most
    assert study.run().complete


@pytest.mark.parametrize("text", [
    '{"format": "weighbors.study", "schema": 1}',
    '{"format": "weighbors.study", "schema": 1, "cells": [], "datasets": {}}',
    '{"format": "weighbors.study", "schema": 1, "cells": {"../../x": ["a", "b", 0, 0]}, "datasets": {}}',
    '{"format": "weighbors.study", "schema": 1, "cells": {"00": ["a", "b", 0]}, "datasets": {}}',
    '{"format": "weighbors.study", "schema": 1, "cells": {"00": ["a", "b", 0, "0"]}, "datasets": {}}',
    '{"format": "weighbors.study", "schema": 1, "cells": {}, "datasets": {"a": 3}}',
    "[" * 100_000,
])  # fmt: skip
def test_a_forged_description_is_refused_and_written_again(tmp_path, text):
    study = small(tmp_path)
    whole = table_of(study.run())
    (tmp_path / "study.json").write_text(text, encoding="utf8")
    with pytest.raises(StoreError, match="Run the study again: its cells are kept"):
        load_results(tmp_path)
    pd.testing.assert_frame_equal(table_of(small(tmp_path).run()), whole)
    assert load_results(tmp_path).complete


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
        (lambda p: Study([DATA["first"]], GOOD, p), "Give data as a mapping"),
        (lambda p: Study(DATA, GOOD, p, scoring=5), "scoring must be the name of a score, or several; got 5"),
        (lambda p: Study(DATA, GOOD, p, measures=[noise_of]), "measures must be a mapping .*; got list"),
        (lambda p: Study(DATA, GOOD, p, n_repeats="2"), "n_repeats must be a whole number of at least 1; got '2'"),
        (lambda p: Study(DATA, GOOD, p, n_repeats=0), "n_repeats must be a whole number of at least 1; got 0"),
        (
            lambda p: Study({"a": (np.arange(4), [0, 1, 0, 1])}, GOOD, p).plan(),
            "a table of rows and features; got shape",
        ),
        (lambda p: Study({"a": (np.zeros((9, 9)),)}, GOOD, p).plan(), "data set 'a' must be .*; got a tuple of 1$"),
        (lambda p: Study(DATA, [DummyClassifier()], p), "mapping of names to estimators; got list"),
        (lambda p: Study(DATA, {"a": DummyClassifier}, p), "method 'a' must be an estimator"),
        (lambda p: Study(DATA, GOOD, p, scoring="acuracy"), "no score 'acuracy'. Did you mean 'accuracy'"),
        (lambda p: Study(DATA, GOOD, p, measures={"fold": noise_of}), "cannot be called 'fold'"),
        (lambda p: Study(DATA, GOOD, p, measures={"x": 3}), "measure 'x' must be a function"),
        (lambda p: Study(DATA, GOOD, p, random_state=None), "so that it can be resumed"),
        (lambda p: Study({"a": 3}, GOOD, p).plan(), "data set 'a' must be"),
        (lambda p: Study({"a": ([[1], [2]], [1, None])}, GOOD, p).plan(), "1 rows without a target"),
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


def test_the_notes_of_an_error_are_part_of_its_message(tmp_path):
    def fail(*parts):
        error = TypeError("unsupported operand")
        error.add_note("column 'colour' holds categories")
        raise error

    found = Study(DATA, GOOD, tmp_path, cv=2, measures={"x": fail}).run().failures()["error"]
    assert found.str.fullmatch("TypeError: unsupported operand. column 'colour' holds categories").all()


def test_a_measure_that_is_no_number_fails_its_cell(tmp_path):
    results = Study(DATA, GOOD, tmp_path, cv=2, measures={"x": lambda *parts: "many"}).run()
    assert results.failures()["error"].str.contains("measure 'x' must return one number").all()


def test_every_named_score_has_a_column_of_its_own(tmp_path):
    names = ("accuracy", "balanced_accuracy", "error_rate", "f1_macro", "g_mean")
    results = small(tmp_path, scoring=names).run()
    assert set(results.scores) == {*names, "noise"}
    assert not results.frame().columns.duplicated().any()
    assert (results.table("error_rate") + results.table("accuracy")).to_numpy() == pytest.approx(1)


def test_old_files_of_killed_processes_are_removed(tmp_path):
    small(tmp_path).run()
    left = [tmp_path / ".study.json.abcd1234", tmp_path / "cells" / ".00.cell.abcd1234"]
    recent = tmp_path / "cells" / ".01.cell.abcd1234"  # another process may be writing this one
    others = [tmp_path / ".config", tmp_path / ".study.json.old", recent]
    for path in left + others:
        path.write_bytes(b"{")
        if path != recent:
            os.utime(path, (0, 0))
    small(tmp_path).run()
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in others)
