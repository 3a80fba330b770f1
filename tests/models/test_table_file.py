"""Files of the estimators of tables: they answer as before, and every damaged or foreign file is a clear error."""

import io
import json
import os
import pickle
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from estimators import public_estimators
from sklearn.base import is_classifier, is_regressor
from sklearn.naive_bayes import GaussianNB
from support.tables import mixed_table

from weighbors import (
    EvolutionaryWeigher,
    LearnedVotesClassifier,
    SimbaMBIW,
    Stratified,
    TableClassifier,
    TableRegressor,
    WeightedKNeighborsClassifier,
    Weights,
)
from weighbors._io.archive import read_archive, write_archive
from weighbors._io.state import read_state, write_state
from weighbors.exceptions import InvalidDataError, ModelFileError

SEARCH = EvolutionaryWeigher("IS+FS+IW+FW", population_size=8, max_evaluations=80, random_state=0)
ESTIMATORS = {
    **{
        name: one
        for name, one in public_estimators().items()
        if (is_classifier(one) or is_regressor(one)) and not name.startswith("Table")
    },
    "nearest rows": LearnedVotesClassifier(10, None),
    "all chosen": WeightedKNeighborsClassifier("auto", "auto", weights="auto", p="auto"),
    "search": WeightedKNeighborsClassifier(1, SEARCH),
    "strata": WeightedKNeighborsClassifier(1, Stratified(SimbaMBIW(), 2)),
    "scan": WeightedKNeighborsClassifier(3, backend="scan"),
}


def fitted(estimator):
    frame = mixed_table()
    X, y = frame.drop(columns="kind"), frame["kind"]
    if is_regressor(estimator):
        return TableRegressor(estimator).fit(X, np.unique(y, return_inverse=True)[1].astype(float)), X
    return TableClassifier(estimator).fit(X, y), X


@pytest.fixture
def saved(tmp_path):
    fitted(WeightedKNeighborsClassifier(3))[0].save(tmp_path / "m.wb")
    return tmp_path / "m.wb"


def test_every_classifier_and_regressor_is_here():
    assert len(ESTIMATORS) == 9 + 5


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.WeighborsWarning")
def test_loaded_models_answer_as_before(tmp_path, name):
    model, X = fitted(ESTIMATORS[name])
    model.save(tmp_path / "m.wb")
    again = type(model).load(tmp_path / "m.wb")
    new = mixed_table(50, seed=2)
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert again.left_out_ == model.left_out_
    assert again._table.equals(model._table)
    if hasattr(model.estimator_, "explain"):
        assert again.explain(X[:2]).equals(model.explain(X[:2]))
    again.save(tmp_path / "n.wb")
    assert (tmp_path / "m.wb").read_bytes() == (tmp_path / "n.wb").read_bytes()
    assert repr(again) == repr(model)


def test_kinds_are_not_mixed_up(tmp_path, saved):
    with pytest.raises(ModelFileError, match="is a TableClassifier, not a TableRegressor: load it with"):
        TableRegressor.load(saved)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        TableClassifier.load(tmp_path / "none.wb")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        TableClassifier.load(tmp_path)
    Weights(feature_weights=[1.0, 2.0]).save(tmp_path / "w.npz")
    with pytest.raises(ModelFileError, match="is an archive, but no model of a table"):
        TableClassifier.load(tmp_path / "w.npz")


@pytest.mark.skipif(os.name == "nt", reason="devices, pipes and links of Unix")
def test_save_follows_links_and_refuses_what_is_no_file(tmp_path):
    model, X = fitted(WeightedKNeighborsClassifier(3))
    (tmp_path / "kept").mkdir()
    (tmp_path / "link.wb").symlink_to(tmp_path / "kept" / "m.wb")
    model.save(tmp_path / "link.wb")  # the link points to nothing yet
    model.save(tmp_path / "link.wb")
    assert (tmp_path / "link.wb").is_symlink()
    again = TableClassifier.load(tmp_path / "kept" / "m.wb")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    os.mkfifo(tmp_path / "pipe.wb")
    for place in (tmp_path / "pipe.wb", "/dev/null"):
        before = os.stat(place)
        with pytest.raises(FileExistsError, match="this is a device or a pipe; name a regular file"):
            model.save(place)
        assert os.stat(place).st_mode == before.st_mode


@pytest.mark.parametrize("index", [False, True])
def test_names_of_rows_can_be_left_out_of_the_file(tmp_path, index):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    names = [f"SSN-{i:06d}" for i in range(30)]
    X = X.set_index(pd.Index(names)) if index else X.assign(patient=names)
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, rng.integers(0, 2, 30))
    for kept in (True, False):
        model.save(tmp_path / "m.wb", row_names=kept)
        _, arrays = read_archive(tmp_path / "m.wb")
        assert any("SSN-000012" in str(array.tolist()) for array in arrays.values()) == kept
    again = TableClassifier.load(tmp_path / "m.wb")
    assert again.row_names_ is None
    assert model.row_names_.tolist() == names
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.name_rows(X).tolist() == names  # those of a new table are known


