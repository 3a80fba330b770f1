"""The papers' experiments, each a plain description in one file, run by `run_preset`.

A preset names data sets, methods and folds, and says how tables are made of the cells; all
else is `weighbors.evaluation.Study`.
"""

from __future__ import annotations

import os
from importlib import import_module

from .._names import hint
from ..exceptions import InvalidDataError
from ._preset import Definition, Preset
from ._run import PresetResult, run

__all__ = ["Definition", "PRESETS", "Preset", "PresetResult", "load_preset", "run_preset"]

#: The file of each preset; a new one is one line here.
_FILES = {"simbambiw": "simbambiw", "class-relief": "class_relief", "wibk": "wibk", "ifsw": "ifsw"}
#: Names that `load_preset` and `run_preset` know.
PRESETS = tuple(_FILES)


def load_preset(name: str) -> Preset:
    """The preset called ``name``.

    Parameters
    ----------
    name : str
        One of `PRESETS`.

    Returns
    -------
    Preset

    Raises
    ------
    InvalidDataError
        Where there is none; the message names the nearest one.

    Examples
    --------
    >>> from weighbors.presets import load_preset
    >>> load_preset("class-relief").data_sets(True)
    ('breast-cancer', 'heart', 'thyroid', 'breast-w', 'bupa')
    """
    if name not in _FILES:
        raise InvalidDataError(f"there is no preset {name!r}. {hint(name, PRESETS)}")
    preset: Preset = import_module(f".{_FILES[name]}", __name__).PRESET
    return preset


def run_preset(
    name: str,
    *,
    output: str | os.PathLike[str],
    quick: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    retry_failed: bool = False,
    compute: bool = True,
) -> PresetResult:
    """Run a paper's experiment, or go on with one that was stopped.

    Parameters
    ----------
    name : str
        One of `PRESETS`.
    output : path
        Directory for all presets. This one writes to ``output/name``, or ``output/name-quick``:
        ``cells`` and ``study.json`` (the store of the study), one csv per table, ``summary.md``,
        and at last ``made.json``: command, versions, seed, settings, seconds.
    quick : bool, default=False
        A faithful small version, in under two minutes.
    data_home : path, optional
        Directory of the data sets; by default the one that ``WEIGHBORS_DATA`` names.
    n_jobs : int or None, default=None
        Worker processes.
    progress : bool or None, default=None
        A bar on stderr. None: where stderr is a terminal.
    retry_failed : bool, default=False
        Compute failed cells again, too.
    compute : bool, default=True
        False: compute nothing, and make the tables of what is there.

    Returns
    -------
    PresetResult
        Tables, summary, failed cells and paths. Data sets that lack cells are in no table, and named.
    """
    return run(
        load_preset(name),
        output=output,
        quick=quick,
        data_home=data_home,
        n_jobs=n_jobs,
        progress=progress,
        retry_failed=retry_failed,
        compute=compute,
    )
