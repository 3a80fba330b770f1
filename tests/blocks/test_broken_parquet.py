"""Parquet files, and columns of them, that cannot be read are refused by name."""

import numpy as np
import pandas as pd
import pytest

import weighbors as wb
from weighbors.datasets import read_table
from weighbors.exceptions import InvalidDataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
Y = ["u", "v"] * 6


def broken_text(kind):
    """Twelve texts of one byte, the last of which is no UTF-8."""
    offsets = np.arange(13, dtype=np.int64 if kind == "large" else np.int32)
    array = pa.LargeStringArray if kind == "large" else pa.StringArray
    raw = array.from_buffers(12, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"abababababa\xff"))
    return pa.DictionaryArray.from_arrays(pa.array(range(12), pa.int32()), raw) if kind == "dictionary" else raw


@pytest.mark.parametrize("kind", ["plain", "large", "dictionary"])
@pytest.mark.parametrize("estimator", [wb.ReliefF(2), wb.WeightedKNeighborsClassifier(1)], ids=["weigher", "k-NN"])
def test_text_that_is_no_utf8_is_refused_by_file_and_column(tmp_path, kind, estimator):
    numbers = np.arange(12.0)
    pq.write_table(pa.table({"x": numbers, "k": Y, "y": Y}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": numbers, "k": broken_text(kind), "y": Y}), tmp_path / "b.parquet")
    with pytest.raises(InvalidDataError, match=r"b.parquet' is no readable.*column 'k' holds text that is no UTF-8"):
        estimator.fit(tmp_path, "y")
    pq.write_table(pa.table({"x": numbers, "k": Y, "y": broken_text(kind)}), tmp_path / "b.parquet")
    with pytest.raises(InvalidDataError, match=r"b.parquet' is no readable.*column 'y' holds text that is no UTF-8"):
        estimator.fit(tmp_path, "y")


def test_text_of_arrow_in_dask_is_refused_by_column():
    dd = pytest.importorskip("dask.dataframe")
    X = pd.DataFrame({"x": np.arange(12.0), "k": pd.array(broken_text("plain"), dtype=pd.ArrowDtype(pa.string()))})
    with pytest.raises(InvalidDataError, match="column 'k' holds text that cannot be read.*UTF-8"):
        wb.ReliefF(2).fit(dd.from_pandas(X.assign(y=Y), npartitions=1), "y")


def test_damaged_pages_are_told_of_by_file(tmp_path):
    path = tmp_path / "t.parquet"
    x = np.random.default_rng(0).normal(size=3000)
    pq.write_table(pa.table({"x": x, "y": ["u", "v"] * 1500}), path, compression="gzip")
    raw = bytearray(path.read_bytes())
    raw[200:4000] = b"\xff" * 3800
    path.write_bytes(raw)
    with pytest.raises(InvalidDataError, match=r"t.parquet' is no readable parquet file"):
        wb.ReliefF(2).fit(path, "y")


def test_a_file_that_is_read_whole(tmp_path):
    pq.write_table(pa.table({"x": np.arange(12.0), "k": broken_text("large"), "y": Y}), tmp_path / "t.parquet")
    with pytest.raises(InvalidDataError, match="t.parquet' is no readable parquet file"):
        read_table(tmp_path / "t.parquet")


def test_row_numbers_over_blocks_are_whole(task_bytes, mapped):
    task_bytes(2**16)
    X = np.tile(np.arange(4.0)[:, None], (50, 3))
    X[150, 1] = 0.5
    y = np.arange(200) % 2
    with pytest.raises(InvalidDataError, match=r"\(0\.5 in row 150\)"):
        wb.RepresentativeIntervals().fit(mapped(X), y)
    X[0, 1] = 0.5
    with pytest.raises(InvalidDataError, match=r"\(0\.5 in row 0\)"):
        wb.RepresentativeIntervals().fit(mapped(X), y)
