"""Long work: limits, progress, Ctrl-C, kill -9, checkpoints. Search, history and checkpoint stay together."""

import errno
import io
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
import pytest
from searches import FAST, X, Y, same
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from weighbors import EvolutionaryWeigher
from weighbors.exceptions import CheckpointError, InterruptedSearchWarning
from weighbors.weighers.evolution import lock
from weighbors.weighers.evolution import run as module
from weighbors.weighers.evolution.lock import held
from weighbors.weighers.evolution.run import Progress, ProgressBar, Run


@pytest.mark.parametrize("moment", ["_record", "_keep", "_save", "_progress", "_reason_to_stop", "_end"])
@pytest.mark.parametrize("after", [False, True])
def test_ctrl_c_at_any_moment_leaves_a_whole_generation(monkeypatch, tmp_path, moment, after):
    path, original, calls = tmp_path / "run.ckpt", getattr(Run, moment), []

    def interrupted(self, *args, **options):
        calls.append(1)
        now = len(calls) == (1 if moment == "_end" else 6)
        if now and not after:
            raise KeyboardInterrupt
        answer = original(self, *args, **options)
        if now:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(Run, moment, interrupted)
    with pytest.warns(InterruptedSearchWarning, match="best found so far"):
        search = EvolutionaryWeigher("IS+FW", checkpoint=path, **FAST).fit(X, Y)
    monkeypatch.undo()
    last = search.history_.iloc[-1]
    assert (last["generation"], last["evaluations"]) == (search.n_iter_, search.n_evaluations_)
    assert search.fitness_ == last["best"]
    again = EvolutionaryWeigher("IS+FW", checkpoint=path, resume=True, **FAST).fit(X, Y)
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
    EvolutionaryWeigher("FW", checkpoint=path, resume=True, callback=seen.append, **FAST).fit(X, Y)
    assert seen[0].generation == 8


def test_a_callback_that_fails_does_not_lose_the_search(tmp_path):
    path = tmp_path / "run.ckpt"

    def fails(progress):
        if progress.generation == 6:
            raise RuntimeError("no such luck")

    with pytest.raises(RuntimeError, match="no such luck"):
        EvolutionaryWeigher("IS", checkpoint=path, callback=fails, **FAST).fit(X, Y)
    seen = []
    again = EvolutionaryWeigher("IS", checkpoint=path, resume=True, callback=seen.append, **FAST).fit(X, Y)
    assert seen[0].generation == 7  # though checkpoint_seconds had not passed
    same(again, EvolutionaryWeigher("IS", **FAST).fit(X, Y))


def test_a_disk_that_fails_is_told_as_such(monkeypatch, tmp_path):
    from weighbors.weighers.evolution import checkpoint

    def full(*args):
        raise OSError("no space left")

    monkeypatch.setattr(checkpoint, "write_archive", full)
    with pytest.raises(OSError, match="no space left"):
        EvolutionaryWeigher("IS", checkpoint=tmp_path / "run.ckpt", **FAST).fit(X, Y)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_the_bar_shows_where_a_search_ended_and_ends_its_line(monkeypatch, stream):
    err = stream()
    monkeypatch.setattr(module.sys, "stderr", err)
    EvolutionaryWeigher("IS", verbose=True, callback=lambda p: p.generation == 5, **FAST).fit(X, Y)
    lines = err.getvalue().replace("\r", "\n").split("\n")
    assert lines[-1] == ""
    told = EvolutionaryWeigher("IS", callback=lambda p: p.generation == 5, **FAST).fit(X, Y)
    assert f"{told.n_evaluations_}/200 evaluations" in lines[-2]