def test_what_cannot_be_saved(tmp_path):
    frame = mixed_table()
    X, y = frame.drop(columns="kind"), frame["kind"]
    votes = TableClassifier(WeightedKNeighborsClassifier(3, weights=lambda d: 1 / (1 + d))).fit(X, y)
    with pytest.raises(InvalidDataError, match=r"model.estimator.weights is a builtins.function, .* Use skops.io.dump"):
        votes.save(tmp_path / "m.wb")
    numbers = X.select_dtypes("number").fillna(0)
    with pytest.raises(InvalidDataError, match=r"sklearn.naive_bayes.GaussianNB"):
        TableClassifier(GaussianNB(), drop=[]).fit(numbers, y).save(tmp_path / "m.wb")
    with pytest.raises(ValueError, match="not fitted"):
        TableClassifier().save(tmp_path / "m.wb")
    assert not (tmp_path / "m.wb").exists()


def test_every_cut_and_every_flipped_byte_is_noticed(saved):
    """Wherever it is cut or changed, the file is refused, or (bytes that zip does not use) says the same."""
    whole = saved.read_bytes()
    new = mixed_table(20, seed=2)
    expected = TableClassifier.load(saved).predict_proba(new)
    for length in [0, 1, 10, *range(50, len(whole), 397), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            TableClassifier.load(saved)
    places, refused = range(0, len(whole), 197), 0
    for place in places:
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
    assert refused > 0.5 * len(places)


def tamper(saved, edit, **header):
    """Change the state of a file and make its digest fit: only the checks of the content can refuse it."""
    old, state = read_archive(saved)
    old.pop("digest")
    tree = json.loads(str(state["state"]))
    edit(tree, state)
    state["state"] = np.array(json.dumps(tree))
    write_archive(saved, {**old, **header}, state)
    return saved


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda tree, state: tree.update({"class": "os:system"}), "'os:system' is no class that a model file may hold"),
        (lambda tree, state: tree.update({"class": "weighbors.cli:main"}), "no class that a model file may hold"),
        (lambda tree, state: tree.update({"class": "weighbors.models:none"}), "no class that a model file may"),
        (lambda tree, state: tree.update({"class": "weighbors.tables.cleaning:re"}), "no class that a model file"),
        (lambda tree, state: tree["state"].pop("_reader"), "holds no valid model"),
        (lambda tree, state: tree["state"].update(estimator_=None), "holds no valid model"),
        (lambda tree, state: tree["state"].update(estimator_={"array": "a999"}), "holds no valid model"),
        (lambda tree, state: tree["state"].update(estimator_={"evil": "a1"}), "holds no valid model"),
        (lambda tree, state: tree["state"].update(estimator_={}), "holds no valid model .{} is no kind of value"),
        (lambda tree, state: tree["state"].update(estimator_=[1, 2]), "holds no valid model .*is no kind of value"),
        (lambda tree, state: state.pop("probe"), "holds no valid model"),
        (
            lambda tree, state: state.update(probe=state["probe"][:, ::-1]),
            "does not answer as it did when it was saved",
        ),
        (lambda tree, state: state.update(probe=state["probe"][:2]), "does not answer as it did when it was saved"),
    ],
)
def test_tampered_with_care(saved, edit, message):
    with pytest.raises(ModelFileError, match=message):
        TableClassifier.load(tamper(saved, edit))


def test_other_versions_are_refused(saved):
    with pytest.raises(ModelFileError, match="has version 9 of the format and this release reads version 1"):
        TableClassifier.load(tamper(saved, lambda tree, state: None, version=9))


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
            new.writestr(member, buffer.getvalue() if member == "a0.npy" else old.read(member))
    with pytest.raises(ModelFileError, match="no readable model file .*allow_pickle=False"):
        TableClassifier.load(path)


def test_hostile_names_survive_the_file(tmp_path):
    names = ["<script>", "x" * 10_000, "two\nlines", "🦊", "a\0b", "a0"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 6)), columns=names)
    y = np.where(X["🦊"] > 0, "<b>", "ü")
    TableClassifier(WeightedKNeighborsClassifier(1)).fit(X, y).save(tmp_path / "m.wb")
    again = TableClassifier.load(tmp_path / "m.wb")
    assert again._reader.encoder.names == tuple(names)
    assert (again.predict(X) == y).all()


def test_states_keep_what_is_shared_and_what_is_read_only():
    shared = np.arange(3)
    frozen = np.ones(2)
    frozen.setflags(write=False)
    value = {"a": shared, "b": [shared, (1.5, None, True)], "c": frozen, 3: np.array(["x", None], dtype=object)}
    text, arrays = write_state(value)
    assert len(arrays) == 2
    again = read_state(text, arrays)
    assert again["a"] is again["b"][0]
    assert again["b"][1] == (1.5, None, True)
    assert not again["c"].flags.writeable
    assert again[3].tolist() == ["x", None]
    with pytest.raises(InvalidDataError, match=r"model\['a'\]\[1\] is a builtins.set"):
        write_state({"a": [1, {2}]})
