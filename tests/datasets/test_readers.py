"""Files of all kinds become the same table; bad ones a clear error."""

import csv
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from weighbors._names import quote_name
from weighbors.datasets import split_target
from weighbors.datasets.readers import read_file
from weighbors.exceptions import InvalidDataError, MissingDependencyError

FRAME = pd.DataFrame({"size": [1.5, np.nan, 3.0], "colour": ["red", "blue", None], "class": ["a", "b", "a"]})
ARFF = """% a comment
@RELATION tiny
@attribute size NUMERIC
@attribute colour {red, 'light blue', "it's"}
@attribute remark string
@attribute class {a,b}

@DATA
1.5, red, 'one, two', a
% another
?,'light blue', ?, b
3, "it's", "say \\"hi\\"", a
"""
KEEL = """@relation tiny
@attribute Size real [1.5, 3.0]
@attribute Count integer[0,9]
@attribute Kind{x, y}
@attribute Other real [0, 1]
@inputs Size, Count, Other
@outputs Kind
@data
1.5, 3, x, 0.1
<null>, 4, y, 0.2
3.0, 5, x, 0.3
"""


def written(path, content, encoding="utf-8"):
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("separator", "suffix"), [(",", "csv"), (";", "csv"), ("\t", "tsv"), ("|", "txt"), ("\t", "csv")]
)
def test_the_separator_is_found(tmp_path, separator, suffix):
    path = tmp_path / f"t.{suffix}"
    FRAME.to_csv(path, sep=separator, index=False)
    table = read_file(path)
    pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)
    assert table.target is None
    assert table.notes == ()


