"""Files as people have them, each with one fault and its truth: read right, or refused with what to do."""

import json

import numpy as np
import pandas as pd
import pytest

from weighbors.cli import main
from weighbors.datasets import read_table
from weighbors.exceptions import InvalidDataError

NAN = float("nan")
K = {"k": ["x", "y", "x"]}
#: What is wrong, the file, options of `read_table`, the columns as they should be, and a part of a note or "".
FILES = [
    ("decimal commas", "a;k\n1,5;x\n2,25;y\n3;x\n", {}, {"a": [1.5, 2.25, 3.0], **K}, ""),
    ("an own word for missing", "a;k\n1,5;x\nk.A.;y\n3,5;x\n", {}, {"a": [1.5, NAN, 3.5], **K}, ""),
    ("errors of a spreadsheet", "a;k\n#NV;x\n2,5;y\n#DIV/0!;x\n", {}, {"a": [NAN, 2.5, NAN], **K}, ""),
    ("signs for missing", "a,b,k\n-,1,x\n2,.,y\n3,3,x\n", {}, {"a": [NAN, 2, 3], "b": [1, NAN, 3], **K}, ""),
    (
        "words for missing",
        "a,b,k\nunknown,N.D.,x\n2,2,y\n3,n/a,x\n",
        {},
        {"a": [NAN, 2, 3], "b": [NAN, 2, NAN], **K},
        "",
    ),
    ("below a limit", "a;k\n<5,0;x\n7,5;y\n8,5;x\n", {}, {"a": [5.0, 7.5, 8.5], **K}, "the number behind the sign"),
    ("thousands in German", "a;k\n1.386;x\n993;y\n2.104;x\n", {}, {"a": [1386, 993, 2104], **K}, "is read as 1386"),
    (
        "thousands, and the user says no",
        "a;k\n1.386;x\n993;y\n2.104;x\n",
        {"decimal": "."},
        {"a": [1.386, 993, 2.104], **K},
        "",
    ),
    ("thousands and decimals", "a;k\n1.386,5;x\n993;y\n2.104;x\n", {}, {"a": [1386.5, 993, 2104], **K}, ""),
    (
        "thousands of another column's comma",
        "a;b;k\n1.386;1,5;x\n993;2,5;y\n2.104;3,5;x\n",
        {},
        {"a": [1386, 993, 2104], "b": [1.5, 2.5, 3.5], **K},
        "is read as 1386",
    ),
    (
        "thousands in English",
        'a,k\n"1,386",x\n993,y\n"2,104",x\n',
        {},
        {"a": [1386, 993, 2104], **K},
        "is read as 1386",
    ),
    (
        "thousands with a point elsewhere",
        "a;b;k\n1.386;1.5;x\n993;2.5;y\n2.104;3.5;x\n",
        {},
        {"a": [1.386, 993, 2.104], "b": [1.5, 2.5, 3.5], **K},
        "",
    ),
    ("blanks in thousands", "a;k\n1 386,5;x\n993;y\n12 104;x\n", {}, {"a": [1386.5, 993, 12104], **K}, ""),
    ("Swiss thousands", "a;k\n1'386.50;x\n993;y\n12'104;x\n", {}, {"a": [1386.5, 993, 12104], **K}, ""),
    ("both decimal signs", "a;k\n1,5;x\n2.25;y\n3;x\n", {}, {"a": [1.5, 2.25, 3], **K}, "points and decimal commas"),
    ("percent", "a;k\n12 %;x\n7,5 %;y\n8%;x\n", {}, {"a": [12, 7.5, 8], **K}, "the unit '%' is left out"),
    ("currency", "a;k\n€ 12;x\n€ 7,50;y\n€ 8;x\n", {}, {"a": [12, 7.5, 8], **K}, ""),
    ("units in cells", "a;k\n12 mg/l;x\n7,5 mg/l;y\n8 mg/l;x\n", {}, {"a": [12, 7.5, 8], **K}, "the unit 'mg/l'"),
    ("several units stay text", "a;k\n12 mg;x\n7 g;y\n8 mg;x\n", {}, {"a": ["12 mg", "7 g", "8 mg"], **K}, ""),
    (
        "a row of units",
        "a;b;k\nmg;°C;\n1,5;2;x\n2,5;3;y\n3,5;4;x\n",
        {},
        {"a": [1.5, 2.5, 3.5], "b": [2, 3, 4], **K},
        "units ('mg', '°C')",
    ),
    (
        "a title",
        "Messung vom 3. April\n\na;b;k\n1,5;2;x\n2,5;3;y\n3,5;4;x\n",
        {},
        {"a": [1.5, 2.5, 3.5], "b": [2, 3, 4], **K},
        "above the table",
    ),
    (
        "a title in a sheet saved as csv",
        "Report;;\nof 2024;;\na;b;k\n1;2;x\n2;3;y\n3;4;x\n",
        {},
        {"a": [1, 2, 3], "b": [2, 3, 4], **K},
        "the first 2 lines are above the table",
    ),
    (
        "lines above, counted by the user",
        "a,b,c\na,b,k\n1,2,x\n2,3,y\n3,4,x\n",
        {"skip": 1},
        {"a": [1, 2, 3], "b": [2, 3, 4], **K},
        "",
    ),
    ("blank lines at the end", "a;b;k\n1;2;x\n2;3;y\n3;4;x\n;;\n;;\n\n", {}, {"a": [1, 2, 3], "b": [2, 3, 4], **K}, ""),
    ("a blank line inside", "a,b,k\n1,2,x\n,,\n2,3,y\n3,4,x\n", {}, {"a": [1, 2, 3], "b": [2, 3, 4], **K}, ""),
    (
        "a footnote",
        "a;b;k\n1;2;x\n2;3;y\n3;4;x\n\n* below the limit of detection\n",
        {},
        {"a": [1, 2, 3], "b": [2, 3, 4], **K},
        "below the table and no row",
    ),
    (
        "a footnote in a sheet saved as csv",
        "a;b;k\n1;2;x\n2;3;y\n3;4;x\nQuelle: Labor 3;;\n",
        {},
        {"a": [1, 2, 3], "b": [2, 3, 4], **K},
        "below the table and no row",
    ),
    ("separators at the ends", "a,b,k\n1,2,x,\n2,3,y,\n3,4,x,\n", {}, {"a": [1, 2, 3], "b": [2, 3, 4], **K}, ""),
    ("separators at all ends", "a,b,k,\n1,2,x,\n2,3,y,\n3,4,x,\n", {}, {"a": [1, 2, 3], "b": [2, 3, 4], **K}, ""),
    (
        "no header",
        "5.1,3.5,u\n4.9,3.0,u\n6.1,3.1,v\n",
        {},
        {"x0": [5.1, 4.9, 6.1], "x1": [3.5, 3.0, 3.1], "x2": ["u", "u", "v"]},
        "taken as a row",
    ),
    (
        "a header of numbers",
        "400,410,420\n1,2,3\n4,5,6\n",
        {},
        {"400": [1, 4], "410": [2, 5], "420": [3, 6]},
        "only numbers",
    ),
    (
        "dates of a German export",
        "a;t;k\n1;31.03.2024;x\n2;01.04.2024;y\n3;;x\n",
        {},
        {"a": [1, 2, 3], "t": ["2024-03-31", "2024-04-01", None], **K},
        "",
    ),
    (
        "dates with times",
        "a,t,k\n1,2024-03-31 08:15,x\n2,2024-04-01 09:00,y\n3,2024-04-02 10:30,x\n",
        {},
        {"a": [1, 2, 3], "t": ["2024-03-31 08:15", "2024-04-01 09:00", "2024-04-02 10:30"], **K},
        "",
    ),
    (
        "unknown among truth values",
        "a,t,k\n1,true,x\n2,unknown,y\n3,FALSE,x\n",
        {},
        {"a": [1, 2, 3], "t": [True, NAN, False], **K},
        "",
    ),
    (
        "unknown among categories",
        "a,t,k\n1,red,x\n2,unknown,y\n3,blue,x\n",
        {},
        {"a": [1, 2, 3], "t": ["red", "unknown", "blue"], **K},
        "",
    ),
    ("minus beside plus", "a,t,k\n1,+,x\n2,-,y\n3,++,x\n", {}, {"a": [1, 2, 3], "t": ["+", "-", "++"], **K}, ""),
    ("blanks around labels", "a;k\n1;x \n2; y\n3;x\n", {}, {"a": [1, 2, 3], **K}, ""),
    (
        "a separator that the user says",
        "a|b;k\n1|2;x\n3|4;y\n5|6;x\n",
        {"sep": ";"},
        {"a|b": ["1|2", "3|4", "5|6"], **K},
        "",
    ),
    ("versions are no numbers", "a;k\n1.2.3;x\n1.2.4;y\n1.3.0;x\n", {}, {"a": ["1.2.3", "1.2.4", "1.3.0"], **K}, ""),
    ("codes are no numbers", "a,k\n12A,x\n13B,y\n14A,x\n", {}, {"a": ["12A", "13B", "14A"], **K}, ""),
]


