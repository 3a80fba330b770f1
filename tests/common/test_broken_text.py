"""Half a character (a lone surrogate) is refused by the input validation of every public function."""

import numpy as np
import pandas as pd
import pytest

import weighbors as wb
from weighbors.datasets import read_table
from weighbors.evaluation import Study
from weighbors.exceptions import InvalidDataError, InvalidWeightsError
from weighbors.report import build_report
from weighbors.tables import clean_table

BROKEN = "size\ud800"
TOLD = r"'size\\ud800' is no valid text: it holds half of a character .* Rename it"
Y = np.arange(40) % 2
LABELS = np.array(["good", BROKEN], dtype=object)[Y]
NUMBERS = np.random.default_rng(0).normal(size=(40, 2))
GOOD = pd.DataFrame(NUMBERS, columns=["x", "y"])
NAMED = pd.DataFrame(NUMBERS, columns=pd.Index(["x", BROKEN], dtype=object))
CELLS = GOOD.assign(
    c=pd.Categorical.from_codes(np.arange(40) % 3, categories=pd.Index(["a", BROKEN, "b"], dtype=object))
)
TABLES = {
    "name": (NAMED, Y),
    "category": (CELLS, Y),
    "label": (GOOD, LABELS),
    "label of a text array": (GOOD, LABELS.astype(str)),
}


def studied(X, y):
    return Study({"a": (X, y)}, {"m": wb.WeightedKNeighborsClassifier()}, "never made", cv=2).plan()


DOORS = {"study": studied, "report": build_report}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("door", DOORS)
def test_broken_text_is_refused(door, table):
    with pytest.raises(InvalidDataError, match=TOLD) as caught:
        DOORS[door](*TABLES[table])
    str(caught.value).encode()  # the message itself can be written


def test_ordered_categories():
    order = pd.CategoricalDtype(pd.Index(["a", BROKEN, "b"], dtype=object), ordered=True)
    with pytest.raises(InvalidDataError, match=f"column 'c': the category {TOLD}"):
        wb.RepresentativeIntervals(discretize="mdlp").fit(CELLS.astype({"c": order}), Y)


def test_rows_that_come_later():
    model = wb.WeightedKNeighborsClassifier(3)
    with pytest.raises(InvalidDataError, match=f"class {TOLD}"):
        model.partial_fit(GOOD, LABELS, classes=["good", BROKEN])
    model.partial_fit(GOOD, np.where(Y, "good", "bad"), classes=["bad", "good"])
    with pytest.raises(InvalidDataError, match=f"label {TOLD}"):
        model.partial_fit(GOOD, LABELS)


def test_blocks_refuse_broken_labels_too():
    pytest.importorskip("dask")
    import dask.array as da

    with pytest.raises(InvalidDataError, match=TOLD):
        wb.ReliefF(3).fit(da.from_array(NUMBERS, chunks=(20, 2)), da.from_array(LABELS, chunks=20))


@pytest.mark.parametrize("given", [{"X": NUMBERS, "y": LABELS.astype(str)},
                                   {"X": np.array([["a", BROKEN]] * 2), "y": np.arange(2)},
                                   {"X": NUMBERS, "y": Y, "feature_names": np.array(["x", BROKEN])}])  # fmt: skip
def test_files_that_hold_broken_text_are_named(tmp_path, given):
    np.savez(tmp_path / "table.npz", **given)
    with pytest.raises(InvalidDataError, match=f"table.npz.*{TOLD}"):
        read_table(tmp_path / "table.npz")


def test_other_names_that_are_kept():
    with pytest.raises(InvalidDataError, match=TOLD):
        clean_table(NAMED)
    with pytest.raises(InvalidDataError, match=f"row label {TOLD}"):
        build_report(GOOD, Y, row_labels=LABELS)
    with pytest.raises(InvalidWeightsError, match=f"feature name {TOLD}"):
        wb.Weights(feature_weights=[1.0], feature_names=[BROKEN])
    with pytest.raises(InvalidWeightsError, match=f"class {TOLD}"):
        wb.Weights(feature_weights=[[1.0], [2.0]], classes=["a", BROKEN])
    for data, methods in (({BROKEN: (GOOD, Y)}, {"m": wb.ReliefF()}), ({"a": (GOOD, Y)}, {BROKEN: wb.ReliefF()})):
        with pytest.raises(InvalidDataError, match=TOLD):
            Study(data, methods, "never made")
