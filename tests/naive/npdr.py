"""NPDR by loops from its paper (Le, Dawkins & McKinney 2020), with statsmodels for the regressions."""

from math import erf, floor, sqrt

import numpy as np
import statsmodels.api as sm

from naive.relief_numeric import distance, expected_difference, neighbor_weights, scaled_table


def expected_k(n):
    return max(1, floor((n - 1) / 2 * (1 - erf(0.5 / sqrt(2)))))


def neighbor_pairs(X, k, *, unique, nominal=None, ties="share"):
    """{(i, z): weight}: ordered pairs, or those with i < z, each once, with its larger weight."""
    n = len(X)
    nominal = [False] * len(X[0]) if nominal is None else nominal
    rows = scaled_table(X, nominal)
    pairs = {}
    for i in range(n):
        distances = {z: distance(rows, i, z, nominal) for z in range(n) if z != i}
        for z, share in neighbor_weights(distances, k, ties, None).items():
            if share > 0:
                key = (min(i, z), max(i, z)) if unique else (i, z)
                pairs[key] = max(pairs.get(key, 0.0), share * k)
    return pairs


def covariate_differences(covariates, pairs):
    """One column per covariate; text differs by 0 or 1, numbers by |a − b| over their range."""
    columns = []
    for values in covariates:
        if isinstance(values[0], str):
            columns.append([float(values[i] != values[z]) for i, z in pairs])
        else:
            columns.append([abs(values[i] - values[z]) / (max(values) - min(values)) for i, z in pairs])
    return columns


def npdr(X, y, k, *, numeric, covariates=(), unique=True, nominal=None, ties="share"):
    """[(coefficient, statistic, one-sided p-value)] of each feature, by one regression of statsmodels each."""
    nominal = [False] * len(X[0]) if nominal is None else nominal
    rows = scaled_table(X, nominal)
    pairs = neighbor_pairs(X, k, unique=unique, nominal=nominal, ties=ties)
    weight = np.array(list(pairs.values()))
    outcome = np.array([abs(y[i] - y[z]) if numeric else float(y[i] != y[z]) for i, z in pairs])
    common = covariate_differences(covariates, pairs)
    results = []
    for j in range(len(nominal)):
        own = [float(expected_difference(rows, i, z, j, nominal[j])) for i, z in pairs]
        design = np.column_stack([np.ones(len(pairs)), *common, own])
        fit = regression(outcome, design, weight, numeric)
        statistic = fit.tvalues[-1]
        two_sided = fit.pvalues[-1]
        results.append((fit.params[-1], statistic, two_sided / 2 if statistic > 0 else 1 - two_sided / 2))
    return np.array(results)


def regression(outcome, design, weight, numeric):
    """A fit of statsmodels: OLS and Logit where all pairs count once, else a GLM with frequency weights."""
    whole = np.all(weight == 1)
    if numeric and whole:
        return sm.OLS(outcome, design).fit()
    if numeric:
        # A GLM counts weights as observations, but takes p-values from the normal distribution unless told.
        return sm.GLM(outcome, design, freq_weights=weight).fit(use_t=True)
    if whole:
        return sm.Logit(outcome, design).fit(disp=0, method="newton", tol=1e-12, maxiter=100)
    return sm.GLM(outcome, design, family=sm.families.Binomial(), freq_weights=weight).fit(tol=1e-12, maxiter=200)


def firth(design, outcome):
    """Firth's estimate: the maximum of log likelihood + ½ log |information|, by a general optimiser."""
    from scipy.optimize import minimize

    def loss(beta):
        eta = design @ beta
        p = 1 / (1 + np.exp(-eta))
        information = design.T @ (design * (p * (1 - p))[:, None])
        return -np.sum(outcome * eta - np.logaddexp(0, eta)) - np.linalg.slogdet(information)[1] / 2

    return minimize(loss, np.zeros(design.shape[1]), method="BFGS", options={"gtol": 1e-8}).x


def benjamini_hochberg(p):
    """Adjusted p-values: the smallest level at which each one is found."""
    order = np.argsort(p)
    out, least = np.empty(len(p)), 1.0
    for rank in range(len(p), 0, -1):
        least = min(least, p[order[rank - 1]] * len(p) / rank)
        out[order[rank - 1]] = least
    return out
