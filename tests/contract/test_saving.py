"""Fitted estimators are saved and loaded, by pickle, joblib and skops, and answer as before."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_iris

from contract.cases import CASES, answers, assert_same, make, needs_numbers
from weighbors import EvolutionaryWeigher, ReliefF, WeightedKNeighborsClassifier


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(model):
    saved = skops.io.dumps(model)
    return skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))


WAYS = {"pickle": lambda model: pickle.loads(pickle.dumps(model)), "joblib": through_joblib, "skops": through_skops}


def tables():
    """Rows as an array, as a frame of numbers, and as a frame with categories, missing cells and ordered categories."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    every = np.arange(len(X))
    mixed = X.assign(
        colour=pd.Categorical(np.array(["red", "green", "blue"], dtype=object)[every % 3]),
        size=pd.Categorical(np.array(["s", "m", "l"])[every % 3], categories=["s", "m", "l"], ordered=True),
        note=np.where(every % 7 == 0, None, "text"),
        bin=pd.cut(X.iloc[:, 0], 3),
    )
    mixed.iloc[3, 0] = np.nan
    return {"array": (X.to_numpy()[::3], y[::3]), "numbers": (X[::3], y[::3]), "mixed": (mixed[::3], y[::3])}


def target_of(name, y):
    """Labels, or numbers in their place where those are needed."""
    return np.unique(y, return_inverse=True)[1].astype(float) if needs_numbers(name) else y


def recorded(model, X):
    """What `answers` says, and the frames that a fit has recorded."""
    frames = {name: getattr(model, name) for name in ("history_", "pareto_front_", "strata_") if hasattr(model, name)}
    return answers(model, X) | frames


def held(value, path="", seen=None):
    """Every object that a fitted estimator holds, with the way to it."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    yield path, value
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    else:
        parts = getattr(value, "__dict__", {}).items() if type(value).__module__.startswith("weighbors") else ()
    for name, part in parts:
        yield from held(part, f"{path}.{name}", seen)


@pytest.mark.parametrize("kind", ["array", "numbers", "mixed"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.WeighborsWarning")
def test_loaded_estimators_answer_as_before(name, kind):
    X, y = tables()[kind]
    model = make(name).fit(X, target_of(name, y))
    expected = recorded(model, X)
    for load in WAYS.values():
        assert_same(recorded(load(model), X), expected)


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.WeighborsWarning")
def test_fitted_estimators_hold_no_objects_of_pandas(name):
    X, y = tables()["mixed"]
    model = make(name).fit(X, target_of(name, y))
    found = {path: type(value) for path, value in held(model) if type(value).__module__.startswith("pandas")}
    assert not found


def test_weights_that_were_loaded_are_read_only():
    X, y = tables()["array"]
    loaded = through_skops(WeightedKNeighborsClassifier(3, ReliefF().fit(X, y).weights_).fit(X, y))
    with pytest.raises(ValueError, match="read-only"):
        loaded.weights_.feature_weights[0] = 1.0


def test_a_frame_that_was_read_can_be_changed_without_harm():
    X, y = tables()["array"]
    search = EvolutionaryWeigher(population_size=8, max_evaluations=80, random_state=0).fit(X, y)
    first = search.history_
    first.iloc[0, 0] = -1
    assert search.history_.iloc[0, 0] != -1
    assert not hasattr(search, "pareto_front_")
    assert not hasattr(EvolutionaryWeigher(), "history_")