def test_blanks_separate_where_nothing_else_does(tmp_path):
    table = read_file(written(tmp_path / "t.data", "a   b class\n1  2.5 x\n3  4   y\n"))
    assert table.frame["b"].tolist() == [2.5, 4.0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_is_found(tmp_path, encoding):
    table = read_file(written(tmp_path / "t.csv", "größe,class\n1,Übel\n2,gut\n", encoding))
    assert list(table.frame.columns) == ["größe", "class"]
    assert table.frame["class"].tolist() == ["Übel", "gut"]
    assert [("cp1252" in note) for note in table.notes] == ([True] if encoding == "cp1252" else [])


def test_decimal_commas_and_quoted_separators(tmp_path):
    table = read_file(written(tmp_path / "t.csv", 'size;"a;b";class\n1,5;2;x\n2,25;3;"y;z"\n'))
    assert list(table.frame.columns) == ["size", "a;b", "class"]
    assert table.frame["size"].tolist() == [1.5, 2.25]
    assert table.frame["class"].tolist() == ["x", "y;z"]
    table = read_file(written(tmp_path / "u.csv", "a;b\n1,5;2\n"))  # also cut in two by the comma
    assert table.frame.to_numpy().tolist() == [[1.5, 2.0]]


def test_cells_as_they_are_written(tmp_path):
    table = read_file(written(tmp_path / "t.csv", "code,x,class\n007,1.50,NA\n008,?,b\n"))
    assert table.frame["code"].tolist() == [7, 8]
    assert table.frame.isna().to_numpy().sum() == 2
    assert table.cells().to_numpy().tolist() == [["007", "1.50", "NA"], ["008", "?", "b"]]


def test_names_are_made_unique_and_that_is_said(tmp_path):
    table = read_file(written(tmp_path / "t.csv", "a,a,,a (2),class\n1,2,3,4,x\n5,6,7,8,y\n"))
    assert list(table.frame.columns) == ["a", "a (3)", "column 3", "a (2)", "class"]
    assert len(table.notes) == 2
    assert table.frame["a (3)"].tolist() == [2, 6]
    assert list(table.cells().columns) == list(table.frame.columns)


def test_hostile_names_stay_what_they_are(tmp_path):
    names = ["<script>alert(1)</script>", "x" * 10_000, "two\nlines", "🦊", 'qu"ote', "\x1b[31mred"]
    frame = pd.DataFrame([range(6), range(1, 7)], columns=names)
    frame["class"] = ["a", "b"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert list(read_file(tmp_path / "t.csv").frame.columns) == [*names, "class"]
    assert "\x1b" not in quote_name(names[-1])
    assert "\n" not in quote_name(names[2])
    assert len(quote_name(names[1])) < 50


def test_row_names_as_r_writes_them(tmp_path):
    table = read_file(written(tmp_path / "t.csv", "x,class\nr1,1,a\nr2,2,b\n"))
    assert list(table.frame.columns) == ["row name", "x", "class"]
    assert table.frame["x"].tolist() == [1, 2]


def test_lines_longer_than_the_sample(tmp_path):
    X = np.random.default_rng(0).normal(size=(7, 20_000)).round(3)
    pd.DataFrame(X).assign(label=list("abababb")).to_csv(tmp_path / "t.csv", sep=";", index=False)
    assert np.array_equal(read_file(tmp_path / "t.csv").frame.iloc[:, :-1].to_numpy(dtype=float), X)


def test_line_ends_and_cells_over_lines(tmp_path):
    for end in ("\n", "\r\n", "\r"):
        table = read_file(written(tmp_path / "t.csv", f'a,class{end}1,"x{end}y"{end}{end}2,z{end}'))
        assert table.frame["a"].tolist() == [1, 2]
        assert table.frame["class"][1] == "z"


def test_without_a_header(tmp_path):
    path = written(tmp_path / "t.csv", "1,2,a\n3,4,b\n")
    table = read_file(path, header=False)
    assert table.frame.to_numpy().tolist() == [[1, 2, "a"], [3, 4, "b"]]
    assert list(table.frame.columns) == ["x0", "x1", "x2"]
    assert "only numbers" in read_file(written(tmp_path / "u.csv", "1,2\n3,4\n")).notes[0]


def test_arff(tmp_path):
    table = read_file(written(tmp_path / "t.arff", ARFF))
    assert table.target == "class"
    assert table.frame["size"].tolist()[::2] == [1.5, 3.0]
    assert np.isnan(table.frame["size"][1])
    assert table.frame["colour"].tolist() == ["red", "light blue", "it's"]
    assert list(table.frame["colour"].cat.categories) == ["red", "light blue", "it's"]
    assert table.frame["remark"].tolist() == ["one, two", None, 'say "hi"']


def test_arff_agrees_with_scipy(tmp_path):
    from scipy.io import arff

    rng = np.random.default_rng(0)
    rows = [f"{a!r},{b!r},{c}" for a, b, c in zip(rng.normal(size=50).tolist(), rng.integers(0, 9, 50).tolist(),
                                                 rng.choice(["u", "v"], 50), strict=True)]  # fmt: skip
    head = "@relation r\n@attribute 'a one' real\n@attribute b integer\n@attribute c {u,v}\n@data\n"
    path = written(tmp_path / "t.arff", head + "\n".join(rows))
    theirs, ours = arff.loadarff(path)[0], read_file(path).frame
    for name in ("a one", "b"):
        assert ours[name].tolist() == theirs[name].tolist()
    assert ours["c"].tolist() == [value.decode() for value in theirs["c"]]


def test_sparse_arff(tmp_path):
    text = "@relation r\n@attribute a real\n@attribute b {x,y}\n@attribute c real\n@data\n{0 2.5, 1 y}\n{}\n{2 -1}\n"
    frame = read_file(written(tmp_path / "t.arff", text)).frame
    assert frame.astype(object).to_numpy().tolist() == [[2.5, "y", 0.0], [0.0, "x", 0.0], [0.0, "x", -1.0]]


def test_keel_has_its_own_class_and_missing_values(tmp_path):
    table = read_file(written(tmp_path / "t.dat", KEEL))
    assert table.target == "Kind"
    assert table.frame["Count"].tolist() == [3, 4, 5]
    assert np.isnan(table.frame["Size"][1])
    X, y, _ = split_target(table.frame, table.target)
    assert list(X.columns) == ["Size", "Count", "Other"]
    assert y.tolist() == ["x", "y", "x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ARFF.replace("1.5, red", "1.5, green"), r"line 9 .*'green' is none of the declared categories of 'colour'"),
        (ARFF.replace("1.5, red", "big, red"), r"line 9 .*'big' is no number, and 'size'"),
        (ARFF.replace("1.5, red, ", "1.5, "), "line 9 .* has 3 cells where 4 attributes"),
        (ARFF.replace("'one, two'", "'one, two"), "line 9 .* cannot be read: a quote is not closed"),
        (ARFF[: ARFF.index("@DATA")], "no @data line: is it cut off"),
        ("@relation r\n@data\n1\n", "no @attribute line"),
        ("@relation r\n@attribute a relational\n@data\n", "is of the type 'relational'"),
        ("@relation r\nhello\n", "line 2 .* is no declaration: 'hello'"),
        ("@relation r\n@attribute a {x, y\n@data\n", "categories without an end"),
    ],
)
def test_bad_arff(tmp_path, text, message):
    with pytest.raises(InvalidDataError, match=message):
        read_file(written(tmp_path / "t.arff", text))


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    frame = FRAME.assign(colour=FRAME["colour"].astype("category"))
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_file(tmp_path / "t.parquet").frame
    pd.testing.assert_frame_equal(found, frame, check_dtype=False, check_column_type=False)
    with pytest.raises(InvalidDataError, match="no readable parquet file"):
        read_file(written(tmp_path / "bad.parquet", b"PAR1 and nothing"))


@pytest.mark.parametrize("packed", [False, True])
def test_text_in_parquet_that_is_none(tmp_path, packed):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    raw = pa.StringArray.from_buffers(2, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff"))
    text = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), raw) if packed else raw
    pq.write_table(pa.table({"x": [1.0, 2.0], "k": text}), tmp_path / "t.parquet")
    with pytest.raises(InvalidDataError, match="no readable parquet file: .*(UTF|Wrapping|utf-8)"):
        read_file(tmp_path / "t.parquet")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'weighbors\[parquet\]'"):
        read_file(written(tmp_path / "t.parquet", b"PAR1"))


