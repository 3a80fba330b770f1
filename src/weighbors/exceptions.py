"""Errors and warnings of weighbors.

The tree::

    Exception
    └── WeighborsError                 all errors that this library raises on purpose
        ├── InvalidWeightsError        (ValueError) weights that cannot weigh anything
        │   └── ForeignWeightsError    ... learned from other rows, columns or classes
        ├── WeightsFileError           (ValueError) a file that is no set of weights
        ├── ModelFileError             (ValueError) a file that is no model
        ├── CheckpointError            (ValueError) a checkpoint that cannot be continued, or would be lost
        ├── InvalidDataError           (ValueError) a table the method cannot work with
        │   └── UnknownCategoryError   ... a category that was not there in fit
        ├── StoreError                 (ValueError) a store of results that cannot be used
        ├── IncompleteStudyError       (ValueError) cells are missing or failed where all are needed
        ├── BackendError               (ValueError) a backend that cannot serve the request
        ├── ClusterError               (RuntimeError) a Dask cluster was lost, or cannot do the work
        ├── DownloadError              (RuntimeError) a file could not be downloaded, or is another one
        └── MissingDependencyError     (ImportError) an optional package is not installed
    UserWarning
    └── WeighborsWarning               all warnings of this library
        ├── NoVoteWarning              all neighbours of a query have a vote of zero
        ├── LonelyClassWarning         a class has one instance, and so no nearest hit
        ├── LostClassWarning           a selection recognises, or would keep, no row of a class
        ├── LostWorkerWarning          a worker of a study died, and its cells are computed again
        ├── NoSkillWarning             a selection predicts a numeric target no better than a constant
        ├── NoPositiveWeightWarning    no feature got a positive weight; the metric is uniform
        ├── NumericTargetWarning       labels are so many numbers that they look like a target to predict
        ├── FewNeighborsWarning        a class has fewer instances than neighbours were asked for
        ├── FewPermutationsWarning     too few permutations to find anything at the level asked for
        ├── SeparatedPairsWarning      a feature or covariate tells all hits from all misses
        ├── UnusedCovariateWarning     a covariate is constant or follows from others, and is left out
        ├── FewRunsWarning             too few runs for a confidence interval
        ├── UnscaledColumnsWarning     columns differ in range by more than a hundredfold
        ├── UndefinedStabilityWarning  a measure is NaN, and why
        ├── IncompleteStudyWarning     data sets were left out because cells are missing or failed
        ├── RareClassWarning           strata are larger than wanted, so that each has every class
        ├── NoCutWarning               MDLP accepts no cut of any feature; other bins are used
        ├── NothingSelectedWarning     transform passes on what the user may expect to be selected
        └── InterruptedSearchWarning   a search was stopped by hand; the best so far is the answer
"""

__all__ = [
    "BackendError",
    "CheckpointError",
    "ClusterError",
    "DownloadError",
    "FewNeighborsWarning",
    "FewPermutationsWarning",
    "FewRunsWarning",
    "ForeignWeightsError",
    "IncompleteStudyError",
    "IncompleteStudyWarning",
    "InterruptedSearchWarning",
    "InvalidDataError",
    "InvalidWeightsError",
    "LonelyClassWarning",
    "LostClassWarning",
    "LostWorkerWarning",
    "MissingDependencyError",
    "ModelFileError",
    "NoCutWarning",
    "NoPositiveWeightWarning",
    "NoSkillWarning",
    "NoVoteWarning",
    "NothingSelectedWarning",
    "NumericTargetWarning",
    "RareClassWarning",
    "SeparatedPairsWarning",
    "StoreError",
    "UndefinedStabilityWarning",
    "UnknownCategoryError",
    "UnscaledColumnsWarning",
    "UnusedCovariateWarning",
    "WeighborsError",
    "WeighborsWarning",
    "WeightsFileError",
]


class WeighborsError(Exception):
    """Base class of all errors that this library raises on purpose."""


class InvalidWeightsError(WeighborsError, ValueError):
    """Weights are negative, not finite, all zero or of the wrong shape."""


class ForeignWeightsError(InvalidWeightsError):
    """Weights were learned from other rows, columns or classes than the ones at hand."""


