"""The committed results of the papers come from complete runs."""

import json
from pathlib import Path

import pandas as pd
import pytest

from weighbors.presets import PRESETS, load_preset

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


@pytest.mark.parametrize("name", [name for name in PRESETS if (RESULTS / name).is_dir()])
def test_committed_results_come_from_a_run_with_all_its_tables(name):
    place = RESULTS / name
    made = json.loads((place / "made.json").read_text(encoding="utf8"))
    preset = load_preset(name)
    assert made["command"] == f"weighbors study {name} -o runs/"
    assert made["cells"].keys() <= {"done", "missing"}
    page = (ROOT / "docs" / "papers" / f"{name.replace('-', '_')}.md").read_text(encoding="utf8")
    assert made["command"] in page
    settings = made["settings"]
    found = made["statement"], settings.get("switches", {}), tuple(settings["data_sets"])
    complete = found == (preset.statement, dict(preset.switches), preset.data_sets(False)) and not made["left_out"]
    if not complete:  # figures of other settings, or without some of the data sets, are marked as such
        assert "To be computed again" in page
    assert ("missing" in made["cells"]) == bool(made["left_out"])
    assert {path.stem for path in place.glob("*.csv")} == set(made["tables"])
    for table, rows in made["tables"].items():
        found = pd.read_csv(place / f"{table}.csv")
        assert len(found) == rows
        assert "dataset" not in found or set(found["dataset"]) <= set(made["settings"]["data_sets"])
    assert sum(path.stat().st_size for path in place.iterdir() if path.suffix != ".xz") < 500_000
    # The cells of a run that is not complete are kept, so that it can go on; those of a new run are named on the page.
    kept = (place / "unfinished.tar.xz").exists()
    assert kept or not made["left_out"]
    assert made["left_out"] or kept == ("unfinished.tar.xz" in page)
