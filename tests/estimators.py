"""One instance of every public estimator, small enough for tests that run them all."""

from sklearn.base import BaseEstimator

import weighbors
from weighbors import evaluation, models, neighbors, weighers


def _search(tasks="IS+FS", **options):
    return weighers.EvolutionaryWeigher(tasks, population_size=8, max_evaluations=80, random_state=0, **options)


#: Where the constructor's defaults will not do: they search long, need a weigher, or refuse numbers that are not whole.
_MADE = {
    "Democratic": lambda: weighers.Democratic(_search(), 2, random_state=0),
    "EvolutionaryWeigher": _search,
    "FeatureSelector": lambda: weighers.FeatureSelector(weighers.ReliefF(5), 0.5),
    "InstanceSampler": lambda: weighers.InstanceSampler(_search("IS")),
    "RepresentativeIntervals": lambda: weighers.RepresentativeIntervals(discretize="mdlp"),
    "Simba": lambda: weighers.Simba(random_state=0),
    "SimbaMBIW": lambda: weighers.SimbaMBIW(random_state=0),
    "GradientWeights": lambda: weighers.GradientWeights(random_state=0),
    "LearnedVotesClassifier": lambda: models.LearnedVotesClassifier(random_state=0),
    "LearnedVotesRegressor": lambda: models.LearnedVotesRegressor(random_state=0),
    "StabilitySelection": lambda: evaluation.StabilitySelection(
        n_pairs=3, n_permutations=2, target_fp=100.0, random_state=0
    ),
    "Stratified": lambda: weighers.Stratified(_search(), random_state=0),
    "WIBK": lambda: models.WIBK(3, discretize="mdlp"),
}


def public_classes():
    """Every public estimator by its name."""
    found = {}
    for package in (neighbors, models, weighers, evaluation):
        for name in package.__all__:
            kind = getattr(package, name)
            if isinstance(kind, type) and issubclass(kind, BaseEstimator):
                found[name] = kind
    assert {name for name in weighbors.__all__ if name not in ("Explanation", "IntervalTable", "Weights")} <= set(found)
    return found


def public_estimators():
    """A new, unfitted instance of each."""
    return {name: _MADE[name]() if name in _MADE else kind() for name, kind in public_classes().items()}
