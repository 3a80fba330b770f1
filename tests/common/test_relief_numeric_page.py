"""The page on RELIEF with numeric targets agrees with its csv files."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("relief_numeric_page", ROOT / "tools" / "relief_numeric_page.py")
page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(page)


def test_tables_on_the_page_are_the_committed_ones():
    assert not page.outdated(), "run: python tools/relief_numeric_page.py"


def test_a_changed_figure_is_found():
    text = page.PAGE.read_text(encoding="utf8")
    row = next(line for line in text.splitlines() if line.startswith("| MultiSURF"))
    assert page.fill_marks(text.replace(row, row.replace("0.", "9.")), page.TABLES) == text
    with pytest.raises(ValueError, match="one pair of marks for 'found'"):
        page.fill_marks("no marks", page.TABLES)


def test_the_draws_are_those_of_all_methods():
    found = pd.read_csv(page.RESULTS / "found.csv")
    assert not found.duplicated(["problem", "method", "draw"]).any()
    assert set(found.groupby(["problem", "method"])["draw"].nunique()) == {100}
    assert found["found"].between(0, 1).all()
