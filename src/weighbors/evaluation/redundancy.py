"""Which features of a table stand in for each other? Groups of similar features, with a representative each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from .._checks import whole_number
from .._display.results import Result
from .._random import seed_sequence
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables.frames import as_pandas
from ..tables.validation import TableCoder, TakesTables
from ..weighers.redundancy import FeatureGroups, FeatureSimilarity, find_groups
from ..weighers.redundancy.groups import check_threshold

#: A printed group names at most this many members.
_SHOWN = 6
#: Of a larger group, each member is compared with this many others, evenly spaced, to find the representative.
_COMPARED = 2000


@dataclass(frozen=True, eq=False, repr=False)
class RedundancyGroups(Result):
    """Groups of features that stand in for each other.

    Attributes
    ----------
    groups : ndarray of shape (n_features,)
        Number of the group of each feature. A feature that no other one stands in for has a group of its own.
    representatives : ndarray of shape (n_groups,)
        The feature that represents each group: the one with the largest score, or else the one that is most similar to
        the others on average.
    similarity : ndarray of shape (n_features,)
        Similarity of each feature with the representative of its group.
    threshold : float
        All features of a group have at least this similarity with each other.
    by_chance : float or None
        The largest similarity of any two features in tables with permuted columns. It is None if it was not computed,
        because ``threshold`` was given, or because it cannot reach the least similarity asked for.
    feature_names : tuple of str
    """

    groups: IndexArray
    representatives: IndexArray
    similarity: FloatArray
    threshold: float
    by_chance: float | None
    feature_names: tuple[str, ...]

    @property
    def n_groups(self) -> int:
        """Number of groups, those of one feature included."""
        return len(self.representatives)

    def stand_ins(self, feature: Any) -> list[str]:
        """Return the names of the features that stand in for a feature, which is given by its name or number."""
        names = np.asarray(self.feature_names, dtype=object)
        if isinstance(feature, str):
            if feature not in self.feature_names:
                raise InvalidDataError(f"there is no feature {feature!r}; the first ones are {list(names[:5])}")
            feature = self.feature_names.index(feature)
        number = whole_number(feature, "feature", least=0)
        if number >= len(names):
            raise InvalidDataError(f"feature must be a name, or a number below {len(names)}; got {feature!r}")
        same = self.groups == self.groups[number]
        same[number] = False
        return [str(name) for name in names[same]]

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per feature, in which the features of a group follow each other.

        The columns are group, size (of the group), representative, and similarity (with the representative). Large
        groups come first, and the representative is the first feature of its group.
        """
        names = np.asarray(self.feature_names, dtype=object)
        size = np.bincount(self.groups)[self.groups]
        frame = pd.DataFrame(
            {
                "group": self.groups,
                "size": size,
                "representative": names[self.representatives[self.groups]],
                "similarity": self.similarity,
            },
            index=pd.Index(names, name="feature"),
        )
        # The representative is first even if others have a similarity of 1 with it.
        other = self.representatives[self.groups] != np.arange(len(names))
        return frame.iloc[np.lexsort((-self.similarity, other, self.groups, -size))]

    def _lines(self) -> list[str]:
        sizes = np.bincount(self.groups)
        large = np.argsort(-sizes, kind="stable")[:8]
        chance = "" if self.by_chance is None else f"; by chance at most {self.by_chance:.3f}"
        head = f"{len(self.groups)} features in {self.n_groups} groups, {int((sizes > 1).sum())} of them with stand-ins"
        lines = [f"{head} (similarity of at least {self.threshold:.4g}{chance})"]
        for group in large[sizes[large] > 1].tolist():
            name = self.feature_names[self.representatives[group]]
            others = self.stand_ins(name)
            more = f", ... {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
            lines.append(f"  {name}: {', '.join(others[:_SHOWN])}{more}")
        return lines


