"""``weighbors select``: read a table, and write a list of features with q-values."""

from __future__ import annotations

import math
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._data import check_format, check_output, is_numeric, read_data, split_groups, split_labels, write_frame
from ._errors import UsageError
from ._options import Data, Drop, Force, Groups, Header, Jobs, Json, Keep, Quiet, Seed, Target, TargetKind, TargetType
from ._say import notes, on_terminal, print_json, say, set_quiet

if TYPE_CHECKING:
    import pandas as pd

    from ..evaluation import StabilitySelection

NAME = "select"
_SHOWN = 20  # rows of the list in the terminal


class WeigherName(StrEnum):
    """The weighers that rank the features of a half sample."""

    AUTO = "auto"
    RELIEFF = "relieff"
    IRELIEF = "irelief"
    SCORE = "t"
    FOREST = "forest"


def run(
    data: Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Table to write: all features with their q-values, the best first."
        ),
    ],
    target: Target = None,
    target_type: TargetType = TargetKind.AUTO,
    groups: Groups = None,
    target_fdr: Annotated[
        float,
        typer.Option(
            "--target-fdr", help="False discovery rate: the largest expected share of false features in the list."
        ),
    ] = 0.1,
    target_fp: Annotated[
        float | None,
        typer.Option(
            "--target-fp",
            metavar="NUMBER",
            help="Largest expected number of false features in the list, instead of a share.",
        ),
    ] = None,
    weigher: Annotated[
        WeigherName,
        typer.Option(
            help="Method that ranks the features. auto is I-RELIEF of values and ranks, or RReliefF for a number."
        ),
    ] = WeigherName.AUTO,
    pairs: Annotated[int, typer.Option(min=1, help="Number of pairs of half samples.")] = 50,
    permutations: Annotated[int, typer.Option(min=1, help="Number of permutations of the labels.")] = 10,
    keep: Keep = None,
    drop: Drop = None,
    header: Header = True,
    seed: Seed = 0,
    jobs: Jobs = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Select features with a limited share of false discoveries.

    Features are ranked in many random halves of the rows. The list has the features that are found in most halves. It
    is as long as the chosen false discovery rate allows. The output has all features with their q-values.
    """
    set_quiet(quiet)
    if not 0 < target_fdr < 1:
        raise UsageError(f"--target-fdr must be a share between 0 and 1, for example 0.1; got {target_fdr:g}")
    if target_fp is not None and not 0 < target_fp < math.inf:
        raise UsageError(f"--target-fp must be a number above 0; got {target_fp:g}")
    check_format(output)
    check_output(output, force=force, inputs=(data,))
    X, y = split_labels(read_data(data, header), target, target_type.value)
    X, together = split_groups(X, groups)
    from ..evaluation import StabilitySelection
    from ..exceptions import NothingSelectedWarning
    from ..tables import clean_table

    clean = clean_table(X, keep=keep or (), drop=drop or ())
    notes([*map(str, clean.left_out), *clean.notes])
    if weigher is WeigherName.FOREST:
        _refuse_categories(clean.X)
    numeric = is_numeric(y)
    model = StabilitySelection(
        _make_weigher(weigher, numeric),
        pairs,
        target_fdr=target_fdr,
        target_fp=target_fp,
        n_permutations=permutations,
        target_type="numeric" if numeric else "classes",
        verbose=on_terminal(),
        random_state=seed,
        n_jobs=jobs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingSelectedWarning)  # the printed list shows that it is empty
        model.fit(clean.X, y.to_numpy(), groups=None if together is None else together.to_numpy())
    frame = model.frame().reset_index()
    write_frame(frame, output)
    if json:
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


def _make_weigher(name: WeigherName, numeric: bool) -> Any:
    """Return the weigher with this name, for classes or for a number. None is the default of the library."""
    if name is WeigherName.AUTO:
        return None
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    from ..weighers import IRelief, ReliefF, RReliefF, ScoreWeigher

    if name is WeigherName.FOREST:
        return RandomForestRegressor() if numeric else RandomForestClassifier()
    if name is WeigherName.SCORE:
        return ScoreWeigher()
    if name is WeigherName.RELIEFF:
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
        width = max(len(str(name)) for name in chosen["feature"][:_SHOWN])
        say(f"  {'feature':<{width}}  q-value  share of half samples")
        for row in chosen.head(_SHOWN).itertuples():
            say(f"  {row.feature:<{width}}  {row.q_value:7.3f}  {row.share:.2f}")
        if len(chosen) > _SHOWN:
            say(f"  ... and {len(chosen) - _SHOWN} more")
    else:
        say(f"  the smallest q-value is {frame['q_value'].min():.3f}")
    say(f"all features are in '{output}'")
