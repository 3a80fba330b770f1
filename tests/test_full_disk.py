"""A full disk: a clear error, old files as they were, nothing half-written, and runs that continue with more space."""

import errno
import shutil
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from weighbors import (
    EvolutionaryWeigher,
    TableClassifier,
    WeightedKNeighborsClassifier,
    Weights,
)
from weighbors.cli import main
from weighbors.evaluation import Study
from weighbors.report import Report

PAGE = 4096
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 6))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def disk(tmp_path):
    """A disk of half a megabyte, which only root can make."""
    place = tmp_path / "disk"
    place.mkdir()
    if not sys.platform.startswith("linux") or shutil.which("mount") is None:
        pytest.skip("a small disk is a tmpfs of Linux")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {made.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(disk):
    """Fill the disk."""
    with open(disk / "filler", "wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * PAGE)


def free(disk):
    """Make space again."""
    (disk / "filler").unlink()


def contents(disk):
    """Every file with its bytes, apart from the filler."""
    return {path.name: path.read_bytes() for path in disk.rglob("*") if path.is_file() and path.name != "filler"}


def expect_full(disk, run, name):
    """Run something on the full disk: it says what it could not write, and leaves all files as they were."""
    before = contents(disk)
    fill(disk)
    with pytest.raises(OSError, match="no space left to write") as problem:
        run()
    assert problem.value.errno == errno.ENOSPC
    assert name in str(problem.value)
    assert contents(disk) == before
    free(disk)


def a_report():
    """A report with enough text for some pages of the disk."""
    return Report({"schema": 3, "made": {}, "summary": ["word " * 4000]})


@pytest.mark.parametrize("there", [True, False], ids=["old file", "no file"])
@pytest.mark.parametrize("kind", ["weights", "model", "report", "results"])
def test_files(disk, kind, there):
    path = disk / {"weights": "w.npz", "model": "m.wb", "report": "r.json", "results": "r.csv"}[kind]
    frame = pd.DataFrame(X, columns=list("abcdef"))
    write = {
        "weights": lambda: Weights(feature_weights=RANDOM.random(2000)).save(path),
        "model": lambda: TableClassifier().fit(frame, Y).save(path),
        "report": lambda: a_report().save(path),
        "results": lambda: frame_file(frame, path),
    }[kind]
    if there:
        write()
    expect_full(disk, write, path.name)
    write()
    assert path.stat().st_size > 0


def frame_file(frame, path):
    """Write a table as the commands do."""
    from weighbors.cli._data import write_frame

    write_frame(pd.concat([frame] * 20), path)


def test_checkpoint_of_a_search(disk):
    options = {"population_size": 6, "random_state": 0}

    def search(path, evaluations):
        return EvolutionaryWeigher("IS+FW", max_evaluations=evaluations, checkpoint=path, **options).fit(X, Y)

    search(disk / "s.ckpt", 30)
    expect_full(disk, lambda: search(disk / "s.ckpt", 60), "s.ckpt")
    assert search(disk / "s.ckpt", 60).weights_ == search(disk / "whole.ckpt", 60).weights_


def test_store_of_a_study(disk):
    data, names = {"a": (X, Y), "b": (X[::-1], Y)}, ["fit_seconds", "predict_seconds", "seconds"]

    def run(store, methods):
        study = Study(data, methods, store, cv=2, random_state=0)
        return study.run().frame().drop(columns=names, errors="ignore")

    one = {"1": WeightedKNeighborsClassifier(1)}
    both = {**one, "3": WeightedKNeighborsClassifier(3)}
    run(disk / "store", one)
    expect_full(disk, lambda: run(disk / "store", both), "store")
    pd.testing.assert_frame_equal(run(disk / "store", both), run(disk / "whole", both))


def test_commands(disk, tmp_path, capsys):
    pd.DataFrame(X, columns=list("abcdef")).assign(kind=Y).to_csv(tmp_path / "t.csv", index=False)
    fit = ["fit", str(tmp_path / "t.csv"), "--target", "kind", "--output", str(disk / "m.wb"), "--quiet"]
    fill(disk)
    with pytest.raises(SystemExit, match="1"):
        main(fit)
    assert f"'{disk / 'm.wb'}': no space left to write" in capsys.readouterr().err
    assert not contents(disk)
