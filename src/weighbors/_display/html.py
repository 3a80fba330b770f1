"""Small pieces of HTML for notebooks. They take the colours of the page around them, light or dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: Text and lines have the colour of the page; the two colours of bars can be told from light and dark ground.
_STYLE = """
.weighbors{font-size:.93em;line-height:1.45;max-width:64rem;color:inherit}
.weighbors h4{font-size:1.05em;margin:.9em 0 .25em;font-weight:600;overflow-wrap:anywhere}
.weighbors h4:first-of-type{margin-top:.2em}
.weighbors p{margin:.25em 0;overflow-wrap:anywhere}
.weighbors .soft{opacity:.72}
.weighbors .scroll{overflow-x:auto;margin:.3em 0}
.weighbors table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0;color:inherit;background:none}
.weighbors th,.weighbors td{padding:.18em .7em .18em 0;border:0;border-bottom:1px solid rgba(128,128,128,.35);
text-align:left;vertical-align:baseline;background:none;color:inherit;max-width:20rem;overflow-wrap:break-word}
.weighbors thead th{font-weight:600;opacity:.72;vertical-align:bottom}
.weighbors tbody th{font-weight:500;min-width:5.8rem;overflow-wrap:anywhere}
.weighbors .facts th{min-width:0;white-space:nowrap}
.weighbors .facts td{max-width:44rem}
.weighbors .n{text-align:right;white-space:nowrap}
.weighbors thead .n{white-space:normal;overflow-wrap:normal}
.weighbors .bar{display:inline-block;position:relative;width:7rem;height:.8em;vertical-align:-.05em}
.weighbors .bar i{position:absolute;top:0;bottom:0;background:#3b8fcc}
.weighbors .bar i.against{background:#dd7a3b}
.weighbors .bar::before{content:"";position:absolute;left:var(--zero,0);top:-.15em;bottom:-.15em;
border-left:1px solid rgba(128,128,128,.8)}
.weighbors tr.own>*{font-weight:600}
@media(max-width:40rem){.weighbors .bar{width:3.6rem}.weighbors th,.weighbors td{padding-right:.5em}}
.weighbors pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0;font-size:.92em;line-height:1.35;
color:inherit;background:none;border:0;padding:0}
""".replace("\n", "")


def block(*parts: str) -> str:
    """Return parts of HTML with the style that they need."""
    return f'<div class="weighbors"><style>{_STYLE}</style>{"".join(parts)}</div>'


def paragraph(text: str, *, soft: bool = False) -> str:
    """Return a paragraph. The text is escaped."""
    return f'<p class="soft">{escape(text)}</p>' if soft else f"<p>{escape(text)}</p>"


def heading(text: str) -> str:
    """Return a heading. The text is escaped."""
    return f"<h4>{escape(text)}</h4>"


def bar(value: float, largest: float, *, two_sided: bool = True) -> str:
    """Return a bar in the colour of its sign. With room for both signs, negative bars go to the left.

    Parameters
    ----------
    value, largest : float
        The bar of ``largest`` has the full length.
    two_sided : bool
        Whether there is room on both sides.
    """
    zero, room = (50.0, 50.0) if two_sided else (0.0, 100.0)
    length = room * min(1.0, abs(value) / largest) if largest > 0 else 0.0
    begin = zero if value >= 0 or not two_sided else zero - length
    kind = "" if value >= 0 else ' class="against"'
    style = f"left:{begin:.1f}%;width:{length:.1f}%"
    return f'<span class="bar" style="--zero:{zero:g}%" aria-hidden="true"><i{kind} style="{style}"></i></span>'


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, text: int = 1, own: int | None = None, raw: bool = False
) -> str:
    """Return a table that scrolls sideways if it is wider than the page.

    Parameters
    ----------
    head : sequence of str
    rows : iterable of sequences of str
    text : int
        The first columns, which hold text; the others are aligned to the right.
    own : int, optional
        Number of the line that stands out.
    raw : bool
        Whether cells are HTML already. Else they are escaped.
    """
    kind = ["" if j < text else ' class="n"' for j in range(len(head))]
    top = "".join(f'<th scope="col"{k}>{escape(name)}</th>' for name, k in zip(head, kind, strict=True))
    lines = []
    for number, row in enumerate(rows):
        cells = [cell if raw else escape(cell) for cell in row]
        first = f'<th scope="row">{cells[0]}</th>' if cells else ""
        rest = "".join(f"<td{k}>{cell}</td>" for cell, k in zip(cells[1:], kind[1:], strict=False))
        lines.append(f"<tr{' class=own' if number == own else ''}>{first}{rest}</tr>")
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a table of two columns without a head: what, and its value."""
    lines = "".join(f'<tr><th scope="row">{escape(a)}</th><td>{escape(b)}</td></tr>' for a, b in pairs)
    return f'<div class="scroll"><table class="facts"><tbody>{lines}</tbody></table></div>'


def frame_table(frame: pd.DataFrame, most: int = 10) -> str:
    """Return the first lines of a frame as a table, with a note on how many are left out."""
    shown = frame.head(most).iloc[:, :12]
    head = ["" if shown.index.name is None else str(shown.index.name), *(str(name) for name in shown.columns)]
    rows = [[str(label), *(cell_text(cell) for cell in line)] for label, *line in shown.itertuples()]
    if shown.index.name is None and list(shown.index) == list(range(len(shown))):  # Line numbers have no meaning.
        head, rows = head[1:], [row[1:] for row in rows]
    texts = 1 + sum(shown.dtypes.iloc[j].kind in "OUSb" for j in range(min(1, shown.shape[1])))
    lines, columns = len(frame) - len(shown), frame.shape[1] - shown.shape[1]
    left_out = [f"{lines} more lines"] * (lines > 0) + [f"{columns} more columns"] * (columns > 0)
    note = paragraph(f"{' and '.join(left_out)}: see frame().", soft=True) if left_out else ""
    return table(head, rows, text=texts) + note


def cell_text(cell: Any) -> str:
    """Return a cell as text: floats with four digits."""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def lines_block(text: str) -> str:
    """Return the lines of a plan: the first one as a heading, and ``name  value`` of the others as a table."""
    first, *rest = text.splitlines()
    pairs = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in rest]
    return block(heading(first), facts([(pair[0], pair[-1] if len(pair) > 1 else "") for pair in pairs]))


def preformatted(lines: Iterable[str]) -> str:
    """Return lines of text whose blanks count, such as a diagram."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def page(body: str, title: str) -> str:
    """Return a complete page around a block, light or dark as the reader's system is."""
    style = (
        ":root{color-scheme:light dark}body{margin:0 auto;padding:1rem;max-width:66rem;"
        "font:1rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif}"
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{style}</style></head><body>{body}</body></html>\n"
    )
