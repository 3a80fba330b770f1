"""One module per page or study; the functions of `TABLES` make its tables from docs/results."""
