"""Backends: each finds the k nearest references of queries. All except "hnsw" give the same lists as `scan`."""
