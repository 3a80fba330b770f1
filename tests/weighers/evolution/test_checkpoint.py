"""Checkpoints of other data or settings, damaged or foreign ones: refused, and left alone."""

import json
import warnings
from functools import partial

import numpy as np
import pytest
from searches import FAST, X, Y, same
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from weighbors import EvolutionaryWeigher
from weighbors._files import atomic_write
from weighbors.exceptions import CheckpointError, LostClassWarning


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


def changed(array, where, value):
    """A copy of an array with one value changed."""
    copy = array.copy()
    copy[where] = value
    return copy


def with_row(text, **values):
    """The history of a checkpoint, its last row changed."""
    rows = json.loads(str(text))
    rows[-1].update(values)
    return np.array(json.dumps(rows))


#: Names of forged parts: header values, or arrays as functions of those of a search that tells all its parts.
FORGED = {
    "no settings": ("header", "settings", None),
    "settings as a list": ("header", "settings", [1]),
    "data as a number": ("header", "data", 3),
    "no seed": ("header", "entropy", None),
    "seed of words": ("header", "entropy", ["a"]),
    "seed below 0": ("header", "entropy", -1),
    "seed of nothing": ("header", "entropy", []),
    "weights above 1": ("state", "weights", lambda a: changed(a, (0, 0), 1.5)),
    "weights below 0": ("state", "weights", lambda a: changed(a, (0, 0), -1e-9)),
    "weights NaN": ("state", "weights", lambda a: changed(a, (0, 0), np.nan)),
    "weights of text": ("state", "weights", lambda a: a.astype(str)),
    "weights of complex numbers": ("state", "weights", lambda a: a.astype(complex)),
    "too few individuals": ("state", "weights", lambda a: a[1:]),
    "too few bits": ("state", "bits", lambda a: a[:, 1:]),
    "bits as words": ("state", "bits", lambda a: a.astype(np.uint64)),
    "bits as one number": ("state", "bits", lambda a: np.array(1, dtype=np.uint8)),
    "fitness NaN": ("state", "fitness", lambda a: changed(a, 0, np.nan)),
    "fitness 1e308": ("state", "fitness", lambda a: changed(a, 0, 1e308)),
    "fitness above 1": ("state", "fitness", lambda a: changed(a, 0, 1.01)),
    "fitness infinite": ("state", "fitness", lambda a: changed(a, 0, np.inf)),
    "fitness minus infinite": ("state", "fitness", lambda a: changed(a, 0, -np.inf)),
    "fitness of none": ("state", "fitness", lambda a: a[:0]),
    "another best fitness": ("state", "fitness", lambda a: a / 2),
    "evaluations below 0": ("state", "counters", lambda a: changed(a, 0, -1)),
    "evaluations without end": ("state", "counters", lambda a: changed(a, 0, 2**62)),
    "generation of another history": ("state", "counters", lambda a: changed(a, 1, 2)),
    "stagnant for too long": ("state", "counters", lambda a: changed(a, 4, 10**6)),
    "counters of floats": ("state", "counters", lambda a: a.astype(float)),
    "four counters": ("state", "counters", lambda a: a[:4]),
    "threshold NaN": ("state", "threshold", lambda a: np.array(np.nan)),
    "threshold too high": ("state", "threshold", lambda a: np.array(1e9)),
    "generator of another kind": ("state", "generator", lambda a: np.array('{"bit_generator": "MT19937"}')),
    "generator of numbers": ("state", "generator", lambda a: np.array(3.0)),
    "generator no JSON": ("state", "generator", lambda a: np.array("{")),
    "generator deep": ("state", "generator", lambda a: np.array("[" * 10**5)),
    "kind of another search": ("state", "kind", lambda a: np.array("pareto")),
    "history no JSON": ("state", "history", lambda a: np.array("[{")),
    "history deep": ("state", "history", lambda a: np.array("[" * 10**5)),
    "history no list": ("state", "history", lambda a: np.array("3")),
    "history of lists": ("state", "history", lambda a: np.array("[[1]]")),
    "history empty": ("state", "history", lambda a: np.array("[]")),
    "history of bytes": ("state", "history", lambda a: np.array(b"[]")),
    "history of text": ("state", "history", lambda a: with_row(a, best="much")),
    "history with NaN": ("state", "history", lambda a: with_row(a, best=np.nan)),
    "history of another best": ("state", "history", lambda a: with_row(a, best=0.99)),
    "history of seconds below 0": ("state", "history", lambda a: with_row(a, seconds=-1)),
    "history of endless seconds": ("state", "history", lambda a: with_row(a, seconds=1e999)),
}
PARTS = ("weights", "bits", "fitness", "counters", "threshold", "generator", "kind", "history")