def test_a_bar_beyond_its_end(monkeypatch):
    err = Terminal()
    monkeypatch.setattr(module.sys, "stderr", err)
    ProgressBar()(Progress(9, 400, 200, 0.5, 0.5, 3.0, 0.0))  # a resumed search may have more than is asked for
    assert "#" * 20 + " 400/200" in err.getvalue()
    assert "#" * 21 not in err.getvalue()


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
    many = {**FAST, "max_evaluations": 10**9}
    begun = time.perf_counter()
    limited = EvolutionaryWeigher("IS+FW", time_limit=0.3, **many).fit(X, Y)
    assert limited.stop_reason_ == "time_limit"
    assert time.perf_counter() - begun < 30
    still = EvolutionaryWeigher("FS", n_iter_no_change=5, **many).fit(X, Y)
    assert still.stop_reason_ == "n_iter_no_change"
    best = still.history_["best"]
    assert (best.iloc[-5:] == best.iloc[-6]).all()
    assert best.iloc[-6] > best.iloc[-7] or len(best) == 6
    front = EvolutionaryWeigher("FS", objective="pareto", n_iter_no_change=5, **many).fit(X, Y)
    assert front.stop_reason_ == "n_iter_no_change"
    assert (front.history_["front"].iloc[-6:] == front.history_["front"].iloc[-1]).all()
    converged = EvolutionaryWeigher("FS", restart=False, **many).fit(X, Y)
    assert converged.stop_reason_ == "converged"


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
    again = EvolutionaryWeigher("IS+FW", checkpoint=path, resume=True, **FAST).fit(X, Y)
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


KILLED = """
import sys, time
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from weighbors import EvolutionaryWeigher
X, y = load_wine(return_X_y=True)
def slow(progress):
    print(progress.evaluations, flush=True)
    time.sleep(0.02)
EvolutionaryWeigher({tasks!r}, objective={objective!r}, population_size=10, max_evaluations=1500, random_state=0,
                    checkpoint=sys.argv[1], checkpoint_seconds=0, callback=slow).fit(scale(X), y)
"""


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
    resumed = EvolutionaryWeigher(tasks, checkpoint=path, resume=True, **given).fit(X, Y)
    same(resumed, whole)
    if objective == "pareto":
        pd.testing.assert_frame_equal(resumed.pareto_front_, whole.pareto_front_)
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == ["run.ckpt"]


# -- one search at a time


def lock_of(path):
    return path.with_name(f".{path.name}.lock")


def test_a_second_search_on_a_checkpoint_is_refused(tmp_path):
    path, told = tmp_path / "run.ckpt", []

    def intrude(progress):
        if progress.generation == 3:
            for resume in (False, True):
                with pytest.raises(
                    CheckpointError, match=f"in use by another search \\(process {os.getpid()} on .*Wait"
                ):
                    EvolutionaryWeigher("FS", checkpoint=path, resume=resume, **FAST).fit(X, Y)
                told.append(resume)

    first = EvolutionaryWeigher("IS", checkpoint=path, checkpoint_seconds=0, callback=intrude, **FAST).fit(X, Y)
    assert told == [False, True]
    same(first, EvolutionaryWeigher("IS", **FAST).fit(X, Y))
    assert os.listdir(tmp_path) == ["run.ckpt"]
    same(EvolutionaryWeigher("IS", checkpoint=path, resume=True, **FAST).fit(X, Y), first)


def test_searches_of_other_processes_are_seen_until_they_are_killed(tmp_path):
    path = tmp_path / "run.ckpt"
    code = KILLED.format(tasks="IS", objective="single")
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        child.stdout.readline()
        given = {"checkpoint": path, "resume": True, **FAST, "max_evaluations": 1500}
        with pytest.raises(CheckpointError, match=f"process {child.pid} on"):
            EvolutionaryWeigher("IS", **given).fit(X, Y)
    finally:
        child.kill()
        child.wait()
    assert lock_of(path).exists()  # nobody could take it away, and it stops nobody
    EvolutionaryWeigher("IS", **given).fit(X, Y)
    assert os.listdir(tmp_path) == ["run.ckpt"]


@pytest.mark.parametrize("end", [KeyboardInterrupt, RuntimeError, SystemExit])
@pytest.mark.parametrize("generation", [0, 4])
def test_a_lock_is_released_however_a_search_ends(tmp_path, end, generation):
    path = tmp_path / "run.ckpt"

    def fitness(a, b):  # before the first generation is whole
        if generation == 0:
            raise end
        return float(np.mean(a == b))

    def ends(progress):
        if progress.generation == generation:
            raise end

    with warnings.catch_warnings(), suppress(end):
        warnings.simplefilter("ignore", InterruptedSearchWarning)
        EvolutionaryWeigher("IS", fitness, checkpoint=path, callback=ends, **FAST).fit(X, Y)
    assert not lock_of(path).exists()
    path.unlink(missing_ok=True)
    EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"pid": 1}', "\0" * 9])
