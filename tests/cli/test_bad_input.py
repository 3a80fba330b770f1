"""Everything that can be wrong with a command: a clear message, the right exit code, nothing left behind."""

import errno
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from support.tables import mixed_table

from weighbors import EvolutionaryWeigher

HOSTILE = [
    "<script>alert(1)</script>",
    "x" * 10_000,
    "two\nlines",
    "🦊",
    "\x1b[31mred\x07",
    "same",
    "same",
    "",
    "class",
]


def files(path):
    return sorted(one.name for one in path.iterdir())


def hostile_csv(path, n=30):
    """A csv whose column names are as bad as they come; the last one is the target."""
    import csv

    rng = np.random.default_rng(0)
    kind = rng.choice(["<b>bold</b>", "ok"], n)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HOSTILE)
        for one in kind:
            writer.writerow([*(rng.normal(size=8) + (one == "ok")).tolist(), one])
    return path


def test_hostile_names_all_the_way(weighbors, tmp_path):
    path = hostile_csv(tmp_path / "h.csv")
    done = weighbors("fit", path, "-t", "class", "-o", "m.wb")
    assert done.code == 0
    assert "there is more than one column 'same': column 7 is called 'same (2)'" in done.err
    assert "column 8 has no name" in done.err
    for text in (done.out, done.err):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert max(map(len, text.splitlines())) < 400
    assert "8 features" in done.out
    done = weighbors("predict", "m.wb", path, "-o", "l.csv")
    assert done.code == 0
    assert set(pd.read_csv("l.csv")["prediction"]) <= {"<b>bold</b>", "ok"}
    done = weighbors("reduce", path, "-t", "class", "-o", "r.csv", "--evaluations", 60, "--population", 10)
    assert done.code == 0
    assert set(pd.read_csv("r.csv").columns) <= {*HOSTILE[:6], "same (2)", "column 8", "class"}
    done = weighbors("fit", path, "-o", "n.wb")
    assert done.code == 2
    assert "which column holds the classes?" in done.err
    assert "\x1b" not in done.err
    assert len(done.err.splitlines()) <= 4


@pytest.mark.parametrize("command", ["fit", "reduce", "report"])
@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("", 3, "is empty"),
        ("a,kind\n", 3, "column names and no rows"),
        ("a,kind\n1,x\n", 3, "1 row"),
        ("a,kind\n1,x\n2,y\n", 3, "all 2 rows have a label of their own"),
        ("a,kind\n1,x\n2,x\n", 3, "at least 2 classes are needed; the target 'kind' has one, 'x', in all 2 rows"),
        ("a,kind\n1,x\n2,x\n3,x\n4,x\n", 3, "has one, 'x', in all 4 rows"),
        ("a,kind\n" + "1,x\n1,y\n" * 3, 3, "no feature is left"),
        ("kind\nx\nx\ny\n", 3, "is the only column"),
        ("a,kind\n1,0.5\n2,0.5\n3,0.5\n", 3, "is constant"),
        ("a,kind\n1,x\n2\n", 3, "line 3 of "),
        ("a,b\n1,x\n2,y\n", 2, "there is no column 'kind'"),
    ],
)
def test_tables_that_are_none(weighbors, tmp_path, command, content, code, message):
    (tmp_path / "t.csv").write_text(content)
    output = {"fit": "m.wb", "reduce": "r.csv", "report": "r.md"}[command]
    done = weighbors(command, "t.csv", "-t", "kind", "-o", output)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert done.err.startswith("error: ")
    assert files(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("command", ["fit", "reduce", "report"])
def test_no_file_and_a_directory(weighbors, tmp_path, command):
    output = {"fit": "m.wb", "reduce": "r.csv", "report": "r.md"}[command]
    done = weighbors(command, "none.csv", "-t", "kind", "-o", output)
    assert (done.code, done.err) == (2, "error: there is no file 'none.csv'\n")
    done = weighbors(command, tmp_path, "-t", "kind", "-o", output)
    assert done.code == 2
    assert "is a directory; a file with a table is needed" in done.err
    assert files(tmp_path) == []


def test_models_that_are_none(weighbors, mixed, tmp_path):
    weighbors("fit", mixed, "-t", "kind", "-o", "m.wb")
    whole = (tmp_path / "m.wb").read_bytes()
    with zipfile.ZipFile(tmp_path / "m.wb") as archive:
        largest = max(archive.infolist(), key=lambda member: member.compress_size)
    half = (
        largest.header_offset + largest.compress_size // 2
    )  # within its cells; some bytes of a zip's headers mean nothing
    for content, message in [
        (whole[:half], "cut off, damaged, or something else"),
        (whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :], "damaged"),
        (b"", "no readable model file"),
        (mixed.read_bytes(), "no readable model file"),
    ]:
        (tmp_path / "bad.wb").write_bytes(content)
        done = weighbors("predict", "bad.wb", mixed, "-o", "l.csv")
        assert (done.code, done.out) == (3, "")
        assert message in done.err
    assert weighbors("predict", "none.wb", mixed).code == 2
    assert weighbors("predict", tmp_path, mixed).code == 2
    (tmp_path / "empty.csv").write_text("size,noise,colour\n")
    done = weighbors("predict", "m.wb", "empty.csv")
    assert done.code == 3
    assert "no rows" in done.err
    assert not (tmp_path / "l.csv").exists()


def test_nothing_is_overwritten_without_force(weighbors, mixed, tmp_path):
    for command, output in (("fit", "m.wb"), ("reduce", "r.csv"), ("report", "r.md")):
        (tmp_path / output).write_text("precious")
        done = weighbors(command, mixed, "-t", "kind", "-o", output)
        assert (done.code, done.out) == (2, "")
        assert f"'{output}' exists already; --force overwrites it" in done.err
        assert (tmp_path / output).read_text() == "precious"
    assert weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--force").code == 0
    assert (tmp_path / "m.wb").read_bytes() != b"precious"
    (tmp_path / "l.csv").write_text("precious")
    assert weighbors("predict", "m.wb", mixed, "-o", "l.csv").code == 2
    assert (tmp_path / "l.csv").read_text() == "precious"


