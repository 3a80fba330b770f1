"""Regressors: predict numbers from weighted neighbours."""

from .kernel_votes import KernelVotesRegressor

__all__ = ["KernelVotesRegressor"]
