"""Random cases against slow oracles, damaged files, and processes killed at random moments."""
