"""Backends: each finds the k nearest references of queries; all are proved equal to `scan`."""
