"""Read what is committed in docs/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def read_result(preset: str, table: str) -> pd.DataFrame:
    """Return a committed table of a preset."""
    return pd.read_csv(RESULTS / preset / f"{table}.csv", keep_default_na=False, na_values=[""])


def read_record(preset: str) -> dict[str, Any]:
    """Return the record of a run: command, versions, settings and data sets."""
    record: dict[str, Any] = json.loads((RESULTS / preset / "made.json").read_text(encoding="utf8"))
    return record
