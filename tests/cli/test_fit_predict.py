"""``weighbors fit`` and ``weighbors predict``: a table in, a model, labels out."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tables import mixed_table

from weighbors.classifiers.table_model import WEIGHERS
from weighbors.cli.fit import Weigher


def test_a_mixed_table_from_fit_to_labels(weighbors, mixed, tmp_path):
    done = weighbors("fit", mixed, "--target", "kind", "-o", "model.wb")
    assert done.code == 0
    assert "'id' is left out: it counts the rows" in done.err
    assert "'unit' is left out: all its values are the same" in done.err
    assert "60 rows, 3 features, 2 classes" in done.out
    assert done.out.splitlines()[2].split()[0] in ("'size'", "'colour'")
    mixed_table(40, seed=1).to_csv("new.csv", index=False)
    done = weighbors("predict", "model.wb", "new.csv", "-o", "labels.csv")
    assert done.code == 0
    labels = pd.read_csv("labels.csv")
    assert list(labels.columns) == ["kind"]
    right = (labels["kind"] == mixed_table(40, seed=1)["kind"]).mean()
    assert right > 0.85
    assert f"{round(right * 40)} of 40 agree" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "mixed.csv", "model.wb", "new.csv"]


def test_json_and_stdout(weighbors, mixed):
    description = json.loads(weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--json").out)
    assert description["features"] == ["size", "noise", "colour"]
    assert [column["name"] for column in description["left_out"]] == ["id", "unit"]
    assert description["settings"]["weigher"] == "relieff"
    assert sum(description["classes"].values()) == 60
    assert set(description["weights"]["weight"]) == {"size", "noise", "colour"}
    done = weighbors("predict", "m.wb", mixed, "--shares", "--quiet")
    lines = done.out.splitlines()
    assert lines[0] == "kind,share of high,share of low"
    assert len(lines) == 61
    assert done.err == ""
    description = json.loads(weighbors("predict", "m.wb", mixed, "--json").out)
    assert description["kind"] == [line.split(",")[0] for line in lines[1:]]
    assert sum(description["counts"].values()) == description["rows"] == 60


@pytest.mark.parametrize("weigher", list(Weigher))
def test_every_weigher(weighbors, mixed, weigher):
    assert weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--weigher", weigher.value).code == 0
    done = weighbors("predict", "m.wb", mixed)
    assert done.code == 0
    labels = done.out.splitlines()[1:]
    assert np.mean(np.array(labels) == mixed_table()["kind"].to_numpy()) > 0.8


def test_the_weighers_are_the_librarys():
    assert [weigher.value for weigher in Weigher] == list(WEIGHERS)


def test_same_seed_same_file(weighbors, mixed):
    for name in ("a.wb", "b.wb"):
        weighbors("fit", mixed, "-t", "kind", "-o", name, "--weigher", "simba", "--seed", 3)
    assert Path("a.wb").read_bytes() == Path("b.wb").read_bytes()


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "arff", "dat", "npz"])
def test_other_formats(weighbors, tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    frame = mixed_table()[["size", "noise", "kind"]].dropna()
    if suffix == "tsv":
        frame.to_csv(path, sep="\t", index=False)
    elif suffix == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path, index=False)
    elif suffix == "npz":
        np.savez(path, X=frame[["size", "noise"]].to_numpy(), y=frame["kind"].to_numpy().astype(str))
    else:
        head = "@relation t\n@attribute size real\n@attribute noise real\n@attribute kind {low,high}\n@data\n"
        path.write_text(head + frame.to_csv(index=False, header=False))
    target = [] if suffix in ("arff", "dat", "npz") else ["-t", "kind"]
    done = weighbors("fit", path, "-o", "m.wb", *target)
    assert done.code == 0, done.err
    assert f"{len(frame)} rows, 2 features" in done.out


def test_new_tables_that_do_not_fit(weighbors, mixed):
    weighbors("fit", mixed, "-t", "kind", "-o", "m.wb")
    mixed_table().drop(columns="size").to_csv("less.csv", index=False)
    done = weighbors("predict", "m.wb", "less.csv")
    assert (done.code, done.out) == (3, "")
    assert "lacks 1 of the 3 columns the model was fitted to: 'size'" in done.err
    mixed_table().assign(colour="violet", more=1)[["more", "colour", "noise", "size"]].to_csv("other.csv", index=False)
    done = weighbors("predict", "m.wb", "other.csv")
    assert done.code == 0
    assert "'violet' was not there in fit (60 rows)" in done.err
    assert "1 columns the model does not use: 'more'" in done.err
    mixed_table().assign(size="big").to_csv("text.csv", index=False)
    done = weighbors("predict", "m.wb", "text.csv", "-o", "out.csv")
    assert done.code == 3
    assert "column 'size' was numbers in fit and holds text now ('big', ...)" in done.err


def test_fewer_rows_than_neighbours(weighbors):
    mixed_table(12).head(4).assign(kind=["low", "low", "high", "high"]).to_csv("four.csv", index=False)
    done = weighbors("fit", "four.csv", "-t", "kind", "-o", "m.wb")
    assert done.code == 3
    assert "5 neighbours are to vote, and the table has 4 rows: lower --neighbors" in done.err
    assert weighbors("fit", "four.csv", "-t", "kind", "-o", "m.wb", "-k", 1).code == 0


def test_number_labels_stay_numbers(weighbors):
    frame = mixed_table()
    frame["kind"] = (frame["kind"] == "high").astype(int) + 1
    frame.to_csv("n.csv", index=False)
    weighbors("fit", "n.csv", "-t", "kind", "-o", "m.wb")
    done = weighbors("predict", "m.wb", "n.csv")
    assert set(done.out.splitlines()[1:]) == {"1", "2"}
    assert "of 60 agree" in done.err
    frame["kind"] = frame["kind"].astype(float)
    frame.loc[0, "kind"] = np.nan  # numbers with a gap are read as floats
    frame.to_csv("gap.csv", index=False)
    agree = int(weighbors("predict", "m.wb", "gap.csv").err.partition("own: ")[2].split()[0])
    assert agree > 50


def test_labels_and_targets_that_a_terminal_would_obey(weighbors):
    frame = mixed_table()
    frame["kind"] = frame["kind"] + "\x1b[31m"
    frame.rename(columns={"kind": "\x1b]0;title\x07"}).to_csv("t.csv", index=False)
    done = weighbors("fit", "t.csv", "-t", "\x1b]0;title\x07", "-o", "m.wb", "--weigher", "class-relief")
    assert done.code == 0
    again = weighbors("predict", "m.wb", "t.csv", "-o", "l.csv")
    assert again.code == 0
    assert "\x1b" not in done.out + done.err + again.out + again.err
    assert pd.read_csv("l.csv").iloc[:, 0].isin(frame["kind"]).all()  # the data themselves are untouched


def test_a_table_of_categories_only(weighbors):
    frame = mixed_table()[["colour", "kind"]].assign(shape=["round", "square", "long"] * 20)
    frame.to_csv("c.csv", index=False)
    assert weighbors("fit", "c.csv", "-t", "kind", "-o", "m.wb").code == 0
    done = weighbors("predict", "m.wb", "c.csv")
    assert done.code == 0
    assert len(done.out.splitlines()) == 61
