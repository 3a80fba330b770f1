"""Helpers of the tests: small tables, clusters and stand-ins that more than one directory uses."""
