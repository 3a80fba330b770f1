"""Checkpoints of other data or settings, damaged or foreign ones: refused, and left alone."""

import json
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.searches import FAST, X, Y, same

from weighbors import EvolutionaryWeigher
from weighbors._io.files import atomic_write
from weighbors.exceptions import CheckpointError, LostClassWarning


def test_a_checkpoint_of_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "run.ckpt"
    given = {"checkpoint": path, **FAST}
    EvolutionaryWeigher("IS", **given).fit(X, Y)
    content = path.read_bytes()
    refused = [
        (EvolutionaryWeigher("IS", **given), X[:-1], Y[:-1], "other data"),
        (EvolutionaryWeigher("IS", **given), X + 1e-9, Y, "other data"),
        (EvolutionaryWeigher("IS", **given), X, np.roll(Y, 1), "other data"),
        (EvolutionaryWeigher("IS+FS", **given), X, Y, "tasks: 'IS' there, 'IS\\+FS' here"),
        (EvolutionaryWeigher("IS", "g_mean", **given), X, Y, "other settings .*fitness"),
        (EvolutionaryWeigher("IS", **{**given, "population_size": 12}), X, Y, "population_size"),
        (EvolutionaryWeigher("IS", **{**given, "random_state": 5}), X, Y, "random_state"),
    ]
    for weigher, rows, labels, told in refused:
        with pytest.raises(CheckpointError, match=told):
            weigher.fit(rows, labels)
        assert path.read_bytes() == content
    done = EvolutionaryWeigher("IS", **given).fit(X, Y)  # nothing left to do
    same(done, EvolutionaryWeigher("IS", **FAST).fit(X, Y))
    longer = EvolutionaryWeigher("IS", **{**given, "max_evaluations": 400}).fit(X, Y)
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
    again = EvolutionaryWeigher("IS", callback=stopped(5), **given).fit(X, y)
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
            EvolutionaryWeigher("IS", checkpoint=path, **FAST, **other).fit(mixed, y)
        assert path.read_bytes() == content
        EvolutionaryWeigher("IS", checkpoint=path, **FAST, **one).fit(mixed, y)


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
            EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y)
        assert path.read_bytes() == content
    for path, told in ((tmp_path / "no" / "x", "make it first"), (tmp_path, "is a directory"), ("", "is a directory")):
        with pytest.raises(CheckpointError, match=told):
            EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y)


def test_checkpoints_with_changed_content(tmp_path):
    from weighbors._io.archive import read_archive, write_archive

    path = tmp_path / "run.ckpt"
    EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y)
    header, state = read_archive(path)
    resumed = EvolutionaryWeigher("IS", checkpoint=path, **FAST)
    write_archive(path, {**header, "version": 99}, state)
    with pytest.raises(CheckpointError, match="version 99"):
        resumed.fit(X, Y)
    with open(path, "wb") as file:
        np.savez(file, header=np.array(json.dumps({**header, "digest": "0"})), **state)
    with pytest.raises(CheckpointError, match="damaged"):
        resumed.fit(X, Y)


def test_files_that_killed_searches_left_are_removed(tmp_path):
    path = tmp_path / "run.ckpt"
    left = [tmp_path / ".run.ckpt.ab_c0123", tmp_path / ".run.ckpt.zzzzzzzz"]
    foreign = [
        tmp_path / name for name in (".run.ckpt2.abcdefgh", ".run.ckpt.abc", ".run.ckpt.ABCDEFGH", "run.ckpt.abcdefgh")
    ]
    for one in (*left, *foreign):
        one.write_bytes(b"half a file")
    EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y)
    assert sorted(tmp_path.iterdir()) == sorted([path, *foreign])
    long, other = tmp_path / ("a" * 200), tmp_path / ("a" * 201)  # their first letters are the same
    with atomic_write(other):
        (beside,) = set(tmp_path.iterdir()) - {path, *foreign}
        EvolutionaryWeigher("IS", checkpoint=long, **FAST).fit(X, Y)
        assert beside.exists()


def test_two_writers_of_one_file_do_not_remove_each_others_temporary_file(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path) as first:
        first.write(b"first")
        with atomic_write(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("options", [
    {"fitness": "matthews_corrcoef"},
    {"fitness": lambda a, b: -1e9 * float(np.mean(a != b))},
    {"keep_classes": False, "fitness": "g_mean"},
    {"start": "spread"},
    {"objective": "pareto"},
    {"objective": ("instances", "features")},
])  # fmt: skip
def test_every_kind_of_search_continues_from_its_checkpoint(tmp_path, options):
    given = {**FAST, **options, "checkpoint": tmp_path / "run.ckpt"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostClassWarning)
        for generation in (3, 7):
            EvolutionaryWeigher("IS+FS", callback=stopped(generation), **given).fit(X, Y)
        found = EvolutionaryWeigher("IS+FS", **given).fit(X, Y)
        same(found, EvolutionaryWeigher("IS+FS", **FAST, **options).fit(X, Y))
