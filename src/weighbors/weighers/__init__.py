"""Weighers: learn a `Weights` from data. Names load when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .class_relief import ClassRelief as ClassRelief
    from .evolution import EvolutionaryWeigher as EvolutionaryWeigher
    from .gradient_weights import GradientWeights as GradientWeights
    from .instances import DROP3 as DROP3
    from .instances import DROP5 as DROP5
    from .instances import FCNN as FCNN
    from .instances import HMNEI as HMNEI
    from .instances import IB2 as IB2
    from .instances import IB3 as IB3
    from .instances import ICF as ICF
    from .intervals import RepresentativeIntervals as RepresentativeIntervals
    from .irelief import IRelief as IRelief
    from .mbiw import MBIW as MBIW
    from .nca import NCAWeights as NCAWeights
    from .npdr import NPDR as NPDR
    from .relief import Relief as Relief
    from .relief import ReliefF as ReliefF
    from .relief import RelievedF as RelievedF
    from .rrelieff import RReliefF as RReliefF
    from .sampler import InstanceSampler as InstanceSampler
    from .score import ScoreWeigher as ScoreWeigher
    from .simba import Simba as Simba
    from .simba_mbiw import SimbaMBIW as SimbaMBIW
    from .strata import Democratic as Democratic
    from .strata import Stratified as Stratified
    from .surf import SURF as SURF
    from .surf import MultiSURF as MultiSURF
    from .surf import MultiSURFStar as MultiSURFStar
    from .surf import SURFStar as SURFStar
    from .turf import TuRF as TuRF

#: The module of each weigher. A new weigher is one line here; `weighbors` itself takes its names from this table.
WEIGHERS = {
    "ClassRelief": "class_relief",
    "DROP3": "instances",
    "DROP5": "instances",
    "Democratic": "strata",
    "EvolutionaryWeigher": "evolution",
    "FCNN": "instances",
    "GradientWeights": "gradient_weights",
    "HMNEI": "instances",
    "IB2": "instances",
    "IB3": "instances",
    "ICF": "instances",
    "IRelief": "irelief",
    "MBIW": "mbiw",
    "MultiSURF": "surf",
    "MultiSURFStar": "surf",
    "NCAWeights": "nca",
    "NPDR": "npdr",
    "RReliefF": "rrelieff",
    "Relief": "relief",
    "ReliefF": "relief",
    "RelievedF": "relief",
    "RepresentativeIntervals": "intervals",
    "SURF": "surf",
    "SURFStar": "surf",
    "ScoreWeigher": "score",
    "Simba": "simba",
    "SimbaMBIW": "simba_mbiw",
    "Stratified": "strata",
    "TuRF": "turf",
}
_MODULES = {**WEIGHERS, "InstanceSampler": "sampler"}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    if name in _MODULES.values():
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'weighbors.weighers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
