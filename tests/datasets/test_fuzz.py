"""Whatever is in a file, it is a table or a clear error; and what is written is read back."""

import csv
import io
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weighbors._names import unique_names
from weighbors.datasets import split_target
from weighbors.datasets.readers import read_file
from weighbors.exceptions import InvalidDataError
from weighbors.tables import clean_table

quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
PIECES = [
    "a,b,class\n", "1,2,x\n", "3;4;y\n", '"', "'", "\t", "\n", "\r", "@attribute a real\n", "@attribute b {x, y}\n",
    "@data\n", "@outputs b\n", "{0 1, 1 y}\n", "?", "<null>", "é", "\ufeff", "%", ",", "|", "1e999", "-", "\\", "x\0y",
]  # fmt: skip


@quick
@given(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(["csv", "tsv", "arff", "dat", "txt"])
)
def test_any_text_is_a_table_or_a_clear_error(tmp_path, text, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(text.encode())
    used(path)


@quick
@given(st.binary(max_size=300), st.sampled_from(["csv", "arff", "dat", "npz", "parquet", "wb", ""]))
def test_any_bytes_are_a_table_or_a_clear_error(tmp_path, content, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(content)
    used(path)


def used(path):
    with suppress(InvalidDataError):  # any other error fails the test
        table = read_file(path)
        assert table.frame.columns.is_unique
        assert table.cells().shape == table.frame.shape
        target = table.target or table.frame.columns[-1]
        clean_table(split_target(table.frame, target)[0])


WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=["Cs"]), min_size=1, max_size=8
)


@quick
@given(st.data(), st.sampled_from([",", ";", "\t", "|"]), st.integers(2, 5), st.integers(6, 12))
def test_cells_are_read_back_as_they_were_written(tmp_path, data, separator, width, rows):
    names = data.draw(st.lists(WORDS.map(str.strip).filter(bool), min_size=width, max_size=width, unique=True))
    cells = data.draw(st.lists(st.lists(st.integers(0, 99).map(str), min_size=width, max_size=width), min_size=rows))
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([names, *cells])
    path = tmp_path / "t.csv"
    path.write_bytes(buffer.getvalue().encode())
    table = read_file(path)
    assert list(table.frame.columns) == names
    assert table.cells().to_numpy().tolist() == cells
    assert table.frame.to_numpy().tolist() == [[int(cell) for cell in row] for row in cells]


@quick
@given(st.lists(st.sampled_from(["", "a", "a (2)", "column 1", "column 1'", "b"]), max_size=8))
def test_names_are_made_unique(names):
    unique, notes = unique_names(names)
    assert len(set(unique)) == len(unique) == len(names)
    assert all(new == old for new, old in zip(unique, names, strict=True) if old and names.count(old) == 1)
    assert len(notes) == sum(new != old for new, old in zip(unique, names, strict=True))


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "a\n1\n2\n", "a;b;c\n1,5;2;x\n"])
def test_small_texts(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    assert len(read_file(tmp_path / "t.csv").frame) == text.count("\n") - 1
