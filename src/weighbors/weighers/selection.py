"""Selection of features by their weights, with or without regard to features that stand in for each other."""

from __future__ import annotations

import numpy as np

from .._typing import BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..exceptions import FewGroupsWarning, InvalidDataError
from .redundancy.groups import FeatureGroups

__all__ = ["number_to_select", "select_features"]


def number_to_select(wanted: float | None, n_features: int) -> int | None:
    """Return how many features are to be selected. ``wanted`` is a number, a share below 1, or None for all.

    Raise InvalidDataError if there are fewer features.
    """
    if wanted is None:
        return None
    number = max(1, round(wanted * n_features)) if wanted < 1 else int(wanted)
    if number > n_features:
        raise InvalidDataError(f"n_features_to_select={number} is more than the {n_features} features there are")
    return number


def select_features(
    weights: FloatArray,
    *,
    number: int | None = None,
    threshold: float | None = None,
    groups: FeatureGroups | None = None,
    whole_groups: bool = False,
) -> BoolArray:
    """Return a mask of the features that are selected by their weights.

    Parameters
    ----------
    weights : ndarray of shape (n_features,)
    number : int or None
        How many features, or groups of features, are selected. None means all.
    threshold : float or None
        Only features (of groups: best features) of a larger weight are selected.
    groups : FeatureGroups or None
        Features that stand in for each other. Only the best feature of each group is a candidate.
    whole_groups : bool
        Whether a candidate brings all features of its group with it.
    """
    candidates = np.arange(len(weights)) if groups is None else np.sort(groups.best_members(weights))
    if number is not None:
        if groups is not None and number > len(candidates):
            _warn_of_few_groups(number, len(candidates), groups.threshold)
        # Of equal weights the lower column is kept.
        candidates = candidates[np.argsort(-weights[candidates], kind="stable")[:number]]
    if threshold is not None:
        candidates = _above(candidates, weights, threshold)
    keep = np.zeros(len(weights), dtype=bool)
    keep[candidates] = True
    return keep if groups is None or not whole_groups else np.isin(groups.groups, groups.groups[candidates])


def _above(candidates: IndexArray, weights: FloatArray, threshold: float) -> IndexArray:
    """Return the candidates whose weight is above the threshold. Raise InvalidDataError if there is none."""
    kept = candidates[weights[candidates] > threshold]
    if not len(kept):
        raise InvalidDataError(
            f"no feature has a weight above threshold={threshold} (the largest is {weights.max():.4g})"
        )
    return kept


def _warn_of_few_groups(number: int, n_groups: int, threshold: float) -> None:
    """Warn that all groups are selected, since there are fewer than were asked for."""
    warn(
        f"n_features_to_select={number} is more than the {n_groups} groups of features that stand in for each other; "
        f"one feature of each, or each group, is selected. Raise redundancy_threshold (it was {threshold:.4g}) for "
        "more groups",
        FewGroupsWarning,
    )
