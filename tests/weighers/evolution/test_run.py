"""Long searches: limits, progress, Ctrl-C, kill -9; search, history and checkpoint stay consistent."""

import io
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from support.searches import FAST, KILLED, X, Y, same

from weighbors import EvolutionaryWeigher
from weighbors.exceptions import InterruptedSearchWarning
from weighbors.weighers.evolution import EvolutionSearch, Fitness, Progress, fit
from weighbors.weighers.evolution.checkpoint import Checkpoint
from weighbors.weighers.evolution.fit import Run

MOMENTS = {
    "ask": (EvolutionSearch, "ask"),
    "tell": (EvolutionSearch, "tell"),
    "evaluation": (Fitness, "__call__"),
    "state": (EvolutionSearch, "state"),
    "history": (Run, "_record"),
    "write": (Checkpoint, "write"),
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("after", [False, True])
def test_ctrl_c_at_any_moment_leaves_a_whole_generation(monkeypatch, tmp_path, moment, after):
    owner, name = MOMENTS[moment]
    path, original, calls = tmp_path / "run.ckpt", getattr(owner, name), []

    def interrupted(self, *args, **options):
        calls.append(1)
        now = len(calls) == 6
        if now and not after:
            raise KeyboardInterrupt
        answer = original(self, *args, **options)
        if now:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(fit, "_SAVE_SECONDS", 0)
    monkeypatch.setattr(owner, name, interrupted)
    with pytest.warns(InterruptedSearchWarning, match="best found so far"):
        search = EvolutionaryWeigher("IS+FW", checkpoint=path, **FAST).fit(X, Y)
    monkeypatch.undo()
    last = search.history_.iloc[-1]
    assert (last["generation"], last["evaluations"]) == (search.n_iter_, search.n_evaluations_)
    assert search.fitness_ == last["best"]
    again = EvolutionaryWeigher("IS+FW", checkpoint=path, **FAST).fit(X, Y)
    same(again, EvolutionaryWeigher("IS+FW", **FAST).fit(X, Y))


def test_ctrl_c_in_the_last_write_leaves_a_whole_file(monkeypatch, tmp_path):
    path, write, calls = tmp_path / "run.ckpt", Checkpoint.write, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 2:  # after that of the first generation
            raise KeyboardInterrupt
        write(self, *args)

    monkeypatch.setattr(Checkpoint, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        EvolutionaryWeigher("IS+FW", checkpoint=path, **FAST).fit(X, Y)
    again = EvolutionaryWeigher("IS+FW", checkpoint=path, **FAST).fit(X, Y)
    same(again, EvolutionaryWeigher("IS+FW", **FAST).fit(X, Y))


def test_a_warning_that_is_an_error_comes_after_the_checkpoint(tmp_path):
    path = tmp_path / "run.ckpt"

    def interrupt(progress):
        if progress.generation == 7:
            raise KeyboardInterrupt

    weigher = EvolutionaryWeigher("FW", checkpoint=path, callback=interrupt, **FAST)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InterruptedSearchWarning):
            weigher.fit(X, Y)
    seen = []
    EvolutionaryWeigher("FW", checkpoint=path, callback=seen.append, **FAST).fit(X, Y)
    assert seen[0].generation == 8


def test_a_callback_that_fails_does_not_lose_the_search(tmp_path):
    path = tmp_path / "run.ckpt"

    def fails(progress):
        if progress.generation == 6:
            raise RuntimeError("no such luck")

    with pytest.raises(RuntimeError, match="no such luck"):
        EvolutionaryWeigher("IS", checkpoint=path, callback=fails, **FAST).fit(X, Y)
    seen = []
    again = EvolutionaryWeigher("IS", checkpoint=path, callback=seen.append, **FAST).fit(X, Y)
    assert seen[0].generation == 7  # though it was not yet time to write
    same(again, EvolutionaryWeigher("IS", **FAST).fit(X, Y))


def test_a_disk_that_fails_is_told_as_such(monkeypatch, tmp_path):

    def full(*args):
        raise OSError("no space left")

    monkeypatch.setattr("weighbors._io.archive.write_archive", full)
    with pytest.raises(OSError, match="no space left"):
        EvolutionaryWeigher("IS", checkpoint=tmp_path / "run.ckpt", **FAST).fit(X, Y)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_the_bar_shows_where_a_search_ended_and_ends_its_line(monkeypatch, stream):
    err = stream()
    monkeypatch.setattr(sys, "stderr", err)
    EvolutionaryWeigher("IS", verbose=True, callback=lambda p: p.generation == 5, **FAST).fit(X, Y)
    lines = err.getvalue().replace("\r", "\n").split("\n")
    assert lines[-1] == ""
    told = EvolutionaryWeigher("IS", callback=lambda p: p.generation == 5, **FAST).fit(X, Y)
    assert f"{told.n_evaluations_}/200 evaluations" in lines[-2]


def test_a_bar_beyond_its_end():
    told = str(Progress(9, 400, 200, 0.5, 0.5, 3.0, 0.0))  # a continued search may have more than is asked for
    assert told.startswith("#" * 20 + " 400/200")


def test_functions_with_negative_figures():
    """What selects nothing is worse than anything that selects something."""

    def minus_cost(true, predicted):
        return -float(np.where(true == 0, 9.0, 1.0)[true != predicted].sum())

    for seed in range(5):
        options = {**FAST, "random_state": seed, "population_size": 8}
        search = EvolutionaryWeigher("IS+FS", minus_cost, alphas=(1, 0, 0), **options).fit(X[:, :2], Y)
        history = search.history_
        assert history["best"].iloc[-1] == search.fitness_ < 0
        assert history["best"].is_monotonic_increasing
        assert (history[["n_instances", "n_features"]] > 0).all(axis=None)
        assert np.isfinite(history["mean"]).all()


# -- limits, interruptions, checkpoints


def test_limits_and_callback():
    told = []
    search = EvolutionaryWeigher("IS", callback=told.append, **FAST).fit(X, Y)
    assert [p.evaluations for p in told] == search.history_["evaluations"].tolist()
    assert told[-1].best == search.fitness_
    assert told[-1].seconds_left == 0
    assert told[0].seconds_left > 0
    stopped = EvolutionaryWeigher("IS", callback=lambda p: p.generation == 3, **FAST).fit(X, Y)
    assert (stopped.stop_reason_, stopped.n_iter_) == ("callback", 3)
    alike = EvolutionaryWeigher("FS", **{**FAST, "population_size": 4, "max_evaluations": 10**9}).fit(X[:, :1], Y)
    assert alike.stop_reason_ == "converged"


def test_the_bar_is_on_stderr_and_only_when_asked(capfd):
    EvolutionaryWeigher("IS", **FAST).fit(X, Y)
    assert capfd.readouterr() == ("", "")
    EvolutionaryWeigher("IS", verbose=True, **FAST).fit(X, Y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "200/200 evaluations" in err
    assert "s left" in err


def test_ctrl_c_gives_the_best_so_far(tmp_path):
    path = tmp_path / "run.ckpt"

    def interrupt(progress):
        if progress.generation == 5:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedSearchWarning, match="best found so far"):
        search = EvolutionaryWeigher("IS+FW", callback=interrupt, checkpoint=path, **FAST).fit(X, Y)
    assert (search.stop_reason_, search.n_iter_) == ("interrupted", 5)
    assert search.fitness_ == search.history_["best"].iloc[-1]
    again = EvolutionaryWeigher("IS+FW", checkpoint=path, **FAST).fit(X, Y)
    same(again, EvolutionaryWeigher("IS+FW", **FAST).fit(X, Y))


def test_ctrl_c_inside_an_evaluation():
    calls = []

    def fitness(a, b):
        calls.append(1)
        if len(calls) == 35:
            raise KeyboardInterrupt
        return float(np.mean(a == b))

    with pytest.warns(InterruptedSearchWarning):
        search = EvolutionaryWeigher("FW", fitness, **FAST).fit(X, Y)
    assert search.n_evaluations_ == 30  # whole generations
    calls[:] = [1] * 34
    with pytest.raises(KeyboardInterrupt):  # nothing to give back yet
        EvolutionaryWeigher("FW", fitness, **FAST).fit(X, Y)


INTERRUPTED = """
import signal, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores it
from sklearn.datasets import load_wine
from weighbors import EvolutionaryWeigher
X, y = load_wine(return_X_y=True)
warnings.simplefilter("always")
search = EvolutionaryWeigher("IS+FS+FW", population_size=20, max_evaluations=10**9, random_state=0, n_jobs=2,
                             callback=lambda p: print(p.evaluations, flush=True)).fit(X, y)
print(search.stop_reason_, search.n_evaluations_ == search.history_["evaluations"].iloc[-1], search.fitness_ > 0)
"""


def test_a_real_sigint():
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in child.stdout:
        if int(line) > 200:
            child.send_signal(signal.SIGINT)
            break
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert out.splitlines()[-1] == "interrupted True True"
    assert "InterruptedSearchWarning" in err


@pytest.mark.parametrize(("tasks", "objective"), [("IS+FW", "single"), ("IS+FS", "pareto")])
def test_kill_9_and_resume_is_bit_identical(tmp_path, tasks, objective):
    path, code = tmp_path / "run.ckpt", KILLED.format(tasks=tasks, objective=objective)
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        if int(line) > 300:
            child.send_signal(signal.SIGKILL)
            break
    assert child.wait() == -signal.SIGKILL
    assert path.exists()
    given = {**FAST, "max_evaluations": 1500, "objective": objective}
    whole = EvolutionaryWeigher(tasks, **given).fit(X, Y)
    resumed = EvolutionaryWeigher(tasks, checkpoint=path, **given).fit(X, Y)
    same(resumed, whole)
    if objective == "pareto":
        pd.testing.assert_frame_equal(resumed.pareto_front_, whole.pareto_front_)
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == ["run.ckpt"]
