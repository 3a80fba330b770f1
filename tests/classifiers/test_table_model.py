"""Models and their files: a file that is incomplete, changed or of another format is a clear error."""

import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from tables import mixed_table

from weighbors import EvolutionaryWeigher, ReliefF, WeightedKNeighborsClassifier, Weights
from weighbors._archive import digest_of, read_archive, write_archive
from weighbors.classifiers import TableModel
from weighbors.classifiers.table_model import WEIGHERS, make_weigher
from weighbors.datasets import load_builtin
from weighbors.exceptions import InvalidDataError, ModelFileError


@pytest.fixture(scope="module")
def model():
    frame = mixed_table()
    return TableModel.learn(frame.drop(columns="kind"), frame["kind"])


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "m.wb")
    return tmp_path / "m.wb"


def test_without_weights_it_is_a_scaled_knn():
    data = load_builtin("wine")
    model = TableModel.learn(data.X[::2], data.y[::2], weigher="none", n_neighbors=7)
    scaler = MinMaxScaler().fit(data.X[::2])
    peer = KNeighborsClassifier(7).fit(scaler.transform(data.X[::2]), data.y[::2])
    expected = peer.predict_proba(scaler.transform(data.X[1::2]))
    told = model.judge(data.X[1::2])
    np.testing.assert_allclose(told.shares, expected)
    assert (told.labels == peer.classes_[expected.argmax(axis=1)]).all()


def test_the_weights_are_those_of_the_scaled_rows():
    data = load_builtin("wine")
    model = TableModel.learn(data.X, data.y)
    rows = pd.DataFrame(MinMaxScaler().fit_transform(data.X), columns=data.X.columns)
    by_hand = WeightedKNeighborsClassifier(5, ReliefF(10)).fit(rows, data.y)
    np.testing.assert_allclose(model.weights.feature_weights, by_hand.weights_.feature_weights, atol=1e-12)
    table = model.feature_weights()
    assert table["weight"].is_monotonic_decreasing
    assert table.index[0] == data.X.columns[by_hand.weights_.feature_weights.argmax()]


@pytest.mark.filterwarnings("ignore:no feature got a positive weight")
@pytest.mark.parametrize("weigher", WEIGHERS)
def test_saved_and_loaded_it_says_the_same(tmp_path, weigher):
    frame, new = mixed_table(), mixed_table(50, seed=2).drop(columns="kind")
    model = TableModel.learn(frame.drop(columns="kind"), frame["kind"], weigher=weigher, votes="distance")
    model.save(tmp_path / "m.wb")
    again = TableModel.load(tmp_path / "m.wb")
    assert again.weights == model.weights
    assert again.settings == model.settings
    assert again.left_out == model.left_out
    assert np.array_equal(model.judge(new).shares, again.judge(new).shares)
    again.save(tmp_path / "n.wb")
    assert (tmp_path / "m.wb").read_bytes() == (tmp_path / "n.wb").read_bytes()


def test_hostile_names_survive_the_file(tmp_path):
    names = ["<script>", "x" * 10_000, "two\nlines", "🦊", "a\0b", "weights.votes"]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 6)), columns=names)
    y = np.where(X["🦊"] > 0, "<b>", "ü")
    TableModel.learn(X, y, target="\x1b[31m").save(tmp_path / "m.wb")
    again = TableModel.load(tmp_path / "m.wb")
    assert again.scaler.names == tuple(names)
    assert again.target == "\x1b[31m"
    assert (again.predict(X) == y).mean() > 0.8


def test_bad_settings():
    data = load_builtin("iris")
    with pytest.raises(InvalidDataError, match="there is no weigher 'relief'. Did you mean 'relieff'"):
        TableModel.learn(data.X, data.y, weigher="relief")
    with pytest.raises(InvalidDataError, match="n_neighbors=500 neighbours are wanted"):
        TableModel.learn(data.X, data.y, n_neighbors=500)
    with pytest.raises(InvalidDataError, match="one label per row"):
        TableModel.learn(data.X, data.y[:-1])
    for options, message in [
        ({"votes": "complement"}, "there is no way to vote 'complement'"),  # no file could hold it
        ({"n_neighbors": "5"}, "n_neighbors must be a whole number of at least 1; got '5'"),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number of at least 1; got 0"),
        ({"random_state": None}, "random_state must be a whole number of at least 0; got None"),
    ]:
        with pytest.raises(InvalidDataError, match=message):
            TableModel.learn(data.X, data.y, **options)
    with pytest.raises(InvalidDataError, match="y is None"):
        TableModel.learn(data.X, None)
    with pytest.raises(InvalidDataError, match="a DataFrame is needed, whose columns have names; got ndarray"):
        TableModel.learn(data.X.to_numpy(), data.y)
    with pytest.raises(InvalidDataError, match="a DataFrame is needed"):
        TableModel.learn(data.X, data.y).predict(data.X.to_numpy())
    assert make_weigher("none") is None


def test_no_file_and_a_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        TableModel.load(tmp_path / "none.wb")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        TableModel.load(tmp_path)


