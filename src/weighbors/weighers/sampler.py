"""A sampler for imbalanced-learn's pipelines around any weigher that selects instances."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, _fit_context, clone
from sklearn.utils import InputTags, Tags, _safe_indexing, column_or_1d, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length

from .._typing import AnyArray
from ..exceptions import InvalidDataError
from ..tables.targets import expect_target

#: Message of the refusal of numeric targets, by ``as_sampler`` and by ``fit`` of the sampler.
NUMERIC_TARGET = (
    "samplers of imbalanced-learn resample classes, and the target is numeric. Fit the weigher itself and use "
    "reduce(X, y), which returns the rows and columns that were kept, or give the weigher to a regressor"
)


# imbalanced-learn asks for these tags beside scikit-learn's. It is no dependency, so its own classes of
# tags cannot be used here.
@dataclass(slots=True)
class _SamplerTags:
    sample_indices: bool = True  # fit leaves `sample_indices_`


@dataclass(slots=True)
class _SamplerInputTags(InputTags):
    dataframe: bool = True


@dataclass(slots=True)
class _TagsOfSampler(Tags):
    sampler_tags: _SamplerTags = field(default_factory=_SamplerTags)


class InstanceSampler(OneToOneFeatureMixin, BaseEstimator):
    """``fit_resample`` keeps the rows a weigher selects; columns stay as they are.

    Made by ``as_sampler`` of `EvolutionaryWeigher`, `Stratified` and `Democratic`. It needs no other
    package; pipelines of imbalanced-learn take it as they take their own samplers.

    Parameters
    ----------
    weigher : estimator
        One whose fit leaves ``sample_indices_``.

    Attributes
    ----------
    weigher_ : estimator
        The fitted clone.
    sample_indices_ : ndarray
        Rows that were kept.
    sampling_strategy_ : dict
        Class to the number of its rows that were kept.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X is a DataFrame.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import EvolutionaryWeigher
    >>> X, y = load_wine(return_X_y=True)
    >>> search = EvolutionaryWeigher("IS", population_size=20, max_evaluations=400, random_state=0)
    >>> sampler = search.as_sampler()
    >>> X_small, y_small = sampler.fit_resample(X, y)
    >>> len(X_small) == len(y_small) == len(sampler.sample_indices_) < 100
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {"weigher": [HasMethods(["fit", "get_params"])]}  # noqa: RUF012
    _estimator_type = "sampler"
    _sampling_type = "bypass"  # the weigher decides how many rows of a class stay; there is no sampling_strategy to set

    def __init__(self, weigher: Any) -> None:
        self.weigher = weigher

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> InstanceSampler:
        """Fit a clone of the weigher, and keep which rows it selects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        labels = _class_labels(y)
        check_consistent_length(X, labels)
        self.weigher_ = expect_target(clone(self.weigher), numeric=False).fit(X, labels)
        self.sample_indices_ = self.weigher_.sample_indices_
        kept = Counter(np.asarray(labels)[self.sample_indices_].tolist())
        self.classes_ = self.weigher_.classes_
        self.sampling_strategy_ = {label: kept[label] for label in self.classes_.tolist()}
        self.n_features_in_ = self.weigher_.n_features_in_
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if hasattr(self.weigher_, "feature_names_in_"):
            self.feature_names_in_ = self.weigher_.feature_names_in_
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Fit, and return the rows and labels that were kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Or one column, or one column of 0 and 1 per class.

        Returns
        -------
        X_resampled, y_resampled
            In the containers they came in.
        """
        self.fit(X, y)
        return _safe_indexing(X, self.sample_indices_), _safe_indexing(y, self.sample_indices_)

    def __sklearn_tags__(self) -> Any:
        own = super().__sklearn_tags__()
        tags = _TagsOfSampler(**{one.name: getattr(own, one.name) for one in fields(Tags)})
        tags.estimator_type = "sampler"
        tags.target_tags.required = True
        # The sampler accepts the tables that its weigher accepts.
        given = get_tags(self.weigher).input_tags
        tags.input_tags = _SamplerInputTags(**{one.name: getattr(given, one.name) for one in fields(InputTags)})
        return tags


def _class_labels(y: Any) -> AnyArray:
    """Return one label per row. ``y`` is a vector, one column, or one column of 0 and 1 per class."""
    if type_of_target(y) == "continuous":
        raise InvalidDataError(f"Unknown label type: continuous. {NUMERIC_TARGET}")
    check_classification_targets(y)
    values = np.asarray(y)
    if values.ndim != 2 or values.shape[1] == 1:
        return np.asarray(column_or_1d(y))
    if not (np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all()):
        raise InvalidDataError(
            "Multilabel and multioutput targets are not supported. One label per row is needed, or one column per "
            f"class with a single 1 in each row; got shape {values.shape}"
        )
    # The position of the only 1 is the class.
    return np.asarray(values.argmax(axis=1))
