"""Weights: immutable, validated, printable, comparable, saved without pickle."""

import contextlib
import copy
import os
import pickle
import zipfile

import numpy as np
import pytest
import sklearn.base
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from weighbors import IntervalTable, Weights
from weighbors.exceptions import InvalidWeightsError, WeightsFileError
from weighbors.weights import fingerprint
from weighbors.weights.intervals import IntervalLookup


def table(**changes):
    parts = {
        "start": [0, 2, 3, 4, 5],
        "low": [1, 5, 0, 2, 0],
        "high": [3, 7, 9, 4, 1],
        "weight": [0.5, 1.0, 0.25, 0.75, 0.0],
        "n_features": 2,
    }
    return IntervalTable(**{**parts, **changes})


def everything():
    return Weights(
        feature_weights=[[1.0, 0.5], [0.0, 2.0]],
        classes=["sick", "well"],
        instance_scales=[1.0, 2.0, 0.5],
        votes=[0.2, 0.3, 0.5],
        feature_mask=[True, False],
        instance_mask=[True, True, False],
        feature_names=["age", "größe"],
        fingerprint="abc",
    )


BAD = {
    "negative": ({"feature_weights": [1, -1]}, "must not be negative; got -1 at position 1"),
    "negative in a matrix": ({"feature_weights": [[1, 2], [3, -4]]}, r"got -4 at position \(1, 1\)"),
    "nan": ({"votes": [1, np.nan]}, "votes must be finite; got nan at position 1"),
    "infinite": ({"instance_scales": [np.inf]}, "must be finite"),
    "all zero": ({"feature_weights": [0.0, 0.0]}, "all zero.*Leave feature_weights out"),
    "all zero votes": ({"votes": [0.0]}, "all zero"),
    "empty": ({"feature_weights": []}, "not empty"),
    "scalar": ({"feature_weights": 3.0}, r"got shape \(\)"),
    "three dimensions": ({"feature_weights": np.ones((2, 2, 2))}, "a vector or a matrix"),
    "votes as a matrix": ({"votes": [[1.0]]}, "must be a vector"),
    "text": ({"feature_weights": ["a"]}, "must be real numbers"),
    "complex": ({"feature_weights": [1j]}, "must be real numbers"),
    "mask of numbers": ({"feature_mask": [1, 0]}, "vector of bool"),
    "mask of nothing": ({"instance_mask": [False]}, "keeps nothing"),
    "features disagree": ({"feature_weights": [1, 2], "feature_mask": [True]}, "disagree on n_features"),
    "names disagree": ({"feature_weights": [1, 2], "feature_names": ["a"]}, "feature_names: 1"),
    "rows disagree": ({"votes": [1, 2], "instance_scales": [1]}, "disagree on n_samples"),
    "rows of classes": ({"feature_weights": np.ones((3, 2)), "classes": [0, 1]}, "3 rows for 2 classes"),
    "mixed classes": ({"feature_weights": np.ones((2, 2)), "classes": np.array([1, "a"], dtype=object)}, "a mixture"),
    "objects as classes": ({"feature_weights": np.ones((2, 2)), "classes": [{}, 1]}, "all numbers or all text"),
    "negative n_samples": ({"n_samples": -3}, "whole number of at least 1"),
    "text n_samples": ({"n_samples": "x"}, "whole number of at least 1"),
    "classes alone": ({"classes": [0, 1]}, "goes with feature_weights"),
    "twice the same class": ({"feature_weights": np.ones((2, 2)), "classes": [1, 1]}, "different labels"),
    "intervals without classes": ({"intervals": table()}, "need classes="),
    "both ways": ({"intervals": table(), "feature_weights": [1, 2], "classes": [0, 1]}, "two ways"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_weigh_is_refused(name):
    parts, message = BAD[name]
    with pytest.raises(InvalidWeightsError, match=message):
        Weights(**parts)


def test_kinds_and_sizes():
    assert Weights().kind == "none"
    assert Weights(feature_weights=[1, 2]).kind == "feature"
    assert Weights(feature_weights=np.ones((4, 2))).kind == "instance"
    assert everything().kind == "class"
    assert Weights(intervals=table(), classes=[0, 1]).kind == "interval"
    assert (everything().n_features, everything().n_samples) == (2, 3)
    assert Weights(feature_weights=np.ones((4, 2))).n_samples == 4
    assert everything().instance_bound
    assert not Weights(feature_weights=[1.0]).instance_bound


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w)), sklearn.base.clone])
def test_copies_are_equal_and_read_only(copier):
    for weights in (everything(), Weights(intervals=table(), classes=[0, 1])):
        twin = copier(weights) if copier is not sklearn.base.clone else clone(weights, safe=False)
        assert twin == weights
        assert hash(twin) == hash(weights)
        part = twin.feature_weights if twin.intervals is None else twin.intervals.low
        assert not part.flags.writeable