def test_npz_dense_and_sparse(tmp_path):
    X, y = np.array([[0.0, 2.0], [3.0, 0.0], [5.0, 1.0]]), np.array(["a", "b", "a"])
    np.savez(tmp_path / "dense.npz", X=X, y=y, feature_names=np.array(["left", "right"]))
    rows = sparse.csr_matrix(X)
    np.savez(tmp_path / "sparse.npz", data=rows.data, indices=rows.indices, indptr=rows.indptr, shape=X.shape, y=y)
    dense, thin = read_file(tmp_path / "dense.npz"), read_file(tmp_path / "sparse.npz")
    assert list(dense.frame.columns) == ["left", "right", "class"]
    assert dense.target == thin.target == "class"
    for table in (dense, thin):
        assert np.array_equal(table.frame.iloc[:, :2].to_numpy(dtype=float), X)
        assert table.frame["class"].tolist() == y.tolist()


def test_bad_npz(tmp_path):
    np.savez(tmp_path / "a.npz", Z=np.zeros(3))
    with pytest.raises(InvalidDataError, match="must hold the arrays X and y; it holds 'Z'"):
        read_file(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    with pytest.raises(InvalidDataError, match=r"X of shape \(n, m\) and y of shape \(n,\); got \(3, 2\) and \(2,\)"):
        read_file(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", X=np.array([[{}, 1]], dtype=object), y=np.zeros(1))  # a pickle inside
    with pytest.raises(InvalidDataError, match="no readable npz"):
        read_file(tmp_path / "c.npz")
    with pytest.raises(InvalidDataError, match="no readable npz"):
        read_file(written(tmp_path / "d.npz", b"PK\x03\x04 cut off"))
    np.savez(tmp_path / "e.npz", data=np.ones(1), indices=np.zeros(1, int), indptr=np.array([0, 1]),
             shape=np.array([1, 10**10]), y=np.zeros(1))  # fmt: skip
    with pytest.raises(InvalidDataError, match="too large to be laid out"):
        read_file(tmp_path / "e.npz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,class\n1,x\n2\n", "line 3 of .* has 1 cell where the header has 2"),
        (b"a,class\n1,x\n2,y,z\n", "line 3 of .* has 3 cells where the header has 2"),
        (b"a,class\n1,\x00\n", "zero bytes"),
        (b"\xff\xfea", "begins as utf-16 text and is damaged"),
        (b'a,class\n1,"x\n2,y\n', "quote that is not closed|cells where"),
    ],
)
def test_bad_text(tmp_path, content, message):
    with pytest.raises(InvalidDataError, match=message):
        read_file(written(tmp_path / "t.csv", content))


