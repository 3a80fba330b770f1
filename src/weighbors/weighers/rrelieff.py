"""RReliefF: ReliefF for numeric targets (Robnik-Šikonja & Kononenko 2003)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import FloatArray
from .neighborhoods import Neighborhoods, PendingScores, Terms
from .relief import _NEIGHBOR_WEIGHTS, _PARAMETERS, _NeighborWeigher
from .slots import SIGMA_CONSTRAINTS, NeighborWeights

__all__ = ["RReliefF", "rrelieff_scores"]


def rrelieff_scores(
    instances: Neighborhoods,
    k: int,
    sample_weight: FloatArray,
    *,
    ties: str = "share",
    weights: NeighborWeights | None = None,
) -> PendingScores:
    """Yield the terms of RReliefF's scores, and return the scores (Robnik-Šikonja & Kononenko 2003, figure 3).

    With sums over every row x and its k nearest rows z, where the u of one x sum to its share in all rows,

        N_dC = Σ u |Δy|,   N_dA_j = Σ u |Δ_j|,   N_dC&dA_j = Σ u |Δy| |Δ_j|

    and Δy divided by the range of the target, the score is N_dC&dA_j / N_dC − (N_dA_j − N_dC&dA_j) / (1 − N_dC): the
    mean difference of the feature where the target differs, less that where it does not. A term without such pairs
    (N_dC is 0, or 1) counts 0.

    Parameters
    ----------
    instances : Neighborhoods
        The rows with their numeric ``target``, all in one class.
    k, sample_weight, ties, weights
        As in `relieff_scores`.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    target = instances.target
    assert target is not None
    target = (target - target.min()) / np.ptp(target)
    # Row 0 sums differences weighed by |Δy|, row 1 those weighed by 1 − |Δy|, from which no difference is taken.
    total, output_row = np.zeros((2, instances.n_features)), np.array([[[0], [1]]])
    changed = unchanged = 0.0
    for found in instances.neighbors(k, ties=ties, weights=weights):
        share = sample_weight[found.query] / sample_weight.sum()
        u = found.share * (share[:, None] / found.share.sum(axis=2))[:, :, None]
        dy = np.abs(target[found.query][:, None, None] - target[found.row])
        both = np.concatenate([u * dy, u * (1.0 - dy)], axis=1)
        changed += float(both[:, 0].sum())
        unchanged += float(both[:, 1].sum())
        listed = replace(found, row=np.repeat(found.row, 2, axis=1))
        total += yield Terms(listed, both, output_row, 2)
    mean = np.divide(total, [[changed], [unchanged]], out=np.zeros_like(total), where=[[changed > 0], [unchanged > 0]])
    scores: FloatArray = mean[0] - mean[1]
    return scores


class RReliefF(_NeighborWeigher):
    __doc__ = (
        """RReliefF: ReliefF for a number to predict.

    A feature gains where it differs between near rows whose targets differ, and loses where it differs between near
    rows whose targets are alike. Neighbours are found by city-block distance on range-scaled features, categories
    differ by 0 or 1, and the differences of the target are divided by its range. Scores lie between -1 and 1.
"""
        + _PARAMETERS.format(
            k=10,
            neighbors="Number of neighbours.",
            more=_NEIGHBOR_WEIGHTS.format(of_class=""),
            last='target_type_ : str\n        "numeric".',
        )
        + """
    See Also
    --------
    ReliefF : The same for classes.
    MultiSURF : Needs no number of neighbours; takes numeric targets, too.

    Notes
    -----
    In the search, a missing value is at full range, as in `ReliefF`. In the score it counts by its expected difference.
    `ReliefF` takes the mean over the known values of the class of the row that lacks the value; here all rows are of
    one group, so that it is the mean over all known values of the column.

    The score is a difference of two means: over pairs of rows by how much their targets differ, less over pairs by
    how much they do not. If no pair of neighbours differs in its target (as if all rows were doubled and
    ``n_neighbors=1``), the first mean is 0; if all of them differ by the full range, the second one is.

    References
    ----------
    .. [1] M. Robnik-Šikonja, I. Kononenko, "Theoretical and empirical analysis of ReliefF and
       RReliefF", Machine Learning 53, 2003.

    Examples
    --------
    Two features that say something about the target only together:

    >>> import numpy as np
    >>> from weighbors import RReliefF
    >>> X = np.random.default_rng(0).normal(size=(300, 6))
    >>> weigher = RReliefF(n_neighbors=10, n_features_to_select=2).fit(X, X[:, 1] * X[:, 4])
    >>> weigher.get_support(indices=True)
    array([1, 4])
    """
    )
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **_NeighborWeigher._parameter_constraints,
        **SIGMA_CONSTRAINTS,
    }
    _scaled = True
    _p = 1
    _takes_numeric_targets = True

    def __init__(
        self,
        n_neighbors: int = 10,
        n_features_to_select: float | None = None,
        *,
        sigma: float | None = None,
        neighbor_weights: str | None = None,
        n_samples: int | None = None,
        threshold: float | None = None,
        redundancy: str | None = None,
        redundancy_threshold: float | str = "auto",
        ties: str = "share",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            n_features_to_select,
            n_samples=n_samples,
            threshold=threshold,
            redundancy=redundancy,
            redundancy_threshold=redundancy_threshold,
            ties=ties,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.sigma = sigma
        self.neighbor_weights = neighbor_weights

    def _scores(self, instances: Neighborhoods, sample_weight: FloatArray) -> PendingScores:
        """Return RReliefF's score of each feature."""
        weights = NeighborWeights.of(self.neighbor_weights, self.sigma)
        return rrelieff_scores(instances, self.n_neighbors, sample_weight, ties=self.ties, weights=weights)