def test_single_flipped_bytes_never_change_weights(tmp_path):
    path = tmp_path / "w.npz"
    everything().save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(whole), size=300):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
        with contextlib.suppress(WeightsFileError):
            assert Weights.load(path) == everything()


def test_nothing_changes_afterwards():
    given_ = np.array([1.0, 2.0])
    weights = Weights(feature_weights=given_)
    given_[0] = 99
    assert weights.feature_weights.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        weights.feature_weights[0] = 5
    with pytest.raises(AttributeError):
        weights.votes = [1]


def test_equality_and_hash():
    assert everything() == everything()
    assert hash(everything()) == hash(everything())
    assert everything() != Weights()
    assert Weights(feature_weights=[1, 2]) != Weights(feature_weights=[1, 3])
    assert Weights() != 3
    assert Weights(intervals=table(), classes=[0, 1]) == Weights(intervals=table(), classes=[0, 1])
    assert Weights(intervals=table(smoothing=0.1), classes=[0, 1]) != Weights(intervals=table(), classes=[0, 1])


def test_printing_names_features():
    told = repr(everything())
    assert "2 features and 3 instances" in told
    assert "sick: age 1, größe 0.5" in told
    assert "features kept: 1 of 2" in told
    assert "instances kept: 2 of 3" in told
    assert "votes: 0.2 to 0.5" in told
    assert "plain distances" in repr(Weights())
    assert "5 intervals" in repr(Weights(intervals=table(), classes=[0, 1]))
    assert "per instance" in repr(Weights(feature_weights=np.ones((2, 2))))


def test_frame():
    frame = Weights(feature_weights=[0.2, 0.8], feature_mask=[True, False], feature_names=["a", "b"]).frame()
    assert frame.loc["b", "weight"] == 0.8
    assert frame["kept"].tolist() == [True, False]
    assert everything().frame().columns.tolist() == ["sick", "well", "kept"]
    assert Weights(feature_names=["a"]).frame()["weight"].tolist() == [1.0]
    with pytest.raises(InvalidWeightsError, match="per instance have no table"):
        Weights(feature_weights=np.ones((2, 2))).frame()


def test_fold_makes_plain_distances_weighted():
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(2, 4)), rng.random(4)
    a[2] = 0
    weights = Weights(feature_weights=a, feature_mask=[True, True, True, False])
    expected = a * np.abs(X[0] - X[1])
    folded = weights.fold(X)
    assert np.isclose(np.sum((folded[0] - folded[1]) ** 2), np.sum((a * (X[0] - X[1]) ** 2)[:3]))
    folded = weights.fold(X, p=1)
    assert np.isclose(np.abs(folded[0] - folded[1]).sum(), expected[:3].sum())
    X[0, 2] = np.nan
    assert weights.fold(X)[0, 2] == 0
    assert weights.fold(X.astype(np.float32)).dtype == np.float32
    assert Weights().fold([[1, 2]]).tolist() == [[1.0, 2.0]]


