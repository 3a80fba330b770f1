"""Weighers: learn a `Weights` from data."""

from .class_relief import ClassRelief
from .evolution import EvolutionaryWeigher
from .intervals import RepresentativeIntervals
from .irelief import IRelief
from .mbiw import MBIW
from .relief import Relief, ReliefF, RelievedF
from .simba import Simba
from .simba_mbiw import SimbaMBIW
from .surf import SURF, MultiSURF, MultiSURFStar, SURFStar
from .turf import TuRF

__all__ = [
    "ClassRelief",
    "EvolutionaryWeigher",
    "IRelief",
    "MBIW",
    "MultiSURF",
    "MultiSURFStar",
    "Relief",
    "ReliefF",
    "RelievedF",
    "RepresentativeIntervals",
    "SURF",
    "SURFStar",
    "Simba",
    "SimbaMBIW",
    "TuRF",
]
