"""Weighers on strata of the rows: draw strata, fit a weigher to each, merge or vote."""

from .democratic import Democratic
from .stratified import Stratified

__all__ = ["Democratic", "Stratified"]
