"""``weighbors select``: read a table, and write a list of features with q-values."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ._data import TABLES, check_output, read_training, write_frame
from ._errors import UsageError
from ._options import GROUPS, LearningOptions, TableOptions
from ._say import on_terminal, print_json, say, say_columns

if TYPE_CHECKING:
    import pandas as pd

    from ..evaluation import StabilitySelection

NAME = "select"
_SHOWN = 20  # rows of the list in the terminal


def run(
    table: TableOptions,
    common: LearningOptions,
    output: Path = typer.Option(
        ..., "--output", "-o", metavar="FILE", help="Table to write: all features with their q-values, the best first."
    ),
    groups: str | None = GROUPS,
    target_fdr: float = typer.Option(
        0.1, "--target-fdr", help="False discovery rate: the largest expected share of false features in the list."
    ),
    target_fp: float | None = typer.Option(
        None,
        "--target-fp",
        metavar="NUMBER",
        help="Largest expected number of false features in the list, instead of a share.",
    ),
    weigher: Literal["auto", "relieff", "irelief", "t", "forest"] = typer.Option(
        "auto",
        help="Statistic or method that ranks the features. t is the F-statistic of each feature, which for two "
        "classes is the squared t-statistic, and for a numeric target that of a regression line. auto is the same, "
        "with a constant added to the standard deviations if at least 100 columns are on one scale. "
        "relieff and irelief look at neighbours (relieff is RReliefF for a numeric target). forest is a random forest.",
    ),
    pairs: int = typer.Option(50, min=1, help="Number of pairs of half samples."),
    permutations: int = typer.Option(10, min=1, help="Number of permutations of the labels."),
) -> None:
    """Select features with a limited share of false discoveries.

    Features are ranked in many random halves of the rows. The list has the features that are found in most halves. It
    is as long as the chosen false discovery rate allows. The output has all features with their q-values.
    """
    if not 0 < target_fdr < 1:
        raise UsageError(f"--target-fdr must be a share between 0 and 1, for example 0.1; got {target_fdr:g}")
    if target_fp is not None and not 0 < target_fp < math.inf:
        raise UsageError(f"--target-fp must be a number above 0; got {target_fp:g}")
    check_output(output, force=common.force, inputs=(table.data,), formats=TABLES)
    read = read_training(table, groups)
    from ..evaluation import StabilitySelection
    from ..exceptions import NothingSelectedWarning

    clean = read.clean(table)
    if weigher == "forest":
        _refuse_categories(clean.X)
    model = StabilitySelection(
        _make_weigher(weigher, read.numeric),
        pairs,
        target_fdr=target_fdr,
        target_fp=target_fp,
        n_permutations=permutations,
        target_type=read.target_type,
        verbose=on_terminal(),
        random_state=common.seed,
        n_jobs=common.jobs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingSelectedWarning)  # the printed list shows that it is empty
        model.fit(clean.X, read.y.to_numpy(), groups=None if read.groups is None else read.groups.to_numpy())
    frame = model.frame().reset_index()
    write_frame(frame, output)
    if common.json:
        print_json({"output": str(output), "target_type": model.target_type_, **_describe(model, frame)})
    else:
        _print_list(model, frame, output)


def _refuse_categories(X: pd.DataFrame) -> None:
    """Raise `InvalidDataError` if a column has categories, which forests of scikit-learn cannot read."""
    from .._names import quote_name
    from ..exceptions import InvalidDataError

    found = [str(name) for name, dtype in X.dtypes.items() if str(dtype) == "category"]
    if found:
        raise InvalidDataError(
            f"--weigher forest reads numbers only, and column {quote_name(found[0])} has categories "
            f"({len(found)} such columns): use another weigher, or --drop them"
        )


def _make_weigher(name: str, numeric: bool) -> Any:
    """Return the weigher with this name, for classes or for a number. None is the default of the library."""
    if name == "auto":
        return None
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    from ..weighers import IRelief, ReliefF, RReliefF, ScoreWeigher

    if name == "forest":
        return RandomForestRegressor() if numeric else RandomForestClassifier()
    if name == "t":
        return ScoreWeigher()
    if name == "relieff":
        return RReliefF() if numeric else ReliefF()
    if numeric:
        raise UsageError("--weigher irelief needs classes, and the target is a number: use relieff, t or forest")
    return IRelief()


def _describe(model: StabilitySelection, frame: pd.DataFrame) -> dict[str, Any]:
    """Describe the list for JSON output."""
    return {
        "target_fdr": model.target_fdr if model.target_fp is None else None,
        "target_fp": model.target_fp,
        "features": len(frame),
        "selected": frame.loc[frame["selected"], "feature"].tolist(),
        "q_values": dict(zip(frame["feature"], frame["q_value"].tolist(), strict=True)),
    }


def _print_list(model: StabilitySelection, frame: pd.DataFrame, output: Path) -> None:
    """Print the selected features."""
    chosen = frame[frame["selected"]]
    goal = (
        f"a false discovery rate of {model.target_fdr:g}"
        if model.target_fp is None
        else f"{model.target_fp:g} expected false features"
    )
    say(f"{len(chosen)} of {len(frame)} features at {goal}")
    if len(chosen):
        rows = chosen.head(_SHOWN)
        cells = zip(rows["feature"], rows["q_value"], rows["share"], strict=True)
        head = ["  feature", "q-value", "share of half samples"]
        say_columns([head, *([f"  {name}", f"{q:.3f}", f"{share:.2f}"] for name, q, share in cells)])
        if len(chosen) > _SHOWN:
            say(f"  ... and {len(chosen) - _SHOWN} more")
    else:
        say(f"  the smallest q-value is {frame['q_value'].min():.3f}")
    say(f"all features are in '{output}'")
