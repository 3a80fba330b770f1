"""The tables on the pages of docs/papers, made from docs/results: one file per paper."""
