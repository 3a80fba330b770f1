"""ARFF as Weka reads it: what separates cells, what is missing, what begins a comment."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weighbors.cli import main
from weighbors.datasets.readers import read_file
from weighbors.exceptions import InvalidDataError

HEAD = """@relation r
@attribute size real
@attribute colour {red, 'light blue', "it's"}
@attribute class {a b}
@data
"""


def read(tmp_path, text):
    path = tmp_path / "t.arff"
    path.write_bytes(text.encode())
    return read_file(path).frame


def rows_of(frame):
    return [[None if pd.isna(cell) else cell for cell in row] for row in frame.astype(object).to_numpy().tolist()]


@pytest.mark.parametrize(
    "line",
    [
        "1.5,red,a",
        "1.5 red a",
        "1.5\tred\ta",
        "  1.5 ,\t red  , a ",
        "1.5,red a",
        "1.5,red,a,",
        "1.5 red a ,",
        "1.5\tred\ta\t",
        "1.5,,red,a",
        "1.5,'red','a'",
        "'1.5' \"red\" a",
        "1.5 red a % a remark, with 'a quote",
        "{0 1.5, 1 red, 2 a}",
        "{0 1.5,1 'red',2 \"a\",}",
        "{0\t1.5\t1 red} % what is left out is the first category",
        "{ 0 1.5 }",
    ],
)
def test_what_separates_cells(tmp_path, line):
    assert rows_of(read(tmp_path, HEAD + line + "\n")) == [[1.5, "red", "a"]]


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("? 'light blue' b", [None, "light blue", "b"]),
        ('?,"it\'s",b,', [None, "it's", "b"]),
        ("2, 'it\\'s' ?", [2.0, "it's", None]),
        ("2,,b", [2.0, None, "b"]),
        ("2,red,", [2.0, "red", None]),
        ("2,light blue,b", [2.0, "light blue", "b"]),  # not Weka's, but KEEL's and others'
        ("{0 ?, 1 'light blue'}", [None, "light blue", "a"]),
        ("{}", [0.0, "red", "a"]),
    ],
)
def test_quoted_and_missing_cells(tmp_path, line, cells):
    assert rows_of(read(tmp_path, HEAD + line + "\n")) == [cells]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("1.5 red", "line 6 .* has 2 cells where 3 attributes"),
        ("1.5,red,a,b", "line 6 .* has 4 cells where 3 attributes"),
        ("1.5 red a b", "line 6 .* has 4 cells where 3 attributes"),
        ("1.5,red", "line 6 .* has 2 cells where 3 attributes"),
        ("1.5 'red a", "line 6 .* cannot be read: a quote is not closed"),
        ("1.5,red,{a}", "line 6 .*'{a}' is none of the declared categories"),
        ("{0 1.5", "line 6 .* cannot be read: a sparse row without its end"),
        ("{0 1.5, 1}", "line 6 .* cannot be read: a sparse row lists pairs"),
        ("{3 1.5}", r"line 6 .* '3' is no number of an attribute \(0 to 2\)"),
        ("{-1 a}", "line 6 .* '-1' is no number of an attribute"),
        ("{x a}", "line 6 .* 'x' is no number of an attribute"),
        ("1.5,red,a%", "line 6 .*'a%' is none of the declared categories"),  # inside a word it begins no comment
        ("one red a", "line 6 .*'one' is no number"),
    ],
)
def test_rows_that_cannot_be_read(tmp_path, line, told):
    with pytest.raises(InvalidDataError, match=told):
        read(tmp_path, HEAD + line + "\n")


def test_a_quoted_question_mark_may_be_a_category(tmp_path):
    head = "@relation r\n@attribute a {'?', x}\n@attribute b {y, z}\n@attribute c string\n@data\n"
    assert rows_of(read(tmp_path, head + "'?' '?' '?'\n? ? ?\nx,y,''\n")) == [
        ["?", None, "?"],
        [None, None, None],
        ["x", "y", ""],
    ]


@pytest.mark.parametrize(
    "declared",
    ["{a,b}", "{a b}", "{ a\tb }", "{a, b,}", "{'a' \"b\"}", "{a,b} % a remark", "{'a', 'b'}"],
)
def test_declared_categories(tmp_path, declared):
    frame = read(tmp_path, f"@RELATION r\n@ATTRIBUTE\tk\t{declared}\n@attribute x real % of some size\n@DATA\nb 1\n")
    assert list(frame["k"].cat.categories) == ["a", "b"]
    assert rows_of(frame) == [["b", 1.0]]


def test_a_declaration_with_an_open_quote(tmp_path):
    with pytest.raises(InvalidDataError, match="line 2 .* cannot be read: a quote is not closed"):
        read(tmp_path, "@relation r\n@attribute a {'x, y}\n@data\n")


def test_other_signs_end_no_line(tmp_path):
    text = "@relation r\n@attribute a string\n@attribute b real\n@data\n'one\u2028two\x85', 1\r\n'x\\ty', 2\r\n"
    assert rows_of(read(tmp_path, text)) == [["one\u2028two\x85", 1.0], ["x\ty", 2.0]]


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=["Cs", "Cc"]), max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(
    st.lists(st.tuples(st.none() | st.floats(-1e6, 1e6), st.none() | WORDS), min_size=1, max_size=6),
    st.sampled_from([",", " ", "\t", ", ", " ,\t"]),
    st.sampled_from(["", ",", " ", "\t", " % 'remark"]),
    st.sampled_from(["'", '"']),
)
def test_cells_are_read_back_as_they_were_written(tmp_path, rows, separator, last, quote):
    def written(text):
        escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
        return f"{quote}{escaped}{quote}"

    lines = [
        separator.join(["?" if size is None else repr(size), "?" if text is None else written(text)]) + last
        for size, text in rows
    ]
    frame = read(tmp_path, "@relation r\n@attribute a real\n@attribute b string\n@data\n" + "\n".join(lines))
    assert rows_of(frame) == [list(row) for row in rows]
    assert frame["a"].dtype == np.float64


@pytest.mark.parametrize(("line", "text"), [
    (1, "@relation 'r\n@attribute a numeric\n@attribute c {x,y}\n@data\n1,x\n2,y\n"),
    (1, '@relation "r\n@attribute a numeric\n@attribute c {x,y}\n@data\n1,x\n2,y\n'),
    (2, "@relation r\n@attribute 'a numeric\n@attribute c {x,y}\n@data\n1,x\n2,y\n"),
    (3, "@relation r\n@attribute a numeric\n@attribute c {x,'y}\n@data\n1,x\n2,y\n"),
    (5, "@relation r\n@attribute a numeric\n@attribute c {x,y}\n@data\n1,'x\n2,y\n"),
    (6, "@relation r\n@attribute a numeric\n@attribute c {x,y}\n@data\n1,x\n2,\"y"),
    (5, "@relation r\n@attribute a numeric\n@attribute c {x,y}\n@data\n{0 1, 1 'x}\n{1 y}\n"),
])  # fmt: skip
def test_quotes_without_an_end_are_refused(tmp_path, line, text):
    path = tmp_path / "t.arff"
    path.write_text(text, encoding="utf8")
    with pytest.raises(InvalidDataError, match=f"line {line} of"):
        read_file(path)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(path), "--target", "c", "-o", str(tmp_path / "report.html")])
    assert ended.value.code == 3
