"""Parallel work: threads over row ranges, one executor over tasks, and Dask clusters."""
