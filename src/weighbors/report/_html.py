"""A report as one page: template, style, script and pictures in it, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from ..exceptions import MissingDependencyError
from ..plots._display import short
from ._figures import figures
from ._text import figure
from ._words import percent, points

__all__ = ["html"]

_TEMPLATES = Path(__file__).parent / "templates"
SHOWN_FEATURES = 50
SHOWN_INTERVALS = 60
_MANY_CLASSES = 8  # a table of so many columns still fits a page


def html(data: dict[str, Any]) -> str:
    """The page of a plain dict."""
    template = _environment().get_template("report.html.j2")
    script = _read("report.js")
    return template.render(
        data=data,
        figures=figures(data),
        style=_read("report.css"),
        script=script,
        script_hash=_hash(script),
        numbers=embedded_json(data),
        shown_features=SHOWN_FEATURES,
        shown_intervals=SHOWN_INTERVALS,
        few_classes=len(data["classes"]["labels"]) <= _MANY_CLASSES,
    )


def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise MissingDependencyError(
            "a report as a page needs the packages matplotlib and jinja2: pip install 'weighbors[report]'"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(short=short, figure=figure, percent=percent, points=points, pair=lambda text: (text, 1))
    return environment


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf8")


def _hash(script: str) -> str:
    """What the page's own policy knows its script by: no other script runs."""
    return base64.b64encode(hashlib.sha256(script.encode("utf8")).digest()).decode("ascii")


def embedded_json(data: dict[str, Any]) -> str:
    r"""JSON that cannot end the element it stands in.

    Examples
    --------
    >>> embedded_json({"name": "</script>&"})
    '{"name":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.encode("utf8", "replace").decode("utf8")