def redundancy_groups(
    X: Any,
    scores: Any = None,
    *,
    threshold: float | str = "auto",
    correlation: str = "spearman",
    n_permutations: int = 19,
    categorical_features: Any = "from_dtype",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RedundancyGroups:
    """Find the features that stand in for each other, and a representative of each group of them.

    Two numbers are as similar as the absolute value of their correlation. Two columns of categories are as similar as
    the root of their mutual information, corrected for chance and divided by the larger entropy. A number and a
    category are as similar as the correlation ratio, corrected for chance. Groups are made by complete linkage: all
    features of a group are similar to each other, not only along a chain. The target is not used.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Missing values are allowed. Numbers are compared in rows in which both are known.
    scores : array-like of shape (n_features,), optional
        Relevance of each feature, such as the weights of a weigher. The feature with the largest score represents its
        group.
    threshold : float, "auto" or "null", default="auto"
        The smallest similarity of two features of a group. "null": more than the similarity of any two features in
        ``n_permutations`` tables whose columns were permuted. "auto": the same, and at least 0.7, so that features
        share about half of their variance. With many rows, small similarities are not due to chance either, but
        features with small similarities do not stand in for each other.
    correlation : {"spearman", "pearson"}, default="spearman"
        "spearman" compares ranks, so that single extreme values do not matter, and log-transformed features are the
        same as raw ones.
    n_permutations : int, default=19
        If no feature is related to any other, groups are found with a probability of at most
        1 / (n_permutations + 1) = 5 %.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns that hold categories.
    random_state : int, RandomState or None, default=0
        Seed of the permutations.
    n_jobs : int or None, default=None
        Number of threads. Results do not depend on it.

    Returns
    -------
    RedundancyGroups

    Notes
    -----
    Constant and nearly constant features (fewer than 5 rows differ from the most frequent value) are in groups of
    their own, because rare values coincide by chance. So are identifiers, that is columns with more categories than
    half of the rows or than 1000, and numbers that are missing in more than half of the rows. Two numbers that are
    both known in fewer than half of the rows count as unrelated.

    All pairs of features are compared in blocks, so that memory grows with the number of similar pairs, not with
    the square of the number of features. If there are more than 5 million similar pairs, a threshold that was not given
    is raised, with a warning.

    References
    ----------
    .. [1] N. X. Vinh, J. Epps, J. Bailey, "Information theoretic measures for clusterings comparison: variants,
       properties, normalization and correction for chance", JMLR 11, 2010.
    .. [2] C. F. Dormann et al., "Collinearity: a review of methods to deal with it and a simulation study evaluating
       their performance", Ecography 36, 2013 (the limit of 0.7).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weighbors.evaluation import redundancy_groups
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> groups = redundancy_groups(X)
    >>> groups.n_groups
    12
    >>> groups.stand_ins("worst texture")
    ['mean texture']
    """
    check_threshold(threshold)
    if correlation not in ("spearman", "pearson"):
        raise InvalidDataError(f"correlation must be 'spearman' or 'pearson'; got {correlation!r}")
    n_permutations = whole_number(n_permutations, "n_permutations")
    X = as_pandas(X)
    columns = getattr(X, "columns", None)
    coder = TableCoder(categorical_features)
    rows = coder.fit_transform(ColumnNames(), X)
    scores = _check_scores(scores, rows.shape[1])
    similarity = FeatureSimilarity(rows, coder.nominal, correlation=correlation)
    seeds = seed_sequence(random_state)
    found = find_groups(similarity, threshold, n_permutations=n_permutations, seeds=seeds, n_jobs=n_jobs)
    names = tuple(f"x{j}" for j in range(rows.shape[1])) if columns is None else tuple(str(name) for name in columns)
    return _represent(similarity, found, scores, names)


class ColumnNames(TakesTables, BaseEstimator):
    """An estimator that is not fitted. The column coding sets the names of the columns on it."""


def _check_scores(scores: Any, n_features: int) -> FloatArray | None:
    """Return scores as floats, or None. A score that is NaN counts as the smallest one."""
    if scores is None:
        return None
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (n_features,):
        raise InvalidDataError(f"scores need one number per feature ({n_features}); got shape {values.shape}")
    return np.where(np.isnan(values), -np.inf, values)


def _represent(
    similarity: FeatureSimilarity, found: FeatureGroups, scores: FloatArray | None, names: tuple[str, ...]
) -> RedundancyGroups:
    """Choose the representative of each group, and return the result.

    ``scores`` decide if they are given. Otherwise the most similar feature of each group is chosen.
    """
    order = np.argsort(found.groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(found.groups[order])) + 1)
    representatives = np.empty(len(parts), dtype=np.int64)
    closeness = np.ones(len(names))
    for group, members in enumerate(parts):
        if len(members) == 1:
            representatives[group] = members[0]
            continue
        if scores is None:
            compared = members[:: -(-len(members) // _COMPARED)]
            rank = np.round(similarity.block(members, compared).mean(axis=1), 9)
        else:
            rank = scores[members]
        chosen = members[[int(np.argmax(rank))]]
        representatives[group] = chosen[0]
        closeness[members] = similarity.block(members, chosen)[:, 0]
    return RedundancyGroups(found.groups, representatives, closeness, found.threshold, found.by_chance, names)
