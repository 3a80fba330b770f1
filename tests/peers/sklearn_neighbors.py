"""scikit-learn's own tests of its neighbours, with our k-NN in the place of its classifier and of its regressor.

The test module comes from the installed scikit-learn. A copy of it is executed in which ``neighbors`` is a copy of
scikit-learn's namespace whose `KNeighborsClassifier` and `KNeighborsRegressor`, or whose `NearestNeighbors`, are the
adapters below; scikit-learn itself is left as it is.
"""

import importlib.util
import inspect
import itertools
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

import numpy as np
import sklearn
import sklearn.neighbors
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.neighbors._base import KNeighborsMixin, RadiusNeighborsMixin
from sklearn.utils.validation import check_is_fitted

from weighbors import WeightedKNeighborsClassifier, WeightedKNeighborsRegressor, WeightedNearestNeighbors

MODULE = "sklearn.neighbors.tests.test_neighbors"
#: Metrics by the p that makes them; any other one is refused.
P_OF_METRIC = {"euclidean": 2, "l2": 2, "manhattan": 1, "cityblock": 1, "l1": 1}
#: Fixtures of scikit-learn's conftest, by the values they take.
FIXTURES = {"global_dtype": [np.float64, np.float32], "global_random_seed": [42]}


def p_of(adapter):
    """The p of our estimator for scikit-learn's metric."""
    if adapter.metric_params is not None:
        raise NotImplementedError("metric_params")
    p = adapter.p if adapter.metric == "minkowski" else P_OF_METRIC.get(adapter.metric)
    if p is None:
        raise NotImplementedError(f"metric={adapter.metric!r}")
    return p


class Adapter(KNeighborsMixin, BaseEstimator):
    """Ours under scikit-learn's parameters; ``algorithm`` and ``leaf_size`` change no answer, so nothing reads them.

    `KNeighborsMixin` is what the tests know such an estimator by; both of its methods are replaced.
    """

    def __init__(
        self,
        n_neighbors=5,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X, y):
        ours = self.our_class(self.n_neighbors, weights=self.weights, p=p_of(self), n_jobs=self.n_jobs)
        self.ours_ = ours.fit(X, y)
        if hasattr(ours, "classes_"):
            self.classes_ = ours.classes_
        return self

    def _fitted(self):
        check_is_fitted(self, "ours_")
        return self.ours_

    def predict(self, X):
        return self._fitted().predict(X)

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        return self._fitted().kneighbors(X, n_neighbors, return_distance)

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        return self._fitted().kneighbors_graph(X, n_neighbors, mode)


class KNeighborsClassifier(ClassifierMixin, Adapter):
    our_class = WeightedKNeighborsClassifier

    def predict_proba(self, X):
        return self._fitted().predict_proba(X)


class KNeighborsRegressor(RegressorMixin, Adapter):
    our_class = WeightedKNeighborsRegressor


class NearestNeighbors(KNeighborsMixin, RadiusNeighborsMixin, BaseEstimator):
    """Our `WeightedNearestNeighbors` under scikit-learn's parameters."""

    def __init__(
        self,
        *,
        n_neighbors=5,
        radius=1.0,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        ours = WeightedNearestNeighbors(self.n_neighbors, radius=self.radius, p=p_of(self), n_jobs=self.n_jobs)
        self.ours_ = ours.fit(X)
        self.n_samples_fit_, self.effective_metric_ = ours.n_samples_fit_, ours.effective_metric_
        return self

    def _fitted(self):
        check_is_fitted(self, "ours_")
        return self.ours_

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        return self._fitted().kneighbors(X, n_neighbors, return_distance)

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        return self._fitted().kneighbors_graph(X, n_neighbors, mode)

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False):
        return self._fitted().radius_neighbors(X, radius, return_distance, sort_results)

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False):
        return self._fitted().radius_neighbors_graph(X, radius, mode, sort_results)


ADAPTERS = {"KNeighborsClassifier": KNeighborsClassifier, "KNeighborsRegressor": KNeighborsRegressor}
SEARCH = {"NearestNeighbors": NearestNeighbors}


class Case(NamedTuple):
    """One test of scikit-learn's with one choice of its arguments."""

    name: str
    function: object
    arguments: dict

    @property
    def told(self):
        """The arguments as text, in the order of their names."""
        return tuple(_told(value) for _, value in sorted(self.arguments.items()))

    @property
    def id(self):
        return f"{self.name}[{'-'.join(self.told)}]" if self.told else self.name


def load_module(adapters=ADAPTERS):
    """The installed test module, with the adapters in it; None where scikit-learn comes without its tests."""
    try:
        spec = importlib.util.find_spec(MODULE)
    except ModuleNotFoundError:
        return None
    if spec is None:
        return None
    replaced = SimpleNamespace(**{**vars(sklearn.neighbors), **adapters})
    module = importlib.util.module_from_spec(spec)
    with mock.patch.object(sklearn, "neighbors", replaced):  # what the module's "from sklearn import neighbors" finds
        spec.loader.exec_module(module)
    return module


def cases_of(module, adapters=ADAPTERS):
    """All cases that concern one of the adapters, in the order of the module."""
    found = []
    for name, function in vars(module).items():
        if name.startswith("test_") and inspect.isfunction(function):
            found += [case for case in _expanded(name, function) if _concerns(case, adapters)]
    return found


def _expanded(name, function):
    """Every choice of the arguments that marks and fixtures give a test."""
    axes = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names = (
                [part.strip() for part in mark.args[0].split(",")] if isinstance(mark.args[0], str) else mark.args[0]
            )
            values = [one.values if hasattr(one, "values") and hasattr(one, "marks") else one for one in mark.args[1]]
            axes.append([dict(zip(names, one if len(names) > 1 else [one], strict=True)) for one in values])
    for fixture, values in FIXTURES.items():
        if fixture in inspect.signature(function).parameters:
            axes.append([{fixture: value} for value in values])
    for parts in itertools.product(*axes):
        yield Case(name, function, {key: value for part in parts for key, value in part.items()})


def _told(value):
    if isinstance(value, np.ndarray):
        return "array"
    return getattr(value, "__name__", None) or str(value)


def _is_ours(value, adapters):
    return value in adapters.values() if inspect.isclass(value) else isinstance(value, tuple(adapters.values()))


def _concerns(case, adapters):
    """Whether a case runs one of ours: as an argument, or by name in the body of the test."""
    kinds = [value for value in case.arguments.values() if inspect.isclass(value) or isinstance(value, BaseEstimator)]
    kinds = [kind for kind in kinds if getattr(kind, "__module__", "").startswith(("sklearn.neighbors", __name__))]
    if kinds:
        return any(_is_ours(kind, adapters) for kind in kinds)
    code = inspect.unwrap(case.function).__code__
    return any(_mentions(code, name) for name in adapters)


def _mentions(code, name):
    return name in code.co_names or any(_mentions(c, name) for c in code.co_consts if inspect.iscode(c))
