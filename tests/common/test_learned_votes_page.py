"""The pages on the accuracy of learned votes agree with the committed cells."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("learned_votes_page", ROOT / "tools" / "learned_votes_page.py")
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)


def test_figures_on_the_pages_are_the_committed_ones():
    assert pages.outdated() == [], "run: python tools/learned_votes_page.py"


def test_a_changed_figure_is_found(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text(encoding="utf8")
    changed = text.replace("have a mean accuracy of .", "have a mean accuracy of .9")
    assert changed != text
    (tmp_path / "README.md").write_text(changed, encoding="utf8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "PAGES", {"README.md": pages.PAGES["README.md"]})
    assert pages.outdated() == ["README.md"]
    with pytest.raises(ValueError, match="one pair of marks for 'made'"):
        pages.fill_marks("no marks", {"made": pages.made})


def test_every_cell_is_on_the_page():
    page = (ROOT / "docs" / "learned_votes_study.md").read_text(encoding="utf8")
    cells = pages.read_cells()
    for task, score in (("classes", "accuracy"), ("numeric", "r2")):
        part = page.split(f"<!-- begin cells_of_{'classes' if task == 'classes' else 'numbers'} -->")[1]
        lines = part.split("<!-- end")[0].strip().splitlines()
        head = [name.strip() for name in lines[0].strip("|").split("|")]
        found = {line.split("|")[1].replace("†", "").strip(): line for line in lines[2:-1]}
        done = cells[(cells["task"] == task) & (cells["error"] == "")]
        assert set(done["table"]) <= set(found)
        # A mean of its own, apart from the pivot of the script.
        for (table, method), folds in done.groupby(["table", "method"]):
            shown = found[table].strip("|").split("|")[head.index(method)].strip().strip("*").replace("−", "-")
            if len(folds) == 5:
                assert float(shown) == pytest.approx(np.mean(folds[score].tolist()), abs=0.00051)
            else:
                assert shown == "–"


def test_the_record_fits_the_cells():
    made = json.loads((pages.RESULTS / "made.json").read_text(encoding="utf8"))
    cells = pages.read_cells()
    assert made["cells"] == {"done": int((cells["error"] == "").sum()), "failed": int((cells["error"] != "").sum())}
    assert made["seed"] == 0
    assert made["folds"] == 5
    assert "benchmarks/learned_votes.py" in made["command"]
    for task, part in cells.groupby("task"):
        assert set(part["table"]) <= set(made["tables"][task])
    assert not cells.duplicated(["table", "task", "fold", "method"]).any()
    assert sum(path.stat().st_size for path in pages.RESULTS.iterdir()) < 700_000


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.9715, ".972"), (1.0, "1.000"), (0.9999, "1.000"), (-0.288, "−.288"), (np.nan, "–"), (2.05, "2.050")],
)
def test_scores_are_printed_without_a_leading_zero(value, shown):
    assert pages.number(value, 3) == shown


def test_counts_are_seen_from_learned_votes():
    assert pages.turned("22/4/34") == "34 / 4 / 22"


def test_the_verdict_names_better_worse_and_undecided():
    rows = {"learned votes": ["", 0], "a": ["1/0/9", 0.01], "b": ["9/0/1", 0.04], "c": ["4/1/5", 0.5]}
    summary = pd.DataFrame.from_dict(rows, orient="index", columns=["win/tie/loss", "Holm p"])
    assert pages.verdict(summary) == (
        "significantly better than a; significantly worse than b; not significantly different from c (p = .500)"
    )
