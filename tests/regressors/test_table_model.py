"""Models of numeric targets and their files: what is stored, what is refused, and what the other kind says."""

import numpy as np
import pandas as pd
import pytest
from tables import mixed_table

from weighbors import RReliefF, WeightedKNeighborsRegressor
from weighbors._archive import read_archive
from weighbors.classifiers import TableModel, model_file
from weighbors.exceptions import InvalidDataError, ModelFileError
from weighbors.regressors import NumericTableModel, load_table_model


@pytest.fixture(scope="module")
def frame():
    frame = mixed_table()
    rng = np.random.default_rng(0)
    return frame.assign(price=frame["size"].fillna(0) * 10 + 5 * (frame["colour"] == "red") + rng.normal(size=60))


@pytest.fixture(scope="module")
def model(frame):
    return NumericTableModel.learn(frame.drop(columns="price"), frame["price"], drop=["kind"])


def test_the_weights_are_those_of_the_scaled_rows(model, frame):
    by_hand = WeightedKNeighborsRegressor(5, RReliefF(10)).fit(model.rows, frame["price"])
    np.testing.assert_allclose(model.weights.feature_weights, by_hand.weights_.feature_weights, atol=1e-12)
    np.testing.assert_allclose(model.predict(frame), by_hand.predict(model.rows))
    assert model.feature_weights()["weight"].is_monotonic_decreasing
    assert "targets" in repr(model)


def test_saved_and_loaded_it_says_the_same(model, frame, tmp_path):
    path = tmp_path / "m.wb"
    model.save(path)
    for loaded in (NumericTableModel.load(path), load_table_model(path)):
        np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
        assert (loaded.target, loaded.settings, loaded.left_out) == (model.target, model.settings, model.left_out)


def test_files_have_versions(model, frame, tmp_path):
    """Files of classes are those of earlier releases; those of numbers have a version that these do not read."""
    labels = TableModel.learn(frame[["size", "noise"]], frame["kind"])
    model.save(tmp_path / "numbers.wb")
    labels.save(tmp_path / "labels.wb")
    assert read_archive(tmp_path / "labels.wb")[0]["version"] == 1
    assert read_archive(tmp_path / "numbers.wb")[0]["version"] == 2
    assert isinstance(load_table_model(tmp_path / "labels.wb"), TableModel)
    with pytest.raises(ModelFileError, match="is a model of a numeric target"):
        TableModel.load(tmp_path / "numbers.wb")
    with pytest.raises(ModelFileError, match="is a model of classes"):
        NumericTableModel.load(tmp_path / "labels.wb")


@pytest.mark.parametrize("values", [np.full(60, np.nan), np.zeros(59), np.zeros(60, dtype=np.float32)])
def test_files_made_by_hand_are_checked(model, tmp_path, monkeypatch, values):
    monkeypatch.setattr(NumericTableModel, "_targets", lambda self: {"values": values})
    model.save(tmp_path / "m.wb")
    with pytest.raises(ModelFileError, match="holds no valid model"):
        model_file.read(tmp_path / "m.wb")


def test_scores_by_hand(model):
    table = pd.DataFrame({"price": ["1", "3", "none", None]})
    found = model.score_table(table, np.array([2.0, 5.0, 9.0, 9.0]))
    assert found == {"r2": 1 - 5 / 2, "rmse": np.sqrt(2.5), "mae": 1.5, "rows": 2}
    assert model.score_table(table[["price"]].iloc[:1], np.array([2.0]))["r2"] is None
    assert model.score_table(table.iloc[2:], np.zeros(2)) is None
    assert model.score_table(pd.DataFrame({"other": [1]}), np.zeros(1)) is None


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([np.inf] * 60, {}, "infinity"),
        ([1.5] * 60, {}, "constant"),
        (["a"] * 60, {}, "must hold numbers"),
        (np.arange(59) / 2, {}, "59 targets for 60 rows"),
        (np.arange(60) / 2, {"weigher": "simba"}, "needs classes, and the target is numeric: take relieff, multisurf"),
        (np.arange(60) / 2, {"weigher": "relief"}, "weigher"),
        (np.arange(60) / 2, {"n_neighbors": 61}, "61 neighbours are to vote, and there are 60 rows"),
        (None, {}, "y is None"),
    ],
)
def test_what_cannot_be_learned(frame, y, options, message):
    with pytest.raises(InvalidDataError, match=message):
        NumericTableModel.learn(frame[["size", "noise"]], y, **options)
