"""Figures of a report as SVG elements for the page. Their ids are unique, and their colours are those of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from ..evaluation import StabilityCurve
from ..exceptions import MissingDependencyError
from ..plots import (
    ClassHeatmapDisplay,
    InstanceMapDisplay,
    IntervalMapDisplay,
    StabilityCurveDisplay,
    WeightsDisplay,
)
from ._phrases import is_numeric

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
#: Placeholder for the text colour of the page, which is dark or light. Nothing else is drawn in this colour.
_INK = "#010203"
WIDTH = 7.2  # inches
MOST_LANES = 6  # an interval map has colours for this many classes
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "weighbors",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "text.parse_math": False,
    "path.simplify": True,
}
_UNUSED = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}


def draw_figures(data: dict[str, Any]) -> dict[str, str]:
    """Draw the figures of a report, and return their SVG texts by name. Figures without content are left out."""
    made: dict[str, Callable[[dict[str, Any], Any], float | None]] = {"weights": _weights, "stability": _stability}
    if is_numeric(data):
        made |= {"instances": _residuals}
    else:
        made |= {"classes": _classes, "instances": _instances, "intervals": _intervals}
    drawn = {name: _draw_svg(name, draw, data) for name, draw in made.items()}
    return {name: text for name, text in drawn.items() if text}


def _draw_svg(name: str, draw: Callable[[dict[str, Any], Any], float | None], data: dict[str, Any]) -> str:
    """Draw one figure and return its SVG, or an empty text if there is nothing to draw.

    ``draw`` is called with the data and the axes. It returns the height of the figure in inches, or None if there is
    nothing to draw.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            "a report with pictures needs the packages matplotlib and jinja2: pip install 'weighbors[report]'"
        ) from error

    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # matplotlib warns of characters that its font lacks, but the browser has other fonts
        figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
        # The canvas draws SVG without a window system.
        FigureCanvasSVG(figure)
        height = draw(data, figure.subplots())
        if height is None:
            return ""
        figure.set_size_inches(WIDTH, height)
        file = io.BytesIO()
        # Neither date nor creator, so that the same numbers give the same bytes.
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _inline_svg(file.getvalue(), name)


def _inline_svg(svg: bytes, name: str) -> str:
    """Return an SVG as an element for the page, with ids that begin with ``name``, in the colours of the page."""
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in _UNUSED:
                parent.remove(child)
    used = {link for node in root.iter() for link in _links(node)}
    for node in root.iter():
        _rename(node, name, used)
    for side in ("width", "height"):  # points to pixels
        root.attrib[side] = f"{float(root.attrib[side].removesuffix('pt')) * 4 / 3:.0f}"
    root.attrib.update({"aria-hidden": "true", "focusable": "false"})
    root.attrib.pop("version", None)
    for node in root.iter():
        node.tail = None  # line breaks between elements
        if node.text and not node.text.strip():
            node.text = None
    return ElementTree.tostring(root, encoding="unicode")


def _links(node: ElementTree.Element) -> list[str]:
    """Return the ids to which an element refers."""
    text = " ".join(node.attrib.values())
    return re.findall(r"url\(#([^)]+)\)", text) + [
        v[1:] for k, v in node.attrib.items() if k == _LINK and v.startswith("#")
    ]


def _rename(node: ElementTree.Element, name: str, used: set[str]) -> None:
    """Prefix the id and the references of an element with ``name``. Remove its id if it is not in ``used``."""
    if "id" in node.attrib and node.attrib["id"] not in used:
        del node.attrib["id"]
    for key, value in list(node.attrib.items()):
        if key == "id":
            value = f"{name}-{value}"
        elif key == _LINK and value.startswith("#"):
            del node.attrib[key]
            key, value = "href", f"#{name}-{value[1:]}"
        node.attrib[key] = (
            # The placeholder becomes the text colour of the page, and white its background, also in dark mode.
            re.sub(r"url\(#", f"url(#{name}-", value).replace(_INK, "currentColor").replace("#ffffff", "var(--paper)")
        )


def _weights(data: dict[str, Any], ax: Any) -> float:
    """Draw the weights of the best 25 features, and return the height of the figure in inches."""
    rows = data["features"]["rows"][:25]
    display = WeightsDisplay(
        *([row[key] for row in rows] for key in ("weight", "name")),
        low=[row["low"] for row in rows],
        high=[row["high"] for row in rows],
        found=None if data["features"]["test"] is None else [row["above_chance"] for row in rows],
        spread=f"middle 80 % of {data['features']['n_runs']} resamples",
        found_label="more than chance gives",
    ).plot(ax, top=25)
    display.ax_.set_xlabel(f"{data['features']['method']} weight")
    return 1.2 + 0.26 * len(rows)