def test_a_cell_longer_than_python_allows(tmp_path):
    before = csv.field_size_limit(1000)
    try:
        with pytest.raises(InvalidDataError, match="cannot be read as a table: field larger than field limit"):
            read_file(written(tmp_path / "t.csv", "a,class\n" + "x" * 2000 + ",y\n"))
    finally:
        csv.field_size_limit(before)


def test_no_file_and_a_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_file(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        read_file(tmp_path)
    with pytest.raises(InvalidDataError, match="is no text"):
        read_file(written(tmp_path / "t.docx", b"PK\x03\x04..."))


def table_of(**columns):
    return pd.DataFrame(columns)


def test_the_target_by_name_or_an_error_that_lists_the_columns():
    table = table_of(a=[1, 2, 3], kind=[1.0, np.nan, 1.0], label=["x", "y", "x"])
    X, y, notes = split_target(table, "label")
    assert list(X.columns) == ["a", "kind"]
    assert y.tolist() == ["x", "y", "x"]
    assert notes == ()
    with pytest.raises(InvalidDataError, match="which column holds the classes.*'a', 'kind', 'label'"):
        split_target(table)
    with pytest.raises(InvalidDataError, match=r"no column 'lable'\. Did you mean 'label'\? The columns are 'a'"):
        split_target(table, "lable")
    wide = table_of(**{f"x{j}": [1, 2] for j in range(90)}, species=["a", "b"])
    with pytest.raises(InvalidDataError, match=r"'x0', .*'x89', 'species' \(of 91 columns\)"):
        split_target(wide)


def test_rows_without_a_label_are_left_out():
    X, y, notes = split_target(table_of(a=[1, 2, 3, 4], k=[1.0, np.nan, 2.0, 2.0]), "k")
    assert y.tolist() == [1, 2, 2]
    assert y.dtype == np.int64
    assert X.index.tolist() == [0, 2, 3]
    assert "1 row has no label in 'k'" in notes[0]


def test_labels_too_large_for_numbers_are_text():
    large = np.array([2**63 + 1, 2**63 + 2, 2**63 + 1], dtype=np.uint64)
    assert split_target(table_of(a=[1, 2, 3], k=large), "k")[1].tolist() == [str(one) for one in large.tolist()]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1.5, 2.5, 1.5], "holds measurements"),
        (["x", "x", "x"], "at least 2 classes are needed; .* has one, 'x', in all 3 rows"),
        (["x", "y", "z"], "all 3 rows have a label of their own"),
        ([None, None, None], "no row has a label"),
    ],
)
def test_targets_that_are_none(labels, message):
    with pytest.raises(InvalidDataError, match=message):
        split_target(table_of(a=[1, 2, 3], k=labels), "k")


def test_too_little():
    with pytest.raises(InvalidDataError, match="no rows"):
        split_target(table_of(a=[], k=[]), "k")
    with pytest.raises(InvalidDataError, match="the table has 1 row"):
        split_target(table_of(a=[1], k=["x"]), "k")
    with pytest.raises(InvalidDataError, match="only column"):
        split_target(table_of(k=["x", "y"]), "k")


def test_the_papers_files(papers_data):
    table = read_file(papers_data / "D_uci" / "mushroom-8124.parquet")
    assert table.frame.shape == (8124, 23)
    assert read_file(papers_data / "C_nips2003" / "dexter.npz").frame.shape == (600, 20_001)


def test_numbers_are_read_to_the_last_bit(tmp_path):
    numbers = np.random.default_rng(0).normal(size=300).tolist()
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{number!r},a\n" for number in numbers))
    assert read_file(tmp_path / "t.csv").frame["x"].tolist() == numbers


def test_numbers_of_a_file_are_exact_and_nothing_is_warned_of(tmp_path):
    numbers = np.random.default_rng(0).normal(size=2000) * 10.0 ** np.linspace(-290, 290, 2000)
    path = tmp_path / "numbers.csv"
    path.write_text("a,y\n" + "".join(f"{number!r},{i % 2}\n" for i, number in enumerate(numbers.tolist())))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_file(path)
    np.testing.assert_array_equal(table.frame["a"].to_numpy(), numbers)