def test_forged_checkpoints_are_refused(tmp_path):
    # Everybody can write the right digest, so the digest protects against damage only.
    from weighbors._archive import read_archive, write_archive

    path = tmp_path / "run.ckpt"
    given = {**FAST, "checkpoint": path, "resume": True, "max_evaluations": 400}
    EvolutionaryWeigher("IS+IW", **{**given, "max_evaluations": 200}).fit(X, Y)
    header, state = read_archive(path)
    forged = {f"without {name}": (header, {k: v for k, v in state.items() if k != name}) for name in PARTS}
    forged["one part more"] = (header, {**state, "more": np.zeros(3)})
    for name, (where, key, value) in FORGED.items():
        head, arrays = dict(header), dict(state)
        if where == "header":
            head[key] = value
        else:
            arrays[key] = value(state[key])
        forged[name] = head, arrays
    for name, (head, arrays) in forged.items():
        write_archive(path, head, arrays)
        content = path.read_bytes()
        with pytest.raises(CheckpointError, match="is not a readable checkpoint"):
            EvolutionaryWeigher("IS+IW", **given).fit(X, Y)
        assert path.read_bytes() == content, name
    write_archive(path, header, state)  # as it was, it is continued
    same(EvolutionaryWeigher("IS+IW", **given).fit(X, Y),
         EvolutionaryWeigher("IS+IW", **{**FAST, "max_evaluations": 400}).fit(X, Y))  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [
    ("goals", lambda a: changed(a, (0, 0), np.nan)),
    ("goals", lambda a: changed(a, (0, 1), -0.5)),
    ("goals", lambda a: changed(a, (0, 1), 1.5)),
    ("goals", lambda a: a[:, :1]),
    ("goals", lambda a: a.astype(np.int64)),
    ("fitness", lambda a: a - 1),
])  # fmt: skip
def test_forged_goals_are_refused(tmp_path, name, value):
    from weighbors._archive import read_archive, write_archive

    path = tmp_path / "run.ckpt"
    given = {**FAST, "checkpoint": path, "resume": True, "objective": "pareto"}
    EvolutionaryWeigher("IS+FS", **given).fit(X, Y)
    header, state = read_archive(path)
    EvolutionaryWeigher("IS+FS", **given).fit(X, Y)
    write_archive(path, header, {**state, name: value(state[name])})
    with pytest.raises(CheckpointError, match="is not a readable checkpoint"):
        EvolutionaryWeigher("IS+FS", **given).fit(X, Y)


@pytest.mark.parametrize("options", [
    {"fitness": "matthews_corrcoef"},
    {"fitness": lambda a, b: -1e9 * float(np.mean(a != b))},
    {"keep_classes": False, "fitness": "g_mean"},
    {"incest_prevention": True, "restart": True},
    {"start": "spread"},
    {"objective": "pareto"},
])  # fmt: skip
def test_every_kind_of_search_continues_from_its_checkpoint(tmp_path, options):
    given = {**FAST, **options, "checkpoint": tmp_path / "run.ckpt", "resume": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostClassWarning)
        for generation in (3, 7):
            EvolutionaryWeigher("IS+FS", callback=stopped(generation), **given).fit(X, Y)
        found = EvolutionaryWeigher("IS+FS", **given).fit(X, Y)
        same(found, EvolutionaryWeigher("IS+FS", **FAST, **options).fit(X, Y))
