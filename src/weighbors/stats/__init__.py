"""Is this method really better? Tests over data sets and over folds.

Each function checks its input, computes a statistic and a p-value, and returns a result that can be printed or
converted to a table. `compare` runs all tests for a table of data sets × methods, and lists its steps.
"""

from .adjust import adjust, bergmann_hommel, bonferroni, hochberg, holm, shaffer
from .compare import Comparison, compare
from .omnibus import OmnibusResult, friedman, iman_davenport
from .paired import ResampledTTest, WilcoxonResult, corrected_resampled_ttest, wilcoxon
from .pairwise import CriticalDifference, Posthoc, bonferroni_dunn, nemenyi, posthoc

__all__ = [
    "Comparison",
    "CriticalDifference",
    "OmnibusResult",
    "Posthoc",
    "ResampledTTest",
    "WilcoxonResult",
    "adjust",
    "bergmann_hommel",
    "bonferroni",
    "bonferroni_dunn",
    "compare",
    "corrected_resampled_ttest",
    "friedman",
    "hochberg",
    "holm",
    "iman_davenport",
    "nemenyi",
    "posthoc",
    "shaffer",
    "wilcoxon",
]