def test_fold_refuses_what_does_not_fold():
    with pytest.raises(InvalidWeightsError, match="these are per class"):
        everything().fold(np.ones((1, 2)))
    with pytest.raises(InvalidWeightsError, match=r"shape \(n, 2\); got \(1, 3\)"):
        Weights(feature_weights=[1, 2]).fold(np.ones((1, 3)))
    with pytest.raises(InvalidWeightsError, match="p must be 1 or 2"):
        Weights().fold(np.ones((1, 3)), p=3)


def test_take_follows_the_rows():
    rows = np.array([2, 0])
    taken = everything().take(rows)
    assert taken.votes.tolist() == [0.5, 0.2]
    assert taken.n_samples == 2
    assert taken.fingerprint is None
    assert Weights(feature_weights=[[1.0], [2.0], [3.0]]).take(rows).feature_weights.tolist() == [
        [3.0],
        [1.0],
    ]


CASES = {
    "everything": everything(),
    "nothing": Weights(),
    "instance": Weights(feature_weights=np.arange(6.0).reshape(3, 2)),
    "intervals": Weights(intervals=table(normalize="instance", smoothing=0.02), classes=[1, 2], n_samples=9),
    "objects": Weights(feature_weights=np.ones((2, 1)), classes=np.array(["a", "b"], dtype=object)),
    "object numbers": Weights(feature_weights=np.ones((2, 1)), classes=np.array([1, 2], dtype=object)),
}


@pytest.mark.parametrize("name", CASES)
def test_saved_and_loaded(name, tmp_path):
    path = tmp_path / "some.weights"
    CASES[name].save(path)
    assert Weights.load(path) == CASES[name]
    assert Weights.load(str(path)) == CASES[name]
    assert os.listdir(tmp_path) == ["some.weights"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=20).filter(lambda values: max(values) > 0))