def test_places_that_cannot_be_written(weighbors, mixed, tmp_path):
    before = mixed.read_bytes()
    for output, message in [
        (mixed, "is the input file"),
        (tmp_path, "is a directory"),
        (tmp_path / "no" / "where.wb", "the directory of"),
        ("/dev/full", "is not a regular file"),
    ]:
        done = weighbors("fit", mixed, "-t", "kind", "-o", output, "--force")
        assert done.code == 2
        assert message in done.err
    assert mixed.read_bytes() == before
    for command, output in (("reduce", "r.xlsx"), ("report", "r.pdf")):
        done = weighbors(command, mixed, "-t", "kind", "-o", output)
        assert done.code == 2
        assert "should end in" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit"], "TABLE"),
        (["fit", "t.csv", "-o", "m.wb", "--neighbors", "0"], "--neighbors"),
        (["fit", "t.csv", "-o", "m.wb", "--weigher", "magic"], "magic"),
        (["reduce", "t.csv", "-o", "r.csv", "--tasks", "IS+XX"], "--tasks must be some of IS, FS, IW, FW"),
        (["reduce", "t.csv", "-o", "r.csv", "--tasks", "FW"], "selects neither rows nor columns"),
        (["study", "nothing", "-o", "runs"], "nothing"),
        (["study", "wibk", "-o", "runs", "--data", "none"], "there is no directory 'none'"),
        (["datasets", "--data", "none"], "there is no directory 'none'"),
        (["fit", "t.csv", "-o", "m.wb", "--jobs", "0"], "must be 1 or more, or -1 for all cores"),
        (["unknown"], "unknown"),
        (["--unknown"], "--unknown"),
    ],
)
def test_wrong_usage(weighbors, tmp_path, arguments, message):
    done = weighbors(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert files(tmp_path) == []


@pytest.mark.parametrize("command", ["fit", "reduce", "predict", "report"])
def test_a_full_disk(weighbors, mixed, tmp_path, monkeypatch, command):
    weighbors("fit", mixed, "-t", "kind", "-o", "m.wb")
    before = files(tmp_path)
    arguments = {
        "fit": ["fit", mixed, "-t", "kind", "-o", "n.wb"],
        "reduce": ["reduce", mixed, "-t", "kind", "-o", "r.csv", "--evaluations", 40, "--population", 10],
        "predict": ["predict", "m.wb", mixed, "-o", "l.csv"],
        "report": ["report", mixed, "-t", "kind", "-o", "r.md"],
    }[command]

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    done = weighbors(*arguments)
    assert (done.code, done.out) == (1, "")
    assert "no space left to write; no incomplete file was left" in done.err
    assert files(tmp_path) == before


def run(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "weighbors", *map(str, arguments)], text=True, check=False, **options)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_stdout_on_a_full_disk():
    with open("/dev/full", "w") as full:
        done = run("datasets", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == "error: no space left to write; no incomplete file was left\n"


def test_a_file_that_may_not_grow(tmp_path, mixed):
    """A real write that fails half-way, by the limit of the operating system on the size of a file."""
    resource = pytest.importorskip("resource")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    # Python writes byte code without checking that all of it was written: under the limit it would leave cut files
    # in the environment, and every later import of those modules would fail.
    no_byte_code = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = run(
        "fit", mixed, "-t", "kind", "-o", tmp_path / "m.wb", capture_output=True, preexec_fn=limit, env=no_byte_code
    )
    assert done.returncode == 1
    assert "no space left to write" in done.stderr
    assert "Traceback" not in done.stderr
    assert files(tmp_path) == ["mixed.csv"]


def test_who_reads_has_seen_enough():
    """As in ``weighbors datasets | head -0``."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = run("datasets", stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_error_nobody_thought_of(weighbors, mixed, monkeypatch):
    from weighbors import TableClassifier

    def broken(*args, **options):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(TableClassifier, "fit", broken)
    done = weighbors("fit", mixed, "-t", "kind", "-o", "m.wb")
    assert done.code == 1
    assert "this should not have happened (ZeroDivisionError: oh). Set WEIGHBORS_DEBUG=1" in done.err
    monkeypatch.setattr(TableClassifier, "fit", lambda *args, **options: (_ for _ in ()).throw(MemoryError))
    done = weighbors("fit", mixed, "-t", "kind", "-o", "m.wb")
    assert (done.code, done.err.splitlines()[-1]) == (1, "error: there is not enough memory for this table")


def test_parquet_without_pyarrow(weighbors, mixed, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    done = weighbors("fit", "t.parquet", "-t", "kind", "-o", "m.wb")
    assert done.code == 1
    assert "pip install 'weighbors[parquet]'" in done.err
    monkeypatch.setattr(EvolutionaryWeigher, "fit", None)  # told before the search
    done = weighbors("reduce", mixed, "-t", "kind", "-o", "r.parquet")
    assert done.code == 1
    assert "parquet files need pyarrow, and 'r.parquet' is one" in done.err


def test_labels_that_are_missing_are_said(weighbors, tmp_path):
    frame = mixed_table()
    frame.loc[[3, 7], "kind"] = None
    frame.to_csv("t.csv", index=False)
    done = weighbors("fit", "t.csv", "-t", "kind", "-o", "m.wb")
    assert done.code == 0
    assert "2 rows have no label in 'kind' and were left out (the first is row 3)" in done.err
    assert "58 rows" in done.out