class WeightsFileError(WeighborsError, ValueError):
    """A file is damaged, or is not a file of weights."""


class ModelFileError(WeighborsError, ValueError):
    """A file is damaged, was changed, or is not a model."""


class CheckpointError(WeighborsError, ValueError):
    """A checkpoint is damaged, in use, belongs to other data or settings, or would be overwritten."""


class InvalidDataError(WeighborsError, ValueError):
    """A table or its labels cannot be used as they are."""


class UnknownCategoryError(InvalidDataError):
    """A category appears that was not there in fit, and ``handle_unknown="error"``."""


class StoreError(WeighborsError, ValueError):
    """A store or table of study results is damaged, of another schema, or something else."""


class IncompleteStudyError(WeighborsError, ValueError):
    """Cells of a study are missing or failed, and the question needs all of them."""


class BackendError(WeighborsError, ValueError):
    """The backend asked for cannot serve this kind of distance."""


class ClusterError(WeighborsError, RuntimeError):
    """A Dask cluster was lost, has no workers, or gave up on a task."""


class DownloadError(WeighborsError, RuntimeError):
    """A file could not be downloaded, or has another content than expected."""


class MissingDependencyError(WeighborsError, ImportError):
    """An optional package is needed and not installed."""


class WeighborsWarning(UserWarning):
    """Base class of all warnings of this library."""


class NoVoteWarning(WeighborsWarning):
    """All neighbours of a query have a vote of zero, so they vote by their sample weights, or equally."""


class LonelyClassWarning(WeighborsWarning):
    """A class has a single instance, so that it has no nearest hit; that term counts as 0."""


class LostClassWarning(WeighborsWarning):
    """A selection recognises no training row of a class, or would remove all its rows, so that one is kept."""


class NoSkillWarning(WeighborsWarning):
    """A selection predicts a numeric target no better than one constant does, so that its score is 0."""


class NoPositiveWeightWarning(WeighborsWarning):
    """No feature got a positive weight, so the metric handed to a k-NN is uniform."""


class NumericTargetWarning(WeighborsWarning):
    """The labels are so many different numbers that they look like a target to predict, not like classes."""


class FewNeighborsWarning(WeighborsWarning):
    """A class has fewer instances than neighbours were asked for, so that all of them are used."""


class FewGroupsWarning(WeighborsWarning):
    """There are fewer groups of features that stand in for each other than features were asked for."""


class FewPermutationsWarning(WeighborsWarning):
    """There are too few permutations to find a single feature at the level asked for."""


class SeparatedPairsWarning(WeighborsWarning):
    """A feature or covariate tells hits from misses without error, so that its likelihood has no maximum."""


class UnusedCovariateWarning(WeighborsWarning):
    """A covariate is constant, or follows from the covariates before it, and is left out."""


class FewRunsWarning(WeighborsWarning):
    """There are fewer than 30 runs, so that a confidence interval is only approximate."""


class UndefinedStabilityWarning(WeighborsWarning):
    """A measure of stability is not defined for these runs and is NaN; the message says why."""


class UnscaledColumnsWarning(WeighborsWarning):
    """Columns differ in range by more than a hundredfold, and the distance is of unscaled columns."""


class IncompleteStudyWarning(WeighborsWarning):
    """Data sets were left out of a table because some of their cells are missing or failed."""


class LostWorkerWarning(WeighborsWarning):
    """A worker of a study died, so that the cells that may have been under way are computed again, each alone."""


class RaisedThresholdWarning(WeighborsWarning):
    """So many features are similar that only the most similar ones are grouped; the message has the limit."""


class RareClassWarning(WeighborsWarning):
    """A class is too small for the wanted number of strata; fewer and larger ones are used."""


class NoCutWarning(WeighborsWarning):
    """MDLP found no cut in any feature; bins of equal frequency are used instead."""


class NothingSelectedWarning(WeighborsWarning):
    """``transform`` passes on all columns, or rows that the fit did not select; the message says what to write."""


class InterruptedSearchWarning(WeighborsWarning):
    """A search was interrupted by hand; its result is the best found so far."""
