"""The tables on the pages are made again from docs/results and compared."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("fill_pages", ROOT / "tools" / "fill_pages.py")
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)


def test_tables_on_the_pages_are_the_committed_ones():
    assert pages.outdated() == [], "run: python tools/fill_pages.py"


def test_a_changed_figure_is_found(tmp_path, monkeypatch):
    name = "docs/papers/class_relief.md"
    (tmp_path / name).parent.mkdir(parents=True)
    text = (ROOT / name).read_text(encoding="utf8").replace("70.13", "71.13")
    (tmp_path / name).write_text(text, encoding="utf8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "PAGES", {name: pages.PAGES[name]})
    assert pages.outdated() == [name]
    with pytest.raises(ValueError, match="one pair of marks for 'table2'"):
        pages.fill_marks("no marks", {"table2": str})
