"""Killed processes resume to the same bits. ``python -m fuzz.kills 100`` kills a hundred of them."""

import sys

import pytest

from fuzz.kills import KINDS, finish, kill_and_resume


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals of Unix")
@pytest.mark.parametrize(
    "kind", ["search", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "search")]
)
def test_killed_processes_resume_to_the_same_bits(tmp_path, kind):
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    wanted, seconds = finish(kind, tmp_path / "whole")
    found, _, left = kill_and_resume(kind, tmp_path / "killed", seconds, 1, seed=0)
    assert found == wanted
    assert kind == "study" or not left  # recent files of a study may belong to another process, so they stay an hour
