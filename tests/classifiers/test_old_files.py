"""Model files of version 0.1: they answer as before, and one that is incomplete or changed is a clear error."""

import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import pytest
from old_models import OLD_WEIGHERS, OldModel
from tables import mixed_table

from weighbors import TableClassifier, TableRegressor
from weighbors._archive import digest_of, read_archive, write_archive
from weighbors.datasets import load_builtin
from weighbors.exceptions import ModelFileError


def old_model(weigher="relieff", **options):
    frame = mixed_table()
    return OldModel(frame.drop(columns="kind"), frame["kind"], weigher, **options)


@pytest.fixture
def saved(tmp_path):
    old_model().save(tmp_path / "m.wb")
    return tmp_path / "m.wb"


@pytest.mark.parametrize("weigher", OLD_WEIGHERS)
def test_they_answer_as_before(tmp_path, weigher):
    frame, new = mixed_table(), mixed_table(50, seed=2)
    old = old_model(weigher, votes="distance")
    old.save(tmp_path / "m.wb")
    model = TableClassifier.load(tmp_path / "m.wb")
    np.testing.assert_array_equal(model.predict_proba(new), old.answer(new))
    np.testing.assert_array_equal(model.predict_proba(new[:1]), old.answer(new)[:1])
    assert model.left_out_ == old.left_out
    assert model.weights_ == old.knn.weights_
    units = model._training_table().columns.select_dtypes("number")
    np.testing.assert_allclose(units, frame[units.columns], rtol=1e-12)
    model.save(tmp_path / "n.wb")  # in the present format
    np.testing.assert_array_equal(TableClassifier.load(tmp_path / "n.wb").predict_proba(new), old.answer(new))


def test_numeric_targets(tmp_path):
    data = load_builtin("wine")
    X, y = data.X.drop(columns="alcohol"), data.X["alcohol"]
    old = OldModel(X[::2], y[::2])
    old.save(tmp_path / "m.wb")
    np.testing.assert_array_equal(TableRegressor.load(tmp_path / "m.wb").predict(X), old.answer(X))
    with pytest.raises(ModelFileError, match="is a model of a number: load it with TableRegressor.load"):
        TableClassifier.load(tmp_path / "m.wb")
    old_model().save(tmp_path / "n.wb")
    with pytest.raises(ModelFileError, match="is a model of classes: load it with TableClassifier.load"):
        TableRegressor.load(tmp_path / "n.wb")


@pytest.mark.parametrize("values", [np.full(60, np.nan), np.zeros(59), np.zeros(60, dtype=np.float32)])
def test_numeric_targets_are_checked(tmp_path, values):
    frame = mixed_table()
    model = OldModel(frame[["colour", "noise"]], frame["size"].fillna(0.0))
    model.y = values
    model.save(tmp_path / "m.wb")
    with pytest.raises(ModelFileError, match="holds no valid model"):
        TableRegressor.load(tmp_path / "m.wb")


def test_every_cut_and_every_flipped_byte_is_noticed(saved):
    """Wherever it is cut or changed, the file is refused, or (bytes that zip does not use) says the same."""
    whole, new = saved.read_bytes(), mixed_table(20, seed=2)
    expected = TableClassifier.load(saved).predict_proba(new)
    for length in [0, 1, 10, *range(50, len(whole), 211), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            TableClassifier.load(saved)
    refused = 0
    for place in range(0, len(whole), 97):
        changed = bytearray(whole)
        changed[place] ^= 0x41
        saved.write_bytes(changed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                again = TableClassifier.load(saved)
        except (ModelFileError, UserWarning):
            refused += 1
        else:
            np.testing.assert_array_equal(again.predict_proba(new), expected)
    assert refused > 0.6 * len(range(0, len(whole), 97))


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('the file was executed')",)


def test_nothing_is_executed(tmp_path, saved):
    path = tmp_path / "p.wb"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError, match="no readable model file"):
        TableClassifier.load(path)
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            new.writestr(member, buffer.getvalue() if member == "low.npy" else old.read(member))
    with pytest.raises(ModelFileError, match="damaged model file .*allow_pickle=False"):
        TableClassifier.load(path)


def test_foreign_members(saved):
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("../evil.py", "print('hello')")
    with pytest.raises(ModelFileError, match="is an archive, but no model"):
        TableClassifier.load(saved)


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
        TableClassifier.load(changed(saved, **parts))


def test_weights_of_rows_stay_with_their_rows(tmp_path):
    """Weights that belong to rows are checked against the rows' fingerprint when the file is used."""
    old_model("mbiw").save(tmp_path / "m.wb")
    numbers = read_archive(tmp_path / "m.wb")[1]["numbers"]
    with pytest.raises(ModelFileError, match="other rows"):
        TableClassifier.load(changed(tmp_path / "m.wb", numbers=numbers[::-1].copy()))
