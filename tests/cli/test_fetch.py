"""``weighbors datasets fetch``: what it prints, and its exit codes."""

import json

import pandas as pd
import pytest

from weighbors.datasets import fetching
from weighbors.datasets.fetching import content_digest
from weighbors.exceptions import DownloadError

TABLE = pd.DataFrame({"f1": ["1", "2"], "class": ["a", "b"]})


@pytest.fixture
def tables(monkeypatch):
    """Two data sets, of which one cannot be read."""
    common = {"group": "own", "rows": "2", "features": "1", "classes": "2", "source": "made up", "licence": ""}
    lines = [{"name": name, "file": f"own/{name}.csv", **common} for name in ("good", "lost")]
    manifest = pd.DataFrame(lines).assign(sha256=content_digest(TABLE))

    def read(entry, downloads):
        if entry["name"] == "lost":
            raise DownloadError("the server is gone")
        return TABLE

    monkeypatch.setattr(fetching, "fetchable_datasets", lambda: manifest)
    monkeypatch.setattr("weighbors.datasets.fetchable_datasets", lambda: manifest)
    monkeypatch.setattr(fetching, "read_origin", read)


def test_a_fetched_table_can_be_used_at_once(weighbors, tables):
    done = weighbors("datasets", "fetch", "good", "-o", "data")
    assert done.code == 0
    assert done.out.startswith("own/good  fetched: data")
    assert "WEIGHBORS_DATA=data" in done.err
    assert "existed already" in weighbors("datasets", "fetch", "good", "-o", "data").out
    assert "good (own)" in weighbors("datasets", "good", "--data", "data").out


def test_a_failure_is_said_and_the_others_are_fetched(weighbors, tables):
    done = weighbors("datasets", "fetch", "own", "-o", "data")
    assert done.code == 1
    assert "own/good" in done.out
    assert "error: own/lost: the server is gone" in done.err
    done = weighbors("datasets", "fetch", "own", "-o", "data", "--json")
    assert [(each["name"], each["was_there"], each["problem"]) for each in json.loads(done.out)] == [
        ("good", True, ""),
        ("lost", False, "the server is gone"),
    ]


def test_the_list_of_what_can_be_fetched(weighbors, tables):
    done = weighbors("datasets", "fetch")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["name", "good", "lost"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fetch", "good"], 2, "name the output directory"),
        (["good", "-o", "data"], 2, "--output belongs to"),
        (["iris", "wine"], 2, "one data set can be described at a time, and 2 were named"),
        (["fetch", "goood", "-o", "data"], 3, "called 'goood'"),
    ],
)
def test_wrong_calls(weighbors, tables, arguments, code, message):
    done = weighbors("datasets", *arguments)
    assert done.code == code
    assert message in done.err