def _classes(data: dict[str, Any], ax: Any) -> float:
    """Draw the weights per class for at most 30 classes, and return the height of the figure in inches."""
    classes = data["classes"]
    counts = np.array([row["rows"] for row in data["table"]["classes"]])
    largest = np.sort(np.argsort(-counts, kind="stable")[:30])
    weights = np.array(classes["weights"], dtype=np.float64)[largest]
    labels = [classes["labels"][c] for c in largest]
    ClassHeatmapDisplay(weights, labels, classes["features"]).plot(ax, top=25)
    return 1.5 + 0.26 * min(25, len(classes["features"]))


def _stability(data: dict[str, Any], ax: Any) -> float | None:
    """Draw the stability curves for the real and the shuffled labels. Return the height, or None without curves."""
    s = data["stability"]
    if "reason" in s:
        return None
    what = "target" if is_numeric(data) else "labels"
    shown = ((f"learned from the {what}", "curve", s["n_repeats"]), (f"shuffled {what}", "shuffled", s["n_shuffles"]))
    curves = {
        name: _curve(s[key], s["n_folds"], repeats, data["features"]["n_features"]) for name, key, repeats in shown
    }
    StabilityCurveDisplay(curves).plot(ax)
    return 3.8


def _curve(section: dict[str, Any], n_folds: int, n_repeats: int, n_features: int) -> StabilityCurve:
    """Return a stability curve, made from its lists in ``section``.

    The report does not contain the weights of the runs. They are not drawn, and zeros take their place. The numbers of
    folds, repetitions and features say how many weights there were.
    """
    runs = n_folds * n_repeats
    stability, error, tied = (
        np.array(section[key], dtype=np.float64) for key in ("stability", "standard_error", "tied")
    )
    # A broadcast zero takes no memory, however many runs and features there are.
    weights = np.broadcast_to(0.0, (runs, n_features))
    part = np.repeat(np.arange(n_repeats), n_folds)
    return StabilityCurve(np.array(section["size"], dtype=np.int64), stability, error, tied, weights, part, ())


def _instances(data: dict[str, Any], ax: Any) -> float:
    """Draw the map of the rows, and return the height of the figure in inches."""
    section, classes = data["instances"], data["classes"]["labels"]
    names = {row["row"]: row["label"] for row in data["instances"]["lowest"]}
    shown = section["map"]
    InstanceMapDisplay(
        np.column_stack([shown["x"], shown["y"]]).astype(np.float64),
        shown["weight"],
        [classes[c] for c in shown["class"]],
        rows=[names.get(row, row) for row in shown["row"]],
        explained=shown["explained"],
    ).plot(ax)
    return 4.4


def _residuals(data: dict[str, Any], ax: Any) -> float:
    """Draw the map of the rows, coloured by the numeric target, and return the height of the figure in inches."""
    shown = data["instances"]["map"]
    names = {row["row"]: row["label"] for row in data["instances"]["lowest"]}
    InstanceMapDisplay(
        np.column_stack([shown["x"], shown["y"]]).astype(np.float64),
        # Rows far from what their neighbours say count as the most unusual ones.
        -np.array(shown["residual"], dtype=np.float64),
        np.array(shown["target"], dtype=np.float64),
        rows=[names.get(row, row) for row in shown["row"]],
        explained=shown["explained"],
        target_type="numeric",
    ).plot(ax)
    return 4.4


def _intervals(data: dict[str, Any], ax: Any) -> float | None:
    """Draw the representative intervals of at most 10 features. Return the height, or None if nothing is drawn."""
    section = data["intervals"]
    if "reason" in section or len(data["classes"]["labels"]) > MOST_LANES:
        return None
    frame = pd.DataFrame(section["rows"]).rename(columns={"rows": "magnitude"})
    frame["weight"] = frame["weight"].astype(float)
    display = IntervalMapDisplay(frame)
    lanes = frame["class"].nunique()
    chosen = list(display.importance().index[:10])
    display.plot(ax, features=chosen)
    return 1.2 + len(chosen) * (0.22 + 0.14 * lanes)