def compare(frame, truth):
    assert list(frame.columns) == list(truth)
    for name, cells in truth.items():
        if frame[name].dtype.kind == "M":
            cells = pd.to_datetime(pd.Series(cells), format="mixed").tolist()
        for found, cell in zip(frame[name].tolist(), cells, strict=True):
            assert (pd.isna(found) and pd.isna(cell)) or found == cell, (name, found, cell)


def all_notes(frame):
    reading = frame.attrs["weighbors"]
    return [*reading["notes"], *(one for column in reading["columns"] for one in column["notes"])]


@pytest.mark.parametrize(
    ("text", "options", "truth", "note"), [one[1:] for one in FILES], ids=[one[0] for one in FILES]
)
def test_a_made_up_file(tmp_path, text, options, truth, note):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    frame = read_table(path, **options)
    compare(frame, truth)
    assert not note or any(note in one for one in all_notes(frame))
    json.dumps(frame.attrs)  # parquet files take the attributes along


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("t.csv", b"<!DOCTYPE html>\n<html><body>log in</body></html>", {}, "is a web page"),
        ("t.xls", b"<html><table><tr><td>1</td></tr></table></html>", {}, "is a web page"),
        ("t.csv", b"a,k\n1,x\n", {"encoding": "utf-99"}, "no encoding 'utf-99'"),
        ("t.csv", b"a,k\n1,\xfc\n", {"encoding": "utf-8"}, "is not written in utf-8"),
        ("t.csv", b"a,k\n1,x\n", {"decimal": ";"}, "no decimal sign ';'"),
        ("t.csv", b"a,k\n1,x\n2\n", {}, "line 3 of .* has 1 cell"),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, options, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidDataError, match=message):
        read_table(tmp_path / name, **options)


