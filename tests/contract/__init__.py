"""What holds for every public estimator, said once: the tests of single estimators say only what is theirs."""
