"""A report as one HTML page. It contains its style, script and figures, and loads no other files."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from .._names import escape_controls, shorten_name
from ..exceptions import MissingDependencyError
from ._figures import draw_figures
from ._phrases import is_numeric, method_name, percent, points, signed
from ._text import count_text, format_cell
from ._words_list import describe_list, stand_in_names

_TEMPLATES = Path(__file__).parent / "templates"
SHOWN_FEATURES = 50
SHOWN_INTERVALS = 60
_MANY_CLASSES = 8  # a table with this many columns still fits on a page


def render_html(data: dict[str, Any]) -> str:
    """Return the HTML page of a report. ``data`` is the plain dict of the report."""
    template = _environment().get_template("report.html.j2")
    script = _read_template("report.js")
    page = template.render(
        data=data,
        figures=draw_figures(data),
        style=_read_template("report.css"),
        script=script,
        script_hash=_script_hash(script),
        numbers=embedded_json(data),
        shown_features=SHOWN_FEATURES,
        shown_intervals=SHOWN_INTERVALS,
        numeric=is_numeric(data),
        list_text=describe_list(data),
        few_classes=len(data["classes"]["labels"]) <= _MANY_CLASSES,
    )
    return escape_controls(page)  # In the text of the page the escapes are shown as they are.


def _environment() -> Any:
    """Return the jinja2 environment with the filters that the template uses."""
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
    environment.filters.update(
        short=shorten_name,
        figure=format_cell,
        percent=percent,
        points=points,
        signed=signed,
        method=method_name,
        stand_ins=stand_in_names,
        counts=count_text,
        pair=lambda text: (text, 1),
    )
    return environment


def _read_template(name: str) -> str:
    """Return the text of a file in the directory of the template."""
    return (_TEMPLATES / name).read_text(encoding="utf8")


def _script_hash(script: str) -> str:
    """Return the hash of the inline script for the Content-Security-Policy, so that no other script can run."""
    return base64.b64encode(hashlib.sha256(script.encode("utf8")).digest()).decode("ascii")


def embedded_json(data: dict[str, Any]) -> str:
    r"""Return JSON in which <, > and & are escaped, so that it cannot close the HTML element that contains it.

    Examples
    --------
    >>> embedded_json({"name": "</script>&"})
    '{"name":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # These characters could close the script element or, as line separators, end the script text.
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.encode("utf8", "replace").decode("utf8")
