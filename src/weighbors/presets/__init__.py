"""The experiments of the papers. Each preset is a description in one file, and `run_preset` runs it.

A preset names the data sets, the methods and the folds, and defines how tables are computed from the cells. The rest
is done by `weighbors.evaluation.Study`.
"""

from ._catalogue import PRESETS, load_preset
from ._preset import Definition, Preset
from ._run import PresetResult, run_preset

__all__ = ["Definition", "PRESETS", "Preset", "PresetResult", "load_preset", "run_preset"]
