"""Presets run on the tables that are there, and name the others."""

import json
from dataclasses import replace

import pytest
from support.tiny_preset import preset

from weighbors.datasets import fetchable_datasets
from weighbors.exceptions import InvalidDataError
from weighbors.presets import PRESETS, load_preset, run_preset


@pytest.fixture
def fetched(tmp_path):
    """A directory with the manifest of all tables that can be fetched, and empty files."""
    home = tmp_path / "data"
    home.mkdir()
    manifest = fetchable_datasets()
    for file in manifest["file"]:
        (home / file).parent.mkdir(exist_ok=True)
        (home / file).touch()
    manifest.to_csv(home / "MANIFEST.csv", index=False)
    return home


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
@pytest.mark.parametrize("name", PRESETS)
def test_a_directory_as_fetch_makes_it(fetched, name, quick):
    wanted = load_preset(name).data_sets(quick)
    found = load_preset(name).build(quick, fetched)
    assert found.datasets
    assert not found.built_in
    assert sorted([*found.datasets, *found.absent]) == sorted(wanted)
    # A table that is listed, and whose file is gone, is absent.
    for path in (path for start in ("bupa", "glass", "haberman") for path in fetched.glob(f"*/{start}*.csv")):
        path.unlink()
    fewer = load_preset(name).build(quick, fetched)
    assert fewer.built_in or set(fewer.absent) > set(found.absent)


@pytest.mark.parametrize("name", PRESETS)
def test_a_directory_of_other_tables(tmp_path, name):
    (tmp_path / "MANIFEST.csv").write_text("name,group,file\nmine,own,mine.csv\n")
    assert load_preset(name).build(True, tmp_path).built_in
    with pytest.raises(InvalidDataError, match=r"has no table of this study\. 'weighbors datasets fetch' brings "):
        load_preset(name).build(False, tmp_path)


def test_absent_tables_are_named_with_where_to_get_them(tmp_path):
    absent = {"bupa": ("A_uci", "bupa"), "heart": ("A_ida", "heart")}
    whole = preset()
    result = run_preset(
        preset(build=lambda quick, data_home: replace(whole.build(quick, data_home), absent=absent)), output=tmp_path
    )
    assert json.loads(result.paths["made"].read_text())["absent"] == ["bupa", "heart"]
    told = "Not in the directory of data sets: bupa, heart. 'weighbors datasets fetch' brings bupa; ask the sources"
    assert told in repr(result)
    assert told in result.paths["summary"].read_text()
