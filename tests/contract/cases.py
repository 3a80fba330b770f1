"""Every public estimator in some settings, tables that all of them take, and everything that a fit leaves."""

import numpy as np
import pandas as pd
from estimators import public_estimators
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from sklearn.utils import get_tags

import weighbors as wb
from weighbors.tables.targets import accepted_target

QUICK = {"population_size": 8, "max_evaluations": 80, "random_state": 0}
CASES = {
    **public_estimators(),
    "k-NN with a weigher": wb.WeightedKNeighborsClassifier(3, wb.ReliefF(3)),
    "k-NN with SIMBAMBIW, by distance": wb.WeightedKNeighborsClassifier(3, wb.SimbaMBIW(), weights="distance", p=1),
    "k-NN with intervals": wb.WeightedKNeighborsClassifier(3, wb.RepresentativeIntervals(discretize="mdlp")),
    "k-NN with a search": wb.WeightedKNeighborsClassifier(1, wb.EvolutionaryWeigher(**QUICK)),
    "k-NN, all chosen": wb.WeightedKNeighborsClassifier("auto", "auto", weights="auto", p="auto"),
    "k-NN of numbers, all chosen": wb.WeightedKNeighborsRegressor("auto", "auto", p=1),
    "learned votes of the nearest rows": wb.LearnedVotesClassifier(10, None),
    "learned votes of numbers, nearest rows": wb.LearnedVotesRegressor(10, None),
    "IBk, by distance": wb.IBk(3, weights="inverse", ties="index"),
    "LWL, naive Bayes": wb.LWL("naive_bayes", 5, kernel="tricube"),
    "EvolutionaryWeigher, pareto": wb.EvolutionaryWeigher("IS+FS+IW+FW", objective="pareto", **QUICK),
    "EvolutionaryWeigher, per class": wb.EvolutionaryWeigher("FW", per_class=True, **QUICK),
    "EvolutionaryWeigher of numbers": wb.EvolutionaryWeigher("IS+FW", target_type="numeric", **QUICK),
    "NPDR of numbers, permutations": wb.NPDR(5, n_permutations=20, target_type="numeric", random_state=0),
    "NCAWeights of numbers": wb.NCAWeights(0.02, target_type="numeric"),
    "SURF of numbers": wb.SURF(target_type="numeric"),
    "MultiSURF of numbers": wb.MultiSURF(target_type="numeric"),
    "Stratified search": wb.Stratified(wb.EvolutionaryWeigher("IS+FS", **QUICK), 2, random_state=0),
    "DROP3 with a weigher": wb.DROP3(1, wb.ReliefF(3)),
}
SPARSE = [name for name, one in CASES.items() if get_tags(one).input_tags.sparse]
#: What a fit leaves, beside the answers of methods.
ATTRIBUTES = ["feature_weights_", "class_feature_weights_", "instance_weights_", "instance_support_", "support_",
              "sample_indices_", "p_values_", "coefficients_", "feature_importances_", "weights_", "round_",
              "classes_", "intervals_", "thresholds_", "q_values_", "n_neighbors_", "p_"]  # fmt: skip


def make(name):
    """A new, unfitted estimator."""
    return clone(CASES[name])


def needs_numbers(name):
    """Whether an estimator takes a numeric target only, or was told that there is one."""
    model = CASES[name]
    told = model.get_params(deep=False).get("target_type") == "numeric"
    return told or is_regressor(model) or accepted_target(model) == "numeric"


_ROWS, _LABELS = load_wine(return_X_y=True)


def small_table(name, n=60):
    """Rows and a target for one estimator: classes by name, or numbers. Every fifth cell is 0."""
    chosen = np.random.default_rng(0).permutation(len(_ROWS))[:n]
    X = np.round(scale(_ROWS[chosen][:, [0, 1, 5, 6, 9]]), 2)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = 0.0
    if needs_numbers(name):
        return X, X[:, 0] - X[:, 3] + 0.3 * np.random.default_rng(2).normal(size=n)
    return X, np.array(["barolo", "grignolino", "barbera"])[_LABELS[chosen]]


def answers(model, X):
    """Everything that two fits of equal tables have in common."""
    found = {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    for name in ("predict", "predict_proba"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(X)
    if hasattr(model, "kneighbors"):
        found["distance"], found["row"] = model.kneighbors(X)
    if hasattr(model, "transform"):
        found["transform"] = _as_array(model.transform(X))
    assert found
    return found


def _as_array(rows):
    """Numbers, or text where a column holds categories."""
    array = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
    try:
        return array.astype(float)
    except (TypeError, ValueError):
        return array.astype(str)


def assert_same(found, wanted, **close):
    """Two results of `answers` are equal to the bit, or close where that is said."""
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(found[name], value, check_names=False)
        elif isinstance(value, wb.Weights):
            assert close or found[name] == value
        elif close and np.asarray(value).dtype.kind == "f":
            np.testing.assert_allclose(found[name], value, err_msg=name, **close)
        elif not close or name in ("predict", "classes_"):
            np.testing.assert_array_equal(found[name], value, err_msg=name)