def test_a_lock_file_that_says_nothing(tmp_path, content):
    path = tmp_path / "run.ckpt"
    lock_of(path).write_text(content)  # left by somebody, held by nobody
    with held(path):
        lock_of(path).write_text(content)
        with pytest.raises(CheckpointError, match="in use by another search, and"), held(path):
            pass
    with held(path):
        pass
    assert os.listdir(tmp_path) == []


def test_long_names_of_checkpoints_have_locks_of_their_own(tmp_path):
    one, two = tmp_path / ("x" * 250 + ".0.0"), tmp_path / ("x" * 250 + ".0.1")  # 254 of the 255 bytes a name may have
    with held(one), held(two):
        assert len(os.listdir(tmp_path)) == 2
        with pytest.raises(CheckpointError, match="in use"), held(one):
            pass


def test_of_many_at_once_one_gets_the_lock(tmp_path):
    path, inside, most, refused = tmp_path / "run.ckpt", [], [], []

    def work():
        for _ in range(200):
            try:
                with held(path):
                    inside.append(1)
                    most.append(len(inside))
                    time.sleep(0)
                    inside.pop()
            except CheckpointError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
    assert len(most) + len(refused) == 800
    assert os.listdir(tmp_path) == []


def test_file_systems_without_locks_are_not_guarded(tmp_path, monkeypatch):
    def none(*args):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(lock.fcntl, "flock", none)
    EvolutionaryWeigher("IS", checkpoint=tmp_path / "run.ckpt", **FAST).fit(X, Y)
    assert os.listdir(tmp_path) == ["run.ckpt"]
    monkeypatch.setattr(lock, "fcntl", None)
    with held(tmp_path / "run.ckpt"), held(tmp_path / "run.ckpt"):
        assert os.listdir(tmp_path) == ["run.ckpt"]


def test_a_checkpoint_of_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "run.ckpt"
    given = {"checkpoint": path, **FAST}
    EvolutionaryWeigher("IS", **given).fit(X, Y)
    content = path.read_bytes()
    refused = [
        (EvolutionaryWeigher("IS", **given), X, Y, "there already"),
        (EvolutionaryWeigher("IS", resume=True, **given), X[:-1], Y[:-1], "other data"),
        (EvolutionaryWeigher("IS", resume=True, **given), X + 1e-9, Y, "other data"),
        (EvolutionaryWeigher("IS", resume=True, **given), X, np.roll(Y, 1), "other data"),
        (EvolutionaryWeigher("IS+FS", resume=True, **given), X, Y, "tasks: 'IS' there, 'IS\\+FS' here"),
        (EvolutionaryWeigher("IS", "g_mean", resume=True, **given), X, Y, "other settings .*fitness"),
        (EvolutionaryWeigher("IS", resume=True, **{**given, "population_size": 12}), X, Y, "population_size"),
        (EvolutionaryWeigher("IS", resume=True, **{**given, "random_state": 5}), X, Y, "random_state"),
    ]
    for weigher, rows, labels, told in refused:
        with pytest.raises(CheckpointError, match=told):
            weigher.fit(rows, labels)
        assert path.read_bytes() == content
    done = EvolutionaryWeigher("IS", resume=True, **given).fit(X, Y)  # nothing left to do
    same(done, EvolutionaryWeigher("IS", **FAST).fit(X, Y))
    longer = EvolutionaryWeigher("IS", resume=True, **{**given, "max_evaluations": 400}).fit(X, Y)
    assert longer.n_evaluations_ == 400
    assert longer.fitness_ >= done.fitness_


def stopped(generation):
    return lambda progress: progress.generation == generation