def test_every_number_survives_saving(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("weights") / "w.npz"
    Weights(feature_weights=values).save(path)
    assert Weights.load(path).feature_weights.tolist() == values


def test_damaged_and_foreign_files_are_named(tmp_path):
    path = tmp_path / "w.npz"
    everything().save(path)
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[: len(whole) // 2], whole[:100] + b"\0" * 50 + whole[150:]):
        path.write_bytes(content)
        with pytest.raises(WeightsFileError, match=r"w\.npz"):
            Weights.load(path)
    np.savez(path, X=np.ones(3))
    with pytest.raises(WeightsFileError, match=r"Weights\.save did not write it"):
        Weights.load(path)
    np.save(tmp_path / "a.npy", np.ones(3))
    with pytest.raises(WeightsFileError):
        Weights.load(tmp_path / "a.npy")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "not an array")
    with pytest.raises(WeightsFileError):
        Weights.load(path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Weights.load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError, match="is a directory; name a file"):
        Weights.load(tmp_path)


def test_nothing_in_a_file_is_executed(tmp_path):
    path = tmp_path / "w.npz"
    header = np.array('{"format": "weighbors.Weights", "version": 1}')
    np.savez(path, header=header, votes=np.array([object()]))
    with pytest.raises(WeightsFileError, match="allow_pickle"):
        Weights.load(path)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"version": 99}, "version 99"),
        ({"votes": np.array([-1.0])}, "no valid weights: votes must not be negative"),
        ({"surprise": np.ones(1)}, "no valid weights"),
        ({"intervals.low": np.ones(1)}, "no valid weights"),
    ],
)
def test_a_file_with_other_content_is_refused(tmp_path, parts, message, monkeypatch):
    from weighbors.weights import file as _weights_file

    path = tmp_path / "w.npz"
    kind = _weights_file._KIND
    monkeypatch.setattr(_weights_file, "_KIND", kind._replace(version=parts.pop("version", 1)))
    _weights_file.write_state(path, parts)
    monkeypatch.undo()
    with pytest.raises(WeightsFileError, match=message):
        Weights.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "w.npz"
    everything().save(path)
    before = path.read_bytes()
    monkeypatch.setattr(np, "savez_compressed", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        Weights().save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["w.npz"]
    with pytest.raises(FileNotFoundError, match=r"make it first: '.*nowhere.w\.npz'"):
        Weights().save(tmp_path / "nowhere" / "w.npz")
    with pytest.raises(IsADirectoryError, match="name a file to write to"):
        Weights().save(tmp_path)


def test_fingerprints():
    X = np.random.default_rng(0).normal(size=(50, 3)).round(1)
    assert fingerprint(X) == fingerprint(np.asfortranarray(X)) == fingerprint(sparse.csr_matrix(X))
    assert fingerprint(X) != fingerprint(X[::-1])
    assert fingerprint(X) != fingerprint(X.reshape(75, 2))
    assert fingerprint([[-0.0, np.nan]]) == fingerprint([[0.0, -np.nan]])


def test_interval_lookup():
    # class 0: feature 0 has [1, 3] and [5, 7], feature 1 [0, 9]; class 1: [2, 4] and [0, 1]
    X = np.array([[2, 5], [4, 5], [4.4, 5], [4.6, 5], [-9, 5], [99, 5], [np.nan, 5], [3, 0]])
    codes = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    found = table().lookup(X, codes)
    assert found[:, 0].tolist() == [0.5, 0.5, 1.0, 1.0, 0.5, 1.0, 0.75, 0.75]
    assert found[:, 1].tolist() == [0.25] * 7 + [0.0]
    normal = table(normalize="instance", smoothing=0.02).lookup(X, codes)
    assert np.allclose(normal.sum(axis=1), 1)
    assert np.allclose(normal[0], [0.52 / 0.79, 0.27 / 0.79])
    empty = IntervalTable(start=[0, 1, 1], low=[0], high=[1], weight=[1.0], n_features=2)
    assert empty.lookup(np.zeros((1, 2)), np.array([0])).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": [0.5, 1, 0.25, 0.75, -1]}, "not be negative"),
        ({"weight": np.zeros(5)}, "not all zero"),
        ({"low": [1, 3, 0, 2, 0]}, "ascend and not overlap"),
        ({"high": [0, 7, 9, 4, 1]}, "low <= high"),
        ({"low": [1, np.nan, 0, 2, 0]}, "finite"),
        ({"start": [0, 2, 3, 4]}, "n_classes \\* n_features \\+ 1"),
        ({"start": [0, 2, 3, 4, 6]}, "as long as 'start' says"),
        ({"start": [0, 3, 2, 4, 5]}, "must not descend"),
        ({"normalize": "sum"}, "'none' or 'instance'"),
        ({"smoothing": -1}, "smoothing|not all zero"),
    ],
)
def test_interval_tables_are_checked(changes, message):
    with pytest.raises(InvalidWeightsError, match=message):
        table(**changes)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_tabulated_lookups_have_the_bits_of_the_search(seed):
    rng = np.random.default_rng(seed)
    n, M, K = int(rng.integers(1, 400)), int(rng.integers(1, 6)), int(rng.integers(1, 5))
    low, high, start = [], [], [0]
    for _ in range(K * M):  # ends ascend; some groups have no interval, some ends are not whole
        ends = np.sort(rng.choice(np.arange(-40, 41), size=2 * int(rng.integers(0, 5)), replace=False)) / rng.choice(
            [1, 2]
        )
        low, high = [*low, *ends[::2]], [*high, *ends[1::2]]
        start.append(len(low))
    if not low:
        return
    made = IntervalTable(start, low, high, rng.random(len(low)), M, str(rng.choice(["none", "instance"])), 0.02)
    X = rng.integers(-50, 50, size=(n, M)) / rng.choice([1, 1, 1, 4], size=M)
    X[rng.random(X.shape) < 0.1] = np.nan
    codes = rng.integers(0, K, size=n)
    known = np.where(np.isnan(X), 0, X)
    whole = (known == np.rint(known)).all(axis=0)
    fast = IntervalLookup.of(made, known.min(axis=0), known.max(axis=0), whole, int(rng.integers(1, 5000)))
    assert fast(X, codes).tobytes() == made.lookup(X, codes).tobytes()
