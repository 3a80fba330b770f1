"""Weighers: learn a `Weights` from data."""

from .class_relief import ClassRelief
from .democratic import Democratic
from .evolution import EvolutionaryWeigher
from .intervals import RepresentativeIntervals
from .irelief import IRelief
from .mbiw import MBIW
from .relief import Relief, ReliefF, RelievedF
from .sampler import InstanceSampler
from .simba import Simba
from .simba_mbiw import SimbaMBIW
from .stratified import Stratified
from .surf import SURF, MultiSURF, MultiSURFStar, SURFStar
from .turf import TuRF

__all__ = [
    "ClassRelief",
    "Democratic",
    "EvolutionaryWeigher",
    "IRelief",
    "InstanceSampler",
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
    "Stratified",
    "TuRF",
]