@pytest.mark.parametrize("state", [None, "RandomState"])
@pytest.mark.parametrize("options", [{"undersample": True}, {"estimator": DecisionTreeClassifier(max_depth=3)}])
def test_rows_and_folds_are_drawn_as_before_though_the_seed_is_open(tmp_path, state, options):
    path, y = tmp_path / "run.ckpt", (Y == 0).astype(int)
    given = {**FAST, "checkpoint": path, "fitness": "g_mean", **options}
    given["random_state"] = None if state is None else np.random.RandomState(3)
    first = EvolutionaryWeigher("IS", callback=stopped(4), **given).fit(X, y)
    again = EvolutionaryWeigher("IS", callback=stopped(5), resume=True, **given).fit(X, y)
    np.testing.assert_array_equal(again._rows, first._rows)
    for search in (first, again):
        assert search.fitness_ == search.history_["best"].iloc[-1]  # judged anew, the answer is what it was


def test_categories_functions_and_classifiers_are_settings(tmp_path):
    rng = np.random.default_rng(0)
    mixed, y = np.column_stack([np.arange(40) % 3, rng.normal(size=40)]), np.arange(40) % 2  # codes equal values

    def costs(beta):
        return lambda a, b: beta * float(np.mean(a == b))

    def trees(**options):
        return make_pipeline(StandardScaler(), DecisionTreeClassifier(**options))

    long = {c: 1 + c / 100 for c in range(90)}  # the repr of scikit-learn ends before its end
    pairs = [
        ({}, {"categorical_features": [0]}, "categorical_features: \\[\\] there, \\[0\\] here"),
        ({"fitness": lambda a, b: 1.0}, {"fitness": lambda a, b: 2.0}, "fitness"),
        ({"fitness": costs(1.0)}, {"fitness": costs(2.0)}, "fitness"),
        ({"fitness": partial(fbeta, beta=1)}, {"fitness": partial(fbeta, beta=2)}, "fitness"),
        ({"estimator": trees()}, {"estimator": trees(max_depth=2)}, "estimator"),
        ({"estimator": trees(class_weight=long)}, {"estimator": trees(class_weight={**long, 89: 5})}, "estimator"),
    ]
    for i, (one, other, told) in enumerate(pairs):
        path = tmp_path / f"{i}.ckpt"
        EvolutionaryWeigher("IS", checkpoint=path, **FAST, **one).fit(mixed, y)
        content = path.read_bytes()
        with pytest.raises(CheckpointError, match=f"other settings .*{told}"):
            EvolutionaryWeigher("IS", checkpoint=path, resume=True, **FAST, **other).fit(mixed, y)
        assert path.read_bytes() == content
        EvolutionaryWeigher("IS", checkpoint=path, resume=True, **FAST, **one).fit(mixed, y)


def fbeta(true, predicted, beta):
    return float(beta * np.mean(true == predicted))


def test_unreadable_and_foreign_checkpoints(tmp_path):
    good = tmp_path / "good.ckpt"
    EvolutionaryWeigher("IS", checkpoint=good, **FAST).fit(X, Y)
    whole = good.read_bytes()
    weights = tmp_path / "weights.npz"
    EvolutionaryWeigher("IS", **FAST).fit(X, Y).weights_.save(weights)
    np.save(tmp_path / "array.npy", np.zeros(3))
    files = {
        "empty": b"",
        "text": b"hello",
        "cut": whole[: len(whole) // 2],
        "weights": weights.read_bytes(),
        "array": (tmp_path / "array.npy").read_bytes(),
    }
    for name, content in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="not a readable checkpoint|no search wrote it"):
            EvolutionaryWeigher("IS", checkpoint=path, resume=True, **FAST).fit(X, Y)
        assert path.read_bytes() == content
    for resume in (False, True):
        with pytest.raises(CheckpointError, match="directory"):
            EvolutionaryWeigher("IS", checkpoint=tmp_path / "no" / "x", resume=resume, **FAST).fit(X, Y)


def test_checkpoints_with_changed_content(tmp_path):
    from weighbors._archive import read_archive, write_archive

    path = tmp_path / "run.ckpt"
    EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y)
    header, state = read_archive(path)
    resumed = EvolutionaryWeigher("IS", checkpoint=path, resume=True, **FAST)
    write_archive(path, {**header, "version": 99}, state)
    with pytest.raises(CheckpointError, match="version 99"):
        resumed.fit(X, Y)
    import json

    with open(path, "wb") as file:
        np.savez(file, header=np.array(json.dumps({**header, "digest": "0"})), **state)
    with pytest.raises(CheckpointError, match="damaged"):
        resumed.fit(X, Y)
