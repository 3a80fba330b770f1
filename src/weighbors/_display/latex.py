"""Tables of scores for LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

#: Characters that have a meaning in LaTeX. After the end of a line, "[" and "*" would be read as options of it.
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}


def escape_latex(name: object) -> str:
    r"""Return a name as LaTeX text that prints as it is. White space of any kind becomes one blank.

    Examples
    --------
    >>> print(escape_latex("5-NN & 50% of x_1"))
    5-NN \& 50\% of x\_1
    """
    text = "".join(_SPECIAL.get(char, char) for char in str(name))
    return " ".join(text.split())


def format_scores(
    scores: Sequence[float], deviations: Sequence[float] | None, *, decimals: int, higher_is_better: bool
) -> list[str]:
    r"""Return the scores of one line in math mode. The best is bold.

    All scores that print the same number as the best are bold, so that a reader sees no difference that is not printed.

    Parameters
    ----------
    scores : sequence of float
    deviations : sequence of float or None
        Standard deviations, which are printed after the scores. One that is NaN is left out.
    decimals : int
        Number of digits after the point.
    higher_is_better : bool

    Examples
    --------
    >>> format_scores([0.91, 0.914, 0.7], None, decimals=2, higher_is_better=True)
    ['$\\mathbf{0.91}$', '$\\mathbf{0.91}$', '$0.70$']
    """
    # Adding 0 turns the text "-0.00" into "0.00".
    shown = [f"{round(score, decimals) + 0.0:.{decimals}f}" for score in scores]
    best = (max if higher_is_better else min)(float(text) for text in shown)
    cells = [rf"\mathbf{{{text}}}" if float(text) == best else text for text in shown]
    tails = [
        rf" \pm {spread:.{decimals}f}" if spread == spread else ""
        for spread in (deviations if deviations is not None else [float("nan")] * len(cells))
    ]
    return [f"${cell}{tail}$" for cell, tail in zip(cells, tails, strict=True)]


def score_rows(
    table: pd.DataFrame, deviations: pd.DataFrame | None, *, decimals: int, higher_is_better: bool
) -> list[list[str]]:
    """Return one line of cells per data set: its name, and the scores of the methods.

    Parameters
    ----------
    table : DataFrame of shape (n_datasets, n_methods)
    deviations : DataFrame or None
        Standard deviations of the same data sets and methods, in any order. More of them do no harm.
    decimals, higher_is_better
        As in `format_scores`.
    """
    check_decimals(decimals)
    if deviations is not None:
        lacking = [name for name in table.index if name not in deviations.index]
        lacking += [name for name in table.columns if name not in deviations.columns]
        if lacking:
            raise InvalidDataError(f"deviations must have all data sets and methods of the table; they lack {lacking}")
        deviations = deviations.loc[table.index, table.columns].astype(float)
    options = {"decimals": decimals, "higher_is_better": higher_is_better}
    return [
        [
            escape_latex(name),
            *format_scores(
                table.iloc[i].tolist(),
                None if deviations is None else deviations.iloc[i].tolist(),
                **options,  # type: ignore[arg-type]
            ),
        ]
        for i, name in enumerate(table.index)
    ]


def check_decimals(decimals: int) -> None:
    """Raise InvalidDataError if the number of decimals is no whole number from 0 to 15."""
    if isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= 15:
        raise InvalidDataError(f"decimals must be a whole number from 0 to 15; got {decimals!r}")


def booktabs_table(
    head: Iterable[str], parts: Iterable[Sequence[Sequence[str]]], *, caption: str | None, label: str | None
) -> str:
    r"""Return a LaTeX table. Its cells are LaTeX already.

    Parameters
    ----------
    head : iterable of str
        Cells of the first line.
    parts : iterable of lists of lines
        Lines of cells. A rule stands between two parts; a part without lines is left out.
    caption, label : str or None
        Written as they are, into a ``table`` environment. If both are None, the result is the ``tabular`` alone.
    """
    names = list(head)
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(names) - 1)}}}", r"\toprule", _line(names)]
    for part in parts:
        if part:
            lines += [r"\midrule", *map(_line, part)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if caption is None and label is None:
        return "\n".join(lines)
    above = [r"\begin{table}", r"\centering"]
    above += [] if caption is None else [rf"\caption{{{caption}}}"]
    # A label names the number of the caption, so it must follow it.
    above += [] if label is None else [rf"\label{{{label}}}"]
    return "\n".join([*above, *lines, r"\end{table}"])


def _line(cells: Sequence[str]) -> str:
    """Return one line of a table."""
    return " & ".join(cells) + r" \\"
