"""Groups of features that stand in for each other, by complete linkage of their similarities."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import t as student

from ..._typing import FloatArray, IndexArray
from ..._warnings import warn
from ...exceptions import InvalidDataError, RaisedThresholdWarning
from .similarity import FeatureSimilarity

#: Features that share less than about half of their variance (0.7² = 0.49) do not stand in for each other.
LEAST_SIMILARITY = 0.7
#: Pairs of similar features that are kept in memory. Linking needs up to 200 bytes and about 2 µs per pair.
MOST_PAIRS = 5_000_000
#: Similarities are counted in this many bins, if there are too many pairs.
_BINS = 1000
#: The probability below which an event counts as impossible.
_NEVER = 1e-4


@dataclass(frozen=True, eq=False)
class FeatureGroups:
    """Groups of features, and the threshold of similarity they were made with.

    Attributes
    ----------
    groups : ndarray of shape (n_features,)
        Number of the group of each feature. Groups are numbered in the order of their first feature.
    threshold : float
        All features of a group have at least this similarity with each other.
    by_chance : float or None
        The largest similarity in tables whose columns were permuted, or None if it was not computed.
    """

    groups: IndexArray
    threshold: float
    by_chance: float | None

    def best_members(self, scores: FloatArray) -> IndexArray:
        """Return the feature with the largest score of each group. Of equal scores the lower feature is taken."""
        order = np.lexsort((np.arange(len(scores)), -scores, self.groups))
        return order[np.r_[True, np.diff(self.groups[order]) > 0]]


def find_groups(
    similarity: FeatureSimilarity,
    threshold: float | str = "auto",
    *,
    n_permutations: int = 19,
    seeds: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> FeatureGroups:
    """Group the features that stand in for each other.

    Parameters
    ----------
    similarity : FeatureSimilarity
    threshold : float, "auto" or "null"
        The smallest similarity of two features of a group. "null": larger than any similarity in ``n_permutations``
        permuted tables. "auto": the same, and at least `LEAST_SIMILARITY`.
    n_permutations : int
    seeds : SeedSequence
        Each permutation takes a child.
    n_jobs : int or None
    """
    check_threshold(threshold)
    by_chance, chosen = None, isinstance(threshold, str)
    if isinstance(threshold, str):
        least = LEAST_SIMILARITY if threshold == "auto" else 0.0
        if not _chance_is_negligible(similarity, least):
            by_chance = chance_limit(similarity, n_permutations, seeds, n_jobs)
        # The next number of four decimals above the limit: rounding errors of sums then do not change groups.
        above = 0.0 if by_chance is None else (np.floor(by_chance * 1e4) + 1) / 1e4
        threshold = max(least, float(above))
    pairs, counts = _similar_pairs(similarity, float(threshold), n_jobs)
    if counts.sum() > MOST_PAIRS:
        threshold = _raise_threshold(float(threshold), counts, chosen)
        pairs, _ = _similar_pairs(similarity, threshold, n_jobs)
    return FeatureGroups(link_pairs(similarity.n_features, *pairs), float(threshold), by_chance)


def check_threshold(threshold: Any) -> None:
    """Raise InvalidDataError if a threshold is neither "auto" nor "null" nor a number above 0, at most 1."""
    if isinstance(threshold, str) and threshold in ("auto", "null"):
        return
    if isinstance(threshold, Real) and not isinstance(threshold, bool) and 0 < float(threshold) <= 1:
        return
    raise InvalidDataError(f"threshold must be 'auto', 'null', or a similarity above 0, up to 1; got {threshold!r}")


def chance_limit(
    similarity: FeatureSimilarity, n_permutations: int, seeds: np.random.SeedSequence, n_jobs: int | None = None
) -> float:
    """Return the largest similarity of any two features in ``n_permutations`` tables with permuted columns.

    If features are unrelated, one of them exceeds this limit with a probability of at most 1 / (n_permutations + 1).
    """
    largest = 0.0
    for child in seeds.spawn(n_permutations):
        permuted = similarity.permute(np.random.default_rng(child))
        largest = max([largest, *permuted.map_blocks(_largest, n_jobs)])
    return largest


def _largest(values: FloatArray, rows: IndexArray, columns: IndexArray) -> float:
    """Return the largest similarity of a block."""
    return float(values.max(initial=0.0))


def _chance_is_negligible(similarity: FeatureSimilarity, least: float) -> bool:
    """Return whether no similarity is as large as ``least`` by chance, so that permutations need not be computed.

    It is so if the expected number of such pairs is below `_NEVER` by the t distribution of a correlation. This
    distribution does not fit columns in which few rows vary, missing values or categories, so these are permuted.
    """
    n = similarity.n
    if least == 0 or n < 10 or similarity.nominal.any() or similarity.incomplete.any() or similarity.has_rare_values:
        return False
    pairs = similarity.n_features * (similarity.n_features - 1) / 2
    return bool(2 * pairs * student.sf(least * np.sqrt((n - 2) / (1 - least**2)), n - 2) < _NEVER)


def _raise_threshold(threshold: float, counts: IndexArray, chosen: bool) -> float:
    """Return a larger threshold, above which there are at most `MOST_PAIRS` pairs, and warn.

    ``counts`` has the number of pairs in each of `_BINS` bins from 0 to 1. ``chosen`` says whether the threshold was
    chosen here. Raise InvalidDataError if the user gave it, or if there is no such threshold.
    """
    above = np.cumsum(counts[::-1])[::-1]
    enough = np.flatnonzero(above <= MOST_PAIRS)
    if not chosen or not len(enough):
        raise InvalidDataError(
            f"{counts.sum()} pairs of features have a similarity of at least {threshold:.4g}, too many to be grouped "
            f"(at most {MOST_PAIRS}). Give a larger threshold, or drop copies of features"
        )
    raised = float(enough[0] / _BINS)
    warn(
        f"{counts.sum()} pairs of features have a similarity of at least {threshold:.4g}, too many to be grouped; "
        f"only those of at least {raised:g} stand in for each other",
        RaisedThresholdWarning,
    )
    return raised


def _similar_pairs(
    similarity: FeatureSimilarity, threshold: float, n_jobs: int | None
) -> tuple[tuple[IndexArray, IndexArray, FloatArray], IndexArray]:
    """Return the pairs with at least this similarity (two features and the similarity), and counts of similarities.

    The counts are in `_BINS` bins from 0 to 1. If they are more than `MOST_PAIRS`, some pairs are missing.
    """
    # Sums of other orders differ in their last bits, so a similarity of 1 may be a little smaller.
    cut, n_found = threshold - 1e-12, 0

    def find_similar(values: FloatArray, rows: IndexArray, columns: IndexArray) -> Any:
        """Return the pairs of a block that are similar enough, and counts of their similarities."""
        nonlocal n_found
        # Zeros stand for entries that repeat a pair.
        i, j = np.nonzero((values >= cut) & (values > 0))
        similar = values[i, j]
        counts = np.bincount(np.minimum(similar * _BINS, _BINS - 1).astype(np.int64), minlength=_BINS)
        n_found += len(i)
        if n_found > MOST_PAIRS:  # too many pairs are not used, so they need not be kept
            i = j = i[:0]
        return rows[i], columns[j], similar[: len(i)], counts

    nothing = np.zeros(0, dtype=np.int64)
    found = [
        (nothing, nothing, np.zeros(0), np.zeros(_BINS, dtype=np.int64)),
        *similarity.map_blocks(find_similar, n_jobs),
    ]
    first, second, values = (np.concatenate([part[i] for part in found]) for i in range(3))
    return (first, second, values), np.sum([part[3] for part in found], axis=0)


def link_pairs(n_features: int, first: IndexArray, second: IndexArray, values: FloatArray) -> IndexArray:
    """Return the groups of complete linkage, cut at the smallest similarity of the given pairs.

    Pairs come in descending order of similarity. Two groups are merged as soon as all pairs between them have
    come. This needs no matrix of all pairs, and it is complete linkage: the pair that comes last is the
    least similar one, which is the similarity of two groups.

    Parameters
    ----------
    n_features : int
    first, second, values : ndarrays of shape (n_pairs,)
        All pairs that are similar enough to be in one group, each once, and their similarities.

    Returns
    -------
    ndarray of shape (n_features,)
        Group numbers, in the order of the first feature of each group.
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    # Rounding makes the order of equal similarities the same on every machine: by the numbers of the features.
    order = np.lexsort((high, low, -np.round(values, 9)))
    owner = list(range(n_features))  # the group of each feature, named after its first member
    members: dict[int, list[int]] = {}
    seen: dict[int, dict[int, int]] = {}  # number of pairs that have come, for every two groups
    for i, j in zip(low[order].tolist(), high[order].tolist(), strict=True):
        a, b = owner[i], owner[j]
        count = seen.setdefault(a, {}).get(b, 0) + 1
        seen[a][b] = seen.setdefault(b, {})[a] = count
        if count == len(members.get(a, (a,))) * len(members.get(b, (b,))):
            _merge(min(a, b), max(a, b), owner, members, seen)
    return np.unique(np.asarray(owner, dtype=np.int64), return_inverse=True)[1].astype(np.int64)


def _merge(
    kept: int, gone: int, owner: list[int], members: dict[int, list[int]], seen: dict[int, dict[int, int]]
) -> None:
    """Merge the group ``gone`` into the group ``kept``. The other parameters are the tables of `link_pairs`."""
    joining = members.pop(gone, [gone])
    members[kept] = members.get(kept, [kept]) + joining
    for feature in joining:
        owner[feature] = kept
    seen[kept].pop(gone)
    for other, count in seen.pop(gone).items():
        if other != kept:
            seen[other].pop(gone)
            seen[kept][other] = seen[other][kept] = seen[kept].get(other, 0) + count
