"""The page on KEEL agrees with its csv file, and the loops behind that file do what the page says of KEEL."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from weighbors import FCNN, HMNEI, IB2, ICF
from weighbors._random import generators

ROOT = Path(__file__).parents[2]


def _load(name, folder):
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


page, keel = _load("keel_page", "tools"), _load("keel_selectors", "benchmarks")

LINE = np.array([[0.0], [1.0], [2.0], [4.0], [5.5], [7.0]])
CLASSES = np.array([0, 0, 0, 1, 1, 1])


def test_the_table_on_the_page_is_the_committed_one():
    assert not page.outdated(), "run: python tools/keel_page.py"


def test_a_changed_figure_is_found():
    text = page.PAGE.read_text(encoding="utf8")
    row = next(line for line in text.splitlines() if line.startswith("| HMNEI"))
    assert page.fill_marks(text.replace(row, row.replace(" | ", " | 9", 2)), page.TABLES) == text
    with pytest.raises(ValueError, match="one pair of marks"):
        page.fill_marks("no marks", page.TABLES)


def test_cells_are_complete_and_plausible():
    cells = pd.read_csv(page.RESULTS)
    assert not cells.duplicated(["selector", "table"]).any()
    assert set(cells["table"]) == set(keel.TABLES)
    assert set(cells.groupby("table").size()) == {8}
    assert (cells["same_rows"] <= cells["runs"]).all()
    assert cells[keel.MEANS].min().min() > 0
    assert cells[keel.MEANS].max().max() <= 1
    # Where all runs keep the same rows, all else is the same, too.
    same = cells[cells["same_rows"] == cells["runs"]]
    assert (same["kept"] == same["keel_kept"]).all()
    assert (same["accuracy"] == same["keel_accuracy"]).all()
    assert (same["overlap"] == 1).all()


@pytest.mark.parametrize("seed", range(3))
def test_rules_that_say_the_same_keep_the_same_rows(seed):
    """Without ties and copies, FCNN and IB2 agree; HMN-EI agrees once its quarters are not rounded down."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 1, 2], 30)
    X[:, 0] += y
    d = keel.distances(X)
    assert keel.keel_fcnn(X, d, y) == set(FCNN().fit(X, y).sample_indices_)
    order = generators(seed, 1)[0].permutation(len(y))
    assert keel.keel_ib2(d, y, order) == set(keel.ShuffledIB2(seed).fit(X, y).sample_indices_)
    assert keel.keel_hmnei(d, y, 0.1, whole=False) == set(HMNEI().fit(X, y).sample_indices_)


@pytest.mark.parametrize("seed", range(3))
def test_without_the_named_details_the_rules_agree_on_ties_and_copies(seed):
    """Whole numbers have many ties and copies, and no sum rounds, so nothing but the rules can differ."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, size=(90, 3)).astype(float), np.arange(90) % 5
    X[:, 0] += y
    wanted = {"FCNN", "IB2", "HMNEI"}
    for pair in keel.pairs(X, y):
        if pair.alike:
            assert pair.alike() == set(pair.ours.fit(X, y).sample_indices_), pair.name
            wanted.discard(pair.name)
    assert not wanted


def test_copies_have_no_vote_in_keel():
    """The second of two equal rows is kept again, since the first is not seen."""
    X, y = np.array([[0.0], [1.0], [1.0]]), np.array([0, 1, 1])
    d, order = keel.distances(X), np.arange(3)
    assert keel.keel_ib2(d, y, order) == {0, 1, 2}
    assert keel.keel_ib2(d, y, order, copies=True) == {0, 1} == set(IB2().fit(X, y).sample_indices_)


def test_icf_of_keel_removes_the_rows_at_the_border_and_ours_the_inner_ones():
    assert set(ICF(1).fit(LINE, CLASSES).sample_indices_) == {1, 2, 3, 4}
    assert keel.keel_icf(keel.distances(LINE), CLASSES, 1) == {0, 1, 4, 5}


def test_new_neighbors_of_drop3_in_keel():
    """The row whose place is taken fills the later places: the row at distance 3 is lost."""
    assert keel._refill(np.array([2.0, 3.0, 1.0]), np.arange(3), 3) == [2, 0, 0]
    assert keel._refill(np.array([2.0, 3.0, 1.0]), np.arange(3), 2) == [2, 0]


def test_ib3_of_keel_keeps_all_stored_rows():
    """Row 0 is stored, row 1 is wrong by it and stored, and no ratio is low enough to drop one of them."""
    d = keel.distances(np.array([[0.0], [1.0]]))
    assert keel.keel_ib3(d, np.array([0, 1]), np.arange(2), np.random.default_rng(0), 0.9, 0.7) == {0, 1}


def test_scaling_of_keel():
    """A missing value is 0 before the scaling in training rows, after it in test rows; constant columns stay."""
    train, test = np.array([[2.0, 5.0], [np.nan, 5.0]]), np.array([[np.nan, 5.0], [4.0, 5.0]])
    rows, queries = keel.scale(train, test, np.array([2.0, 5.0]), np.array([4.0, 5.0]))
    assert rows.tolist() == [[0.0, 5.0], [-1.0, 5.0]]
    assert queries.tolist() == [[0.0, 5.0], [1.0, 5.0]]
