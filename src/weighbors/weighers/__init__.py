"""Weighers: learn a `Weights` from data. ``__init__.pyi`` lists the names, which load when they are first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
