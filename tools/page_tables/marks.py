"""What all scripts that write tables into pages share.

A table stands in a page between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. The function of that name makes it
from csv files. A test compares the pages with what these functions return.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Tables = Mapping[str, Callable[[], str]]


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def format_p(value: float) -> str:
    """Return a p-value as pages print it."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def fill_marks(page: str, tables: Tables) -> str:
    """Return the text of a page with every table made anew."""
    for name, make in tables.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if len(pattern.findall(page)) != 1:
            raise ValueError(f"the page needs one pair of marks for {name!r}")
        text = make()
        page = pattern.sub(lambda found, text=text: f"{found[1]}\n{text}\n\n{found[2]}", page)
    return page
