"""Running a preset, tested on a tiny one."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support.tiny_preset import preset

from weighbors import __version__
from weighbors.evaluation import load_results
from weighbors.exceptions import InvalidDataError
from weighbors.presets import PRESETS, Definition, Preset, _run, load_preset, run_preset
from weighbors.presets._run import markdown_table


def test_files_of_a_run(tmp_path):
    result = run_preset(preset(), output=tmp_path)
    place = tmp_path / "tiny"
    assert sorted(path.name for path in place.iterdir() if not path.name.startswith("results.")) == [
        "accuracy.csv", "cells", "made.json", "study.json", "summary.md"]  # fmt: skip
    assert result.paths == {
        "accuracy": place / "accuracy.csv",
        "summary": place / "summary.md",
        "made": place / "made.json",
        "cells": place / "cells",
    }
    written = pd.read_csv(place / "accuracy.csv")
    # the table is the mean of the cells, which are also there
    cells = load_results(place).frame()
    by_hand = cells[(cells["dataset"] == "second") & (cells["method"] == "centre")]["accuracy"].mean()
    assert written.set_index("dataset").loc["second", "centre"] == pytest.approx(by_hand, rel=1e-5)
    page = (place / "summary.md").read_text()
    assert page.startswith("# A tiny paper\n\nNobody, 2000\n\nAs they are; 2 repeats; seed 5.\n\n2 data sets\n")
    assert "| dataset | centre | plain | paper |" in page
    assert not len(result.failures)
    assert not result.left_out
    assert "A tiny paper (Nobody, 2000)\n2 data sets" in repr(result)
    assert len(result.frame()) == 24


def test_what_made_it(tmp_path):
    made = json.loads(run_preset(preset(), output=tmp_path).paths["made"].read_text())
    assert made["command"] == "weighbors study tiny -o runs/"
    assert made["seed"] == 5
    assert made["versions"]["weighbors"] == __version__
    assert made["cells"] == {"done": 24}
    assert made["tables"] == {"accuracy": 2}
    assert made["settings"]["data_sets"]["first"] == {"rows": 40, "features": 5, "repeats": 2, "folds": 3}
    assert made["settings"]["methods"] == ["centre", "plain"]
    assert made["seconds"]["this_run"] >= 0
    assert str(tmp_path) not in json.dumps(made)


def test_quick_has_a_place_of_its_own(tmp_path):
    full = run_preset(preset(), output=tmp_path)
    quick = run_preset(preset(), output=tmp_path, quick=True)
    assert quick.paths["made"].parent == tmp_path / "tiny-quick"
    assert quick.made["command"] == "weighbors study tiny --quick -o runs/"
    assert len(quick.tables["accuracy"]) == 1
    assert len(pd.read_csv(full.paths["accuracy"])) == 2


def test_a_stopped_run_goes_on_and_gives_the_same_tables(tmp_path):
    whole = run_preset(preset(), output=tmp_path / "a")
    definition = preset().build(False, None)
    definition.study(tmp_path / "b" / "tiny").run(datasets=["second"])
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "b" / "tiny" / "cells").iterdir()}
    assert len(before) == 12
    resumed = run_preset(preset(), output=tmp_path / "b")
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    assert resumed.paths["accuracy"].read_bytes() == whole.paths["accuracy"].read_bytes()
    assert run_preset(preset(), output=tmp_path / "c", n_jobs=2).paths["accuracy"].read_bytes() == (
        whole.paths["accuracy"].read_bytes()
    )


def test_tables_of_what_is_there(tmp_path):
    preset().build(False, None).study(tmp_path / "tiny").run(datasets=["second"])
    result = run_preset(preset(), output=tmp_path, compute=False)
    assert result.tables["accuracy"]["dataset"].tolist() == ["second"]
    assert result.left_out == ("first",)
    assert result.made["cells"] == {"done": 12, "missing": 12}
    assert len(list(result.paths["cells"].iterdir())) == 12
    assert run_preset(preset(), output=tmp_path).made["cells"] == {"done": 24}


def test_failed_cells_are_named_and_can_be_tried_again(tmp_path):
    result = run_preset(preset("raise"), output=tmp_path)
    assert len(result.failures) == 12
    assert result.left_out == ("first", "second")
    assert result.tables == {}
    assert "no tables" in result.text
    assert "12 cells failed" in result.paths["summary"].read_text()
    assert "this method never works" in repr(result)
    assert json.loads(result.paths["made"].read_text())["cells"] == {"done": 12, "failed": 12}
    stamps = {path: path.stat().st_mtime_ns for path in result.paths["cells"].iterdir()}
    run_preset(preset("raise"), output=tmp_path)
    assert all(path.stat().st_mtime_ns == when for path, when in stamps.items())
    run_preset(preset("raise"), output=tmp_path, retry_failed=True)
    assert sum(path.stat().st_mtime_ns != when for path, when in stamps.items()) == 12


def test_an_incomplete_data_set_is_left_out(tmp_path):
    definition = preset().build(False, None)

    def build(quick, data_home):
        return Definition(
            definition.datasets,
            lambda name: preset("raise" if name == "first" else "not").build(False, None).methods,
            cv=3,
        )

    result = run_preset(preset(build=build), output=tmp_path)
    assert result.left_out == ("first",)
    assert result.tables["accuracy"]["dataset"].tolist() == ["second"]
    assert "Not in the tables, since cells are missing: first." in result.paths["summary"].read_text()


def test_nothing_vouches_for_half_written_tables(tmp_path, monkeypatch):
    run_preset(preset(), output=tmp_path)
    whole = _run.atomic_write

    def full_disk(path, **options):
        if path.name == "two.csv":
            raise OSError("no space left")
        return whole(path, **options)

    monkeypatch.setattr(_run, "atomic_write", full_disk)
    table = pd.DataFrame({"a": [1]})
    bad = preset(tables=lambda results: {"one": table, "two": table}, summary=lambda tables: "two tables")
    with pytest.raises(OSError, match="no space left"):
        run_preset(bad, output=tmp_path)
    assert (tmp_path / "tiny" / "one.csv").exists()
    assert not (tmp_path / "tiny" / "made.json").exists()


@pytest.mark.parametrize("name", ["made", "../up", "study", ""])
def test_names_of_tables(tmp_path, name):
    bad = preset(tables=lambda results: {name: pd.DataFrame({"a": [1]})})
    with pytest.raises(InvalidDataError, match="cannot be called"):
        run_preset(bad, output=tmp_path)


def test_labels_of_rows_are_columns(tmp_path):
    bad = preset(tables=lambda results: {"a": pd.DataFrame({"a": [1]}, index=["row"])})
    with pytest.raises(InvalidDataError, match="reset_index"):
        run_preset(bad, output=tmp_path)


def test_unknown_names():
    with pytest.raises(InvalidDataError, match="no preset 'class_relief'. Did you mean 'class-relief'"):
        run_preset("class_relief", output="nowhere")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_complete(name):
    found = load_preset(name)
    assert isinstance(found, Preset)
    assert found.name == name
    assert set(found.data_sets(True)) <= set(found.data_sets(False))
    assert "seed" in found.statement
    assert "repe" in found.statement
    assert repr(found).startswith(f"Preset {name}: ")


@pytest.mark.parametrize("name", PRESETS)
def test_without_data_there_is_a_clear_error(name, tmp_path):
    with pytest.raises(InvalidDataError, match=r"holds no MANIFEST\.csv"):
        run_preset(name, output=tmp_path, data_home=tmp_path)
    assert not (tmp_path / name).exists()


def test_presets_load_when_they_are_used():
    code = "import sys, weighbors.presets; print([m for m in sys.modules if m.startswith('weighbors.presets.')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "weighbors.presets.class_relief" not in out
    assert "weighbors.presets._run" in out


def test_a_table_in_markdown():
    table = pd.DataFrame({"set": ["a|b", "c"], "x": [0.123456, np.nan], "n": [1, 2]})
    assert markdown_table(table) == "| set | x | n |\n| --- | --- | --- |\n| a\\|b | 0.1235 | 1 |\n| c | – | 2 |"
    assert markdown_table(table, rows=1).endswith("... and 1 rows more in the csv.")


def test_files_of_killed_processes_are_removed(tmp_path):
    fcntl = pytest.importorskip("fcntl", reason="Windows has no locks of this kind")
    place = run_preset(preset(), output=tmp_path, quick=True).paths["made"].parent
    left = [place / name for name in (".accuracy.csv.abcd1234", ".summary.md.abcd1234", ".made.json.abcd1234")]
    for path in left:
        path.write_bytes(b"half")
    in_use = place / ".summary.md.recent12"
    with in_use.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as a process does that still writes it
        run_preset(preset(), output=tmp_path, quick=True)
        assert not any(path.exists() for path in left)
        assert in_use.exists()
