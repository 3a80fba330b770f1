"""Redundant features: how similar features are, which ones stand in for each other, and how to select one of them."""

from .groups import FeatureGroups, find_groups
from .similarity import FeatureSimilarity

__all__ = ["FeatureGroups", "FeatureSimilarity", "find_groups"]