def test_every_cut_and_every_flipped_byte_is_noticed(saved):
    """Wherever it is cut or changed, the file is refused, or (bytes that zip does not use) says the same."""
    whole = saved.read_bytes()
    expected = TableModel.load(saved)
    for length in [0, 1, 10, *range(50, len(whole), 211), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            TableModel.load(saved)
    refused = 0
    for place in range(0, len(whole), 97):
        changed = bytearray(whole)
        changed[place] ^= 0x41
        saved.write_bytes(changed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                again = TableModel.load(saved)
        except (ModelFileError, UserWarning):
            refused += 1
        else:
            assert again.weights == expected.weights
            assert again.rows.equals(expected.rows)
            assert again.settings == expected.settings
    assert refused > 0.6 * len(range(0, len(whole), 97))


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('the file was executed')",)


def test_nothing_is_executed(tmp_path, saved):
    path = tmp_path / "p.wb"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError, match="no readable model file"):
        TableModel.load(path)
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            new.writestr(member, buffer.getvalue() if member == "low.npy" else old.read(member))
    with pytest.raises(ModelFileError, match="damaged model file .*allow_pickle=False"):
        TableModel.load(path)


def test_foreign_archives(tmp_path, saved):
    path = tmp_path / "f.wb"
    Weights(feature_weights=[1.0, 2.0]).save(path)
    with pytest.raises(ModelFileError, match="is an archive, but no model"):
        TableModel.load(path)
    np.savez(path.with_suffix(".npz"), X=np.zeros((2, 2)), y=np.zeros(2))
    with pytest.raises(ModelFileError, match="is an archive, but no model"):
        TableModel.load(path.with_suffix(".npz"))
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("../evil.py", "print('hello')")
    with pytest.raises(ModelFileError, match="is an archive, but no model"):
        TableModel.load(saved)


def changed(saved, **parts):
    """The saved model with parts replaced and the digest made to fit: what only the checks of content can refuse."""
    header, state = read_archive(saved)
    about = json.loads(str(state["about"]))
    for key, value in parts.items():
        if key in state:
            state[key] = value
        elif key in ("version", "format"):
            header[key] = value
        else:
            about[key] = {**about[key], **value} if isinstance(value, dict) else value
    state["about"] = np.array(json.dumps(about))
    header.pop("digest")
    write_archive(saved, header, state)
    assert read_archive(saved)[0]["digest"] == digest_of(state)
    return saved


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"version": 9}, "version 9 of the format and this release reads version 1"),
        ({"format": "something"}, "but no model"),
        ({"codes": np.full(60, 7)}, "labels among the classes"),
        ({"codes": np.zeros(3, dtype=np.int64)}, "one label per row"),
        ({"classes": np.array(["a"])}, "a vector of classes"),
        ({"cells": np.full((60, 1), 99, dtype=np.int32)}, "holds no valid model"),
        ({"numbers": np.full((60, 2), np.inf)}, "finite numbers"),
        ({"numbers": np.zeros((60, 5))}, "rows of numbers"),
        ({"low": np.zeros(3)}, "categories where needed"),
        ({"high": np.full(3, -np.inf)}, "ranges of the numbers"),
        ({"names": ["a", "a", "b"]}, "different names"),
        ({"names": ["a", 5, "b"]}, "name should be of type str"),
        ({"settings": {"n_neighbors": "5"}}, "n_neighbors should be of type int"),
        ({"settings": {"n_neighbors": 61}}, "as many rows as neighbours"),
        ({"settings": {"votes": "loud"}}, "a known way to vote"),
        ({"weights.feature_weights": np.ones(9)}, "holds no valid model"),
        ({"weights.feature_weights": -np.ones(3)}, "must not be negative"),
        ({"target": None}, "target should be of type str"),
        ({"left_out": [["a"]]}, "holds no valid model"),
    ],
)
def test_tampered_with_care(saved, parts, message):
    with pytest.raises(ModelFileError, match=message):
        TableModel.load(changed(saved, **parts))


def test_weights_of_rows_stay_with_their_rows(tmp_path):
    """Weights that belong to rows are checked against the rows' fingerprint when the file is used."""
    frame = mixed_table()
    model = TableModel.learn(frame.drop(columns="kind"), frame["kind"], weigher="mbiw")
    model.save(tmp_path / "m.wb")
    numbers = read_archive(tmp_path / "m.wb")[1]["numbers"]
    with pytest.raises(ModelFileError, match="other rows"):
        TableModel.load(changed(tmp_path / "m.wb", numbers=numbers[::-1].copy()))


def test_a_weigher_that_selects_rows_can_be_put_in(tmp_path):
    frame = mixed_table()
    model = TableModel.learn(frame.drop(columns="kind"), frame["kind"])
    search = EvolutionaryWeigher("IS+FS", population_size=8, max_evaluations=80, random_state=0)
    search.fit(model.rows, frame["kind"])
    chosen = TableModel(
        model.scaler,
        model.rows,
        model.codes,
        model.classes,
        search.weights_,
        "kind",
        {**model.settings, "n_neighbors": 1},
    )
    chosen.save(tmp_path / "m.wb")
    assert TableModel.load(tmp_path / "m.wb").weights == search.weights_
