"""The page on lists of features agrees with its csv files."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("lists_page", ROOT / "tools" / "lists_page.py")
page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(page)


def test_tables_on_the_page_are_the_committed_ones():
    assert not page.outdated(), "run: python tools/lists_page.py"


def test_a_changed_figure_is_found():
    text = page.PAGE.read_text(encoding="utf8")
    row = next(line for line in text.splitlines() if line.startswith("| t-test"))
    assert page.fill_marks(text.replace(row, row.replace("0.", "9.")), page.TABLES) == text
    with pytest.raises(ValueError, match="one pair of marks for 'error'"):
        page.fill_marks("no marks", page.TABLES)


def test_cells_are_complete_and_plausible():
    error = pd.read_csv(page.RESULTS / "error.csv")
    assert not error.duplicated(["table", "method", "target"]).any()
    assert (error["false"] <= error["selected"]).all()
    stability = pd.read_csv(page.RESULTS / "stability.csv")
    assert not stability.duplicated(["table", "weigher", "size"]).any()
    assert stability[["knn_error", "svm_error"]].to_numpy().max() <= 1
    assert set(stability.groupby(["table", "weigher"])["size"].nunique()) == {3}


def test_the_t_test_with_benjamini_and_hochberg_holds_its_rate():
    """The generated tables are what they claim to be: an exact method holds its rate on them."""
    error = pd.read_csv(page.RESULTS / "error.csv")
    exact = error[error["method"] == "t-test, Benjamini-Hochberg"]
    for target, part in exact.groupby("target"):
        proportion = part["false"] / part["selected"].clip(lower=1)
        assert proportion.mean() <= target + 2 * proportion.sem()