@pytest.fixture
def sheets(tmp_path):
    pytest.importorskip("python_calamine")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "empty"
    first = book.create_sheet("data")
    for row in (
        ["Report of 2024"], [None], ["a", "b", "t", "k"], ["mg", "°C", None, None],
        [1.5, "<5,0", pd.Timestamp("2024-03-31").to_pydatetime(), "x"], [2.5, 7, None, "y"], ["k.A.", 8.5, None, "x"],
        [None, None, None, None], ["* remark of the laboratory"],
    ):  # fmt: skip
        first.append(row)
    second = book.create_sheet("more")
    for row in (["a", "k"], [1, "x"], [2, "y"]):
        second.append(row)
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def test_a_sheet(sheets):
    frame = read_table(sheets)
    truth = {"a": [1.5, 2.5, NAN], "b": [5.0, 7.0, 8.5], "t": ["2024-03-31", None, None], "k": ["x", "y", "x"]}
    compare(frame, truth)
    said = " ".join(all_notes(frame))
    assert "the sheet 'data' was read; others are 'empty', 'more'" in said
    assert "units ('mg', '°C')" in said
    assert "below the table and no row ('* remark" in said
    for sheet in ("more", 3, "3"):
        compare(read_table(sheets, sheet), {"a": [1, 2], "k": ["x", "y"]})
    with pytest.raises(InvalidDataError, match="has no sheet 'mor'. Did you mean 'more'"):
        read_table(sheets, "mor")
    sheets.write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(InvalidDataError, match="cannot be read as a sheet"):
        read_table(sheets)


def test_attributes_travel_with_the_frame(tmp_path):
    (tmp_path / "t.csv").write_text("a,k\n1,x\n2,y\n")
    frame = read_table(tmp_path / "t.csv")
    assert frame[["a"]].attrs["weighbors"] is frame.attrs["weighbors"]
    assert pd.concat([frame, frame]).attrs["weighbors"]["columns"][0] == {
        "name": "a", "read_as": "number", "missing": 0, "examples": ["1", "2"], "notes": []
    }  # fmt: skip


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    return ended.value.code or 0, *capsys.readouterr()


def test_columns_of_a_file(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a;b;k\n1,5;12.03.2024;x\n<5,0;13.03.2024;y\nk.A.;14.03.2024;x\n")
    code, out, err = run(capsys, "columns", path)
    assert code == 0, err
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [
        ["a", "number", "1"], ["b", "date", "0"], ["k", "category", "0"]
    ]  # fmt: skip
    assert "is read as the number behind the sign" in out
    assert "3 rows and 3 columns" in err
    code, out, _ = run(capsys, "columns", path, "--json", "--sep", ";")
    assert [column["read_as"] for column in json.loads(out)["columns"]] == ["number", "date", "category"]


def test_new_rows_are_read_as_the_training_rows(tmp_path, capsys):
    """Codes, words for missing and truth values mean the same in a file with few rows."""
    rng = np.random.default_rng(0)
    code, size, old = (
        rng.choice(["01", "02", "A1"], 60),
        rng.normal(size=60).round(2),
        rng.choice(["true", "false"], 60),
    )
    label = np.where((code == "01") ^ (size > 0.5), "u", "v")
    frame = pd.DataFrame({"code": code, "size": size.astype(str), "old": old, "label": label})
    frame.loc[::9, "size"] = "k.A."
    frame.loc[::11, "old"] = "unknown"
    frame.to_csv(tmp_path / "all.csv", index=False)
    model = tmp_path / "m.wb"
    assert run(capsys, "fit", tmp_path / "all.csv", "-t", "label", "-o", model, "--folds", 0, "-k", 3)[0] == 0
    whole = json.loads(run(capsys, "predict", model, tmp_path / "all.csv", "--json", "-q")[1])
    for i in (0, 9, 11, 20, 33):
        frame.iloc[[i]].to_csv(tmp_path / "one.csv", index=False)
        code, out, err = run(capsys, "predict", model, tmp_path / "one.csv", "--json")
        assert code == 0, err
        assert "was not there in fit" not in err
        one = json.loads(out)
        assert one["prediction"][0] == whole["prediction"][i]
        assert one["probability of u"][0] == whole["probability of u"][i]
