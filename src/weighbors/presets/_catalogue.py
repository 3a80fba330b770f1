"""The presets by name."""

from __future__ import annotations

from importlib import import_module

from .._names import hint
from ..exceptions import InvalidDataError
from ._preset import Preset

#: The module of each preset. A new preset needs one entry here.
_FILES = {"simbambiw": "simbambiw", "class-relief": "class_relief", "wibk": "wibk", "ifsw": "ifsw"}
#: Names that `load_preset` and `run_preset` know.
PRESETS = tuple(_FILES)


def load_preset(name: str) -> Preset:
    """Return the preset called ``name``.

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
        If there is no preset with this name. The message suggests a similar name.

    Examples
    --------
    >>> from weighbors.presets import load_preset
    >>> load_preset("class-relief").data_sets(True)
    ('breast-cancer', 'heart', 'thyroid', 'breast-w', 'bupa')
    """
    if name not in _FILES:
        raise InvalidDataError(f"there is no preset {name!r}. {hint(name, PRESETS)}")
    preset: Preset = import_module(f".{_FILES[name]}", __package__).PRESET
    return preset
