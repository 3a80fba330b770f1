"""``weighbors reduce``: original cells of the rows and columns kept; Ctrl-C and --resume."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from support.tables import mixed_table

from weighbors import EvolutionaryWeigher, weighers
from weighbors.tables import TableEncoder, clean_table
from weighbors.weighers import instances
from weighbors.weighers.evolution.checkpoint import hold_checkpoint

SELECTORS = ("fcnn", "ib2", "ib3", "drop3", "drop5", "icf", "hmnei")
TASKS = ("--tasks", "IS+FS", "--population", 20)
FEW = ("--evaluations", 300, *TASKS)


def test_the_original_cells_are_written(weighbors, tmp_path):
    frame = mixed_table()
    written = frame.assign(size=[f"{value:.3f}0" if value == value else "?" for value in frame["size"]])
    written.to_csv("t.csv", index=False, sep=";")
    done = weighbors("reduce", "t.csv", "-t", "kind", "-o", "r.csv", *FEW)
    assert done.code == 0
    cells = pd.read_csv("r.csv", dtype=str, keep_default_na=False)
    assert cells.columns[-1] == "kind"
    assert 0 < len(cells) < len(frame)
    assert 1 < cells.shape[1] < 5
    originals = {tuple(row) for row in written[list(cells.columns)].astype(str).itertuples(index=False)}
    assert {tuple(row) for row in cells.itertuples(index=False)} <= originals
    assert f"r.csv: {len(cells)} of 60 rows, {cells.shape[1] - 1} of 5 features" in done.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv", "t.csv"]  # the search is done, and gone


def test_it_is_what_the_library_finds(weighbors, mixed):
    description = json.loads(
        weighbors("reduce", mixed, "-t", "kind", "-o", "r.parquet", "--seed", 5, "--json", *FEW).out
    )
    frame = pd.read_csv(mixed)
    X = clean_table(frame.drop(columns="kind")).X
    X = TableEncoder.learn(X, "range").scale(X)
    search = EvolutionaryWeigher("IS+FS", population_size=20, max_evaluations=300, random_state=5).fit(X, frame["kind"])
    assert description["rows"]["numbers"] == search.sample_indices_.tolist()
    assert description["features"]["names"] == X.columns[search.feature_support_].tolist()
    assert description["fitness"] == pytest.approx(search.fitness_)
    kept = frame.loc[search.sample_indices_, [*description["features"]["names"], "kind"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_parquet("r.parquet"), kept, check_dtype=False)


@pytest.mark.parametrize("tasks", ["IS", "FS", "fs+fw", "IS+FS+IW+FW"])
def test_other_tasks(weighbors, mixed, tasks):
    done = weighbors("reduce", mixed, "-t", "kind", "-o", "r.tsv", *FEW, "--tasks", tasks, "--fitness", "g_mean")
    assert done.code == 0, done.err
    kept = pd.read_csv("r.tsv", sep="\t")
    assert (len(kept) == 60) == ("IS" not in tasks)
    assert "g_mean" in done.out


def test_rows_without_a_label_are_not_written(weighbors):
    frame = mixed_table()
    frame.loc[:20, "kind"] = None
    frame.to_csv("t.csv", index=False)
    assert weighbors("reduce", "t.csv", "-t", "kind", "-o", "r.csv", "--keep", "id", *FEW, "--tasks", "IS").code == 0
    kept = pd.read_csv("r.csv")
    assert kept["kind"].notna().all()
    assert set(kept["id"]) <= set(frame["id"][21:])


def interrupted(arguments, place, after):
    """Run in another process, and press Ctrl-C once the file ``after`` is there."""
    start = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "  # a parent may ignore it
        "from weighbors.cli import main; sys.argv[0] = 'weighbors'; main()"
    )
    command = [sys.executable, "-c", start, *map(str, arguments)]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        begun = time.monotonic()
        while not after.exists():
            assert time.monotonic() - begun < 60
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, out, err


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_ctrl_c_keeps_the_search_and_resume_ends_as_if_nothing_happened(weighbors, mixed, tmp_path):
    # so many evaluations that only Ctrl-C can end it
    endless = ["reduce", mixed, "-t", "kind", "-o", "r.csv", "--evaluations", 10**8, *TASKS]
    code, out, err = interrupted(endless, tmp_path, tmp_path / "r.csv.search")
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert "The search is saved in 'r.csv.search'; the same command with --resume continues it" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mixed.csv", "r.csv.search"]

    done = weighbors(*endless)
    assert done.code == 2
    assert "--resume continues it, --force starts again" in done.err
    import numpy as np

    with np.load("r.csv.search") as kept:
        reached = int(kept["counters"][0])
    limit = ["--evaluations", reached + 400, *TASKS]
    assert weighbors(*endless[:5], "r.csv", *limit, "--resume").code == 0
    assert weighbors(*endless[:5], "straight.csv", *limit).code == 0
    assert (tmp_path / "r.csv").read_bytes() == (tmp_path / "straight.csv").read_bytes()
    assert not (tmp_path / "r.csv.search").exists()


def test_a_checkpoint_of_ones_own_is_kept(weighbors, mixed, tmp_path):
    weighbors("reduce", mixed, "-t", "kind", "-o", "r.csv", "--checkpoint", "c.search", *FEW)
    assert (tmp_path / "c.search").exists()
    again = ("reduce", mixed, "-t", "kind", "-o", "r.csv", "--checkpoint", "c.search", "--force")
    longer = weighbors(*again, "--resume", "--evaluations", 400, *TASKS, "--json")
    assert json.loads(longer.out)["evaluations"] == 400
    other = weighbors(*again, "--resume", "--seed", 1, *FEW)
    assert other.code == 3
    assert "belongs to other settings (random_state: 0 there, 1 here)" in other.err
    (tmp_path / "c.search").write_bytes(b"nothing")
    damaged = weighbors(*again, "--resume", *FEW)
    assert damaged.code == 3
    assert "is not a readable checkpoint" in damaged.err
    assert weighbors(*again, *FEW).code == 0  # --force begins anew


def test_an_interruption_before_anything_is_there(weighbors, mixed, monkeypatch, tmp_path):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(EvolutionaryWeigher, "fit", stopped)
    done = weighbors("reduce", mixed, "-t", "kind", "-o", "r.csv")
    assert (done.code, done.out) == (130, "")
    assert "error: interrupted; nothing was written" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mixed.csv"]


def test_a_search_that_runs_is_left_alone(weighbors, mixed, tmp_path):
    kept = tmp_path / "c.search"
    kept.write_bytes(b"of somebody else")
    command = ("reduce", mixed, "-t", "kind", "-o", "r.csv", "--checkpoint", "c.search", *FEW)
    with hold_checkpoint(kept):
        for option in ("--force", "--resume"):
            done = weighbors(*command, option)
            assert done.code == 3
            assert "'c.search' is in use by another search" in done.err
    assert kept.read_bytes() == b"of somebody else"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.search", "mixed.csv"]


def test_no_class_is_lost_and_the_note_says_what_to_do(weighbors):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc"))
    frame["kind"] = ["rare"] * 4 + ["often"] * 86
    frame.to_csv("t.csv", index=False)
    done = weighbors("reduce", "t.csv", "-t", "kind", "-o", "r.csv", *FEW, "--tasks", "IS")
    assert done.code == 0, done.err
    assert set(pd.read_csv("r.csv")["kind"]) == {"rare", "often"}
    assert "no training row of class 'rare'" in done.err
    assert "g_mean" in done.err


def test_fitness_by_scikit_learns_names(weighbors, mixed):
    done = weighbors("reduce", mixed, "-t", "kind", "-o", "r.csv", "--fitness", "f1_macro", *FEW)
    assert done.code == 0, done.err
    assert "\nf1_macro 0." in done.out
    wrong = weighbors("reduce", mixed, "-t", "kind", "-o", "s.csv", "--fitness", "f2")
    assert wrong.code == 2
    assert "--fitness takes one of accuracy, g_mean" in wrong.err


def test_the_score_says_what_it_is_measured_on(weighbors, mixed):
    """The score of the library, and the number of rows of the search."""
    done = weighbors("reduce", mixed, "-t", "kind", "-o", "r.csv", *FEW)
    assert "measured on all rows, each predicted by the nearest other row that is kept" in done.out
    assert "expect less of new rows" in done.out
    few = mixed_table().query("kind == 'low' or id < 125")
    few.to_csv("few.csv", index=False)
    smallest = int(few["kind"].value_counts().min())
    found = json.loads(weighbors("reduce", "few.csv", "-t", "kind", "-o", "u.csv", "--undersample", "--json", *FEW).out)
    assert f"measured on the {2 * smallest} rows that were drawn" in found["measured_on"]
    assert 2 * smallest < len(few)
    X = clean_table(few.drop(columns="kind")).X
    X = TableEncoder.learn(X, "range").scale(X)
    search = EvolutionaryWeigher("IS+FS", population_size=20, max_evaluations=300, undersample=True, random_state=0)
    search.fit(X, few["kind"])
    assert found["performance"] == search.performance_
    assert found["rows"]["kept"] == len(search.sample_indices_) <= 2 * smallest


def test_goals_side_by_side(weighbors, mixed):
    options = ["--objective", "pareto", "--seed", 3, "--json", *FEW]
    found = json.loads(weighbors("reduce", mixed, "-t", "kind", "-o", "p.csv", *options).out)
    frame = pd.read_csv(mixed)
    X = clean_table(frame.drop(columns="kind")).X
    X = TableEncoder.learn(X, "range").scale(X)
    search = EvolutionaryWeigher("IS+FS", objective="pareto", population_size=20, max_evaluations=300, random_state=3)
    search.fit(X, frame["kind"])
    assert found["rows"]["numbers"] == search.sample_indices_.tolist()
    assert search.pareto_front_["fitness"].max() == pytest.approx(found["fitness"])


def test_a_time_limit_ends_the_search(weighbors, mixed):
    options = ["--evaluations", 10**9, "--population", 20, "--time-limit", 0.2, "--json"]
    found = json.loads(weighbors("reduce", mixed, "-t", "kind", "-o", "r.csv", *options).out)
    assert found["stopped_by"] == "time_limit"
    for wrong in ("0", "-1", "nan"):
        done = weighbors("reduce", mixed, "-t", "kind", "-o", "s.csv", f"--time-limit={wrong}")
        assert done.code == 2
        assert "--time-limit must be a number of seconds above 0" in done.err


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.LostClassWarning")
@pytest.mark.parametrize("selector", SELECTORS)
def test_classical_selectors(weighbors, mixed, selector):
    done = weighbors("reduce", mixed, "-t", "kind", "-o", "r.csv", "--selector", selector)
    assert done.code == 0, done.err
    frame = pd.read_csv(mixed)
    X = clean_table(frame.drop(columns="kind")).X
    model = getattr(weighers, selector.upper())()
    kept = model.fit(TableEncoder.learn(X, "range").scale(X), frame["kind"]).sample_indices_
    assert 0 < len(kept) < 60
    expected = frame.iloc[kept][["size", "noise", "colour", "kind"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_csv("r.csv"), expected)
    assert f"{len(kept)} of 60 rows, 3 of 5 features, by {selector.upper()}; no score was measured" in done.out
    told = json.loads(
        weighbors("reduce", mixed, "-t", "kind", "-o", "s.csv", "--selector", selector, "--seed", 1, "--json").out
    )
    assert told["rows"]["numbers"] == kept.tolist()


def test_the_selectors_are_the_librarys():
    assert {selector.upper() for selector in SELECTORS} == set(instances.__all__)


def test_options_that_do_not_belong_together(weighbors, mixed):
    for options in (["--tasks", "IS"], ["--undersample"], ["--objective", "pareto"], ["--time-limit", 5], ["--resume"]):
        done = weighbors("reduce", mixed, "-t", "kind", "-o", "r.csv", "--selector", "drop3", *options)
        assert (done.code, done.out) == (2, "")
        assert f"{options[0]} are options of the search, and --selector runs no search" in done.err
    for options in (["--selector", "drop3"], ["--undersample"]):
        done = weighbors("reduce", mixed, "-t", "noise", "-o", "r.csv", *options)
        assert done.code == 2
        assert f"{' '.join(options)} needs classes, and the target is a number" in done.err
