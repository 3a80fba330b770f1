"""Killed processes resume to the same bits. ``python -m fuzz.kills 100`` kills a hundred of them."""

import sys

import pytest

from fuzz import cluster_kills
from fuzz.kills import KINDS, STORES, Tally, finish, kill_and_resume

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals of Unix")
QUICK = ("search", "reduce")  # tests/evaluation/test_study_processes.py kills studies


def slow_unless(names, all_names):
    """Return the names as parameters; those that are not in ``names`` are slow."""
    return [name if name in names else pytest.param(name, marks=pytest.mark.slow) for name in all_names]


@pytest.mark.parametrize("kind", slow_unless(QUICK, KINDS))
def test_killed_processes_resume_to_the_same_bits(tmp_path, kind):
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    wanted, seconds = finish(kind, tmp_path / "whole")
    found, _, _, left = kill_and_resume(kind, tmp_path / "killed", seconds, 2, seed=0)
    assert found == wanted
    assert kind in STORES or not left


@pytest.mark.slow
@pytest.mark.parametrize("victim", cluster_kills.VICTIMS)
def test_studies_survive_the_death_of_every_part_of_a_cluster(tmp_path, victim):
    pytest.importorskip("distributed")
    tally = Tally(victim)
    cluster_kills.run_victim(tmp_path / "studies", 1, tally, first=0)
    assert tally.killed == 1
    assert tally.same == tally.runs
