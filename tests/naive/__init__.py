"""Slow, obvious oracles, written from methods and papers, never from the kernels."""
