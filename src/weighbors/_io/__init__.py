"""Files: archives of arrays, atomic writes, fingerprints, and fitted estimators as text and arrays."""
