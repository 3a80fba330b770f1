"""Checks for fuzzing of learners: shared fits, selectors, strata, learned votes, WIB-K, stability selection, NPDR."""

from unittest import mock

import numpy as np
from naive import instances, intervals, learned_votes, neighbors, relief, relief_numeric, stability_selection, strata
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import clone
from support.vote_tables import coded_table

import weighbors as wb
from fuzz.checks import dyadic, labels, table
from weighbors._random import generators
from weighbors.evaluation.stability_selection import paths
from weighbors.tables.coded import fit_model, read_training
from weighbors.weighers import neighbors as relief_neighbors
from weighbors.weighers import rows as relief_rows
from weighbors.weighers import surf
from weighbors.weighers.base import fit_targets
from weighbors.weighers.instances.drop import select_drop3, select_drop5
from weighbors.weighers.instances.fcnn import select_fcnn
from weighbors.weighers.instances.hmnei import select_hmnei
from weighbors.weighers.instances.icf import select_icf
from weighbors.weighers.instances.instance_based import select_ib2, select_ib3
from weighbors.weighers.instances.rows import LabelledRows, edit_rows


def check_relief_relatives(rng):
    """RelievedF and class-dependent RELIEF, with both kinds of ties and with copies left out."""
    X, nominal = table(rng, missing=False)
    y, k = labels(rng, len(X)), int(rng.integers(1, 5))
    ties, skip = str(rng.choice(["share", "index"])), bool(rng.random() < 0.5)
    found = wb.RelievedF(k, ties=ties, categorical_features=nominal).fit(X, y).feature_weights_
    np.testing.assert_allclose(found, relief.relievedf(X, y, k, ties=ties, nominal=nominal), atol=1e-9)
    credit = str(rng.choice(["instance", "neighbor"]))
    options = {"ties": ties, "skip_zero": skip}
    model = wb.ClassRelief(k, credit=credit, categorical_features=nominal, **options).fit(X, y)
    wanted = relief.class_relief(X, y, k, nominal=nominal, credit=credit, **options)
    np.testing.assert_allclose(model.feature_weights_, sum(wanted.values()), atol=1e-9)


def check_relief_numbers(rng):
    """RReliefF and the SURF family with a numeric target, categories and missing values."""
    X, nominal = table(rng)
    X = X[: min(len(X), 24)]
    target, k = rng.normal(size=len(X)).round(2), int(rng.integers(1, 5))
    target[0] += 1.0
    weight = rng.integers(1, 4, size=len(X)).astype(float)
    found = wb.RReliefF(k, categorical_features=nominal).fit(X, target, sample_weight=weight).feature_weights_
    np.testing.assert_allclose(found, relief_numeric.rrelieff(X, target, k, nominal=nominal, weight=weight), atol=1e-8)
    for multi, star, model in ((False, True, wb.SURFStar), (True, False, wb.MultiSURF)):
        model = model(target_type="numeric", categorical_features=nominal).fit(X, target, sample_weight=weight)
        wanted = relief_numeric.surf(X, target, multi=multi, star=star, nominal=nominal, weight=weight)
        np.testing.assert_allclose(model.feature_weights_, wanted, atol=1e-8)


def check_shared_fits(rng):
    """Fits that pick neighbours from ranked lists have the bits of separate fits, also if the lists are too short."""
    X, nominal = table(rng)
    y, k = labels(rng, len(X)), int(rng.integers(1, 6))
    kind = [wb.Relief, wb.RelievedF, wb.ReliefF, wb.ClassRelief][int(rng.integers(4))]
    weigher = kind(k, ties=str(rng.choice(["share", "index"])), categorical_features=nominal)
    targets = [rng.permutation(y) for _ in range(int(rng.integers(1, 6)))]
    with mock.patch.object(relief_neighbors, "LIST_BYTES", 12 * len(X) * int(rng.integers(1, len(X) + 1))):
        found = fit_targets([clone(weigher) for _ in targets], X, targets)
    np.testing.assert_array_equal(found, [clone(weigher).fit(X, target).feature_weights_ for target in targets])


def check_sparse_zones(rng):
    """The SURF family gives sparse rows the weights that the loops give, whatever is stored in them."""
    n, m = int(rng.integers(6, 26)), int(rng.integers(2, 12))
    X = np.where(rng.random((n, m)) < rng.choice([0.05, 0.3, 0.8]), rng.integers(-4, 9, size=(n, m)) / 4, 0.0)
    X[:, int(rng.integers(m))] += float(rng.choice([0.0, 3.0, 1000.0]))
    X[int(rng.integers(n))] = X[int(rng.integers(n))]
    y, multi, star = labels(rng, n), bool(rng.integers(2)), bool(rng.integers(2))
    y[:2] = 0, 1
    model = {(0, 0): wb.SURF, (0, 1): wb.SURFStar, (1, 0): wb.MultiSURF, (1, 1): wb.MultiSURFStar}[multi, star]
    rows = sparse.coo_matrix(X)
    if rng.random() < 0.3:  # entries that are stored twice add up
        rows = sparse.coo_matrix((np.tile(rows.data / 2, 2), (np.tile(rows.row, 2), np.tile(rows.col, 2))), X.shape)
    with mock.patch.object(surf, "DENSE_BYTES", 1), mock.patch.object(relief_rows, "DENSE_BYTES", 1):
        found = model(n_jobs=int(rng.integers(1, 4))).fit(rows, y).feature_weights_
    np.testing.assert_allclose(found, relief.surf(X.tolist(), y.tolist(), multi=multi, star=star), rtol=0, atol=1e-10)


def check_coded_tables(rng):
    """Fits to parts of a table that is coded once are those of fits to these parts."""
    X, nominal = table(rng)
    y = rng.normal(size=len(X)) if rng.random() < 0.5 else labels(rng, len(X))
    numeric = y.dtype.kind == "f"
    weigher = wb.ScoreWeigher(target_type="numeric" if numeric else "classes", categorical_features=nominal)
    coded = read_training(weigher, X, y)
    rows = rng.permutation(len(X))[: int(rng.integers(min(4, len(X)), len(X) + 1))]
    if len(np.unique(y[rows])) < 2:
        return
    wanted = weigher.fit(X[rows], y[rows]).feature_weights_
    usual = wanted < 1e6  # a column that decides the target has a score that is mostly rounding
    found = fit_model(weigher, coded.take(rows)).feature_weights_
    np.testing.assert_allclose(found[usual], wanted[usual], rtol=1e-6, atol=1e-9)


def check_selectors(rng):
    """The instance selectors keep the rows that loops from their papers keep."""
    X, nominal = table(rng)
    n, (m, p, k) = len(X), (X.shape[1], int(rng.integers(1, 3)), int(rng.integers(1, 5)))
    codes = labels(rng, n)
    n_classes = int(codes.max()) + 1
    a = dyadic(rng, m) if rng.random() < 0.5 else None
    options = {"a": a, "nominal": nominal, "p": p}
    d, found, order = instances.distances(X, **options), codes.tolist(), rng.permutation(n)
    rows = LabelledRows(X, codes, n_classes, nominal, wb.Weights(feature_weights=a), None, p)
    members = [np.flatnonzero(codes == c).tolist() for c in range(n_classes)]
    seeds = [instances.central_row(X, one, **options) for one in members]
    level = float(rng.choice([0.3, 0.9]))
    z = float(ndtri((1 + level) / 2))
    pairs = {
        "editing": (edit_rows(rows, k), instances.wilson(d, found, k)),
        "FCNN": (select_fcnn(rows)[0], instances.fcnn(d, found, seeds)),
        "IB2": (select_ib2(rows, order), instances.ib2(d, found, order.tolist())),
        "IB3": (
            select_ib3(rows, order, level, level, generators(0, 1)[0]),
            instances.ib3(d, found, order.tolist(), z, z, generators(0, 1)[0]),
        ),
        "DROP3": (select_drop3(rows, k), instances.drop3(d, found, k)),
        "DROP5": (select_drop5(rows, k), instances.drop5(d, found, k)),
        "ICF": (select_icf(rows, k)[0], instances.icf(d, found, k)),
        "HMNEI": (select_hmnei(rows, 0.1)[0], instances.hmnei(d, found, 0.1)),
    }
    for name, (mask, kept) in pairs.items():
        assert set(np.flatnonzero(mask).tolist()) == set(kept), name


def check_strata(rng):
    """Stratified averages the weights of its strata; Democratic counts the votes of its rounds."""
    n = int(rng.integers(24, 50))
    X, y = rng.integers(0, 9, size=(n, int(rng.integers(2, 5)))).astype(float), rng.permutation(np.arange(n) % 2)
    seed, parts = int(rng.integers(1000)), int(rng.integers(2, 4))

    def fits(model):
        seeds = {(row["round"], row["stratum"]): row["seed"] for row in model.strata_.to_dict("records")}
        return strata.fits(model.weigher, X, y, model.membership_, seeds)

    mean = wb.Stratified(wb.ReliefF(2), parts, random_state=seed).fit(X, y)
    np.testing.assert_allclose(mean.feature_weights_, strata.mean_features(fits(mean)), rtol=1e-9, atol=1e-12)
    rounds = int(rng.integers(2, 5))
    model = wb.Democratic(wb.FCNN(), rounds, n_strata=parts, random_state=seed).fit(X, y)
    removal = rounds - strata.keeps(fits(model), n)
    np.testing.assert_array_equal(model.removal_votes_, removal)
    wanted = strata.judged(X, y, removal, rounds, 0.75, [np.ones(X.shape[1], dtype=bool)])
    np.testing.assert_allclose(model.thresholds_["error"], [one[2] for one in wanted], atol=1e-12)
    np.testing.assert_allclose(model.thresholds_["f"], [one[4] for one in wanted], atol=1e-12)
    np.testing.assert_array_equal(model.instance_support_, removal < model.threshold_)


def check_learned_votes(rng):
    """Learned votes of all rows and of the nearest rows, with categories and missing values."""
    made = coded_table(
        int(rng.integers(2**31)),
        int(rng.integers(12, 30)),
        categories=int(rng.integers(0, 3)),
        missing=0.1 if rng.random() < 0.5 else 0.0,
        classes=int(rng.integers(2, 4)),
    )
    width, ridge, nominal = float(rng.choice([0.5, 1.5])), float(rng.choice([0.1, 1.0])), made.nominal
    options = {"p": 1, "nominal": nominal.tolist()}
    model = wb.LearnedVotesClassifier(None, None, p=1, width=width, ridge=ridge, categorical_features=nominal)
    model.fit(made.X, made.codes)
    K = learned_votes.kernel(learned_votes.all_distances(made.X, **options), width)
    np.testing.assert_allclose(model.alpha_, learned_votes.ridge_votes(K, made.Y, ridge), atol=1e-8)
    left_out = learned_votes.left_out_scores(K, made.Y, ridge)
    np.testing.assert_allclose(model.loo_decision_function_, left_out, atol=1e-7)
    if nominal.any() or np.isnan(made.X).any():
        return  # ties of categories: the nearest rows are a matter of order
    near = wb.LearnedVotesClassifier(5, None, width=width, ridge=ridge).fit(made.X, made.codes)
    queries = made.X[:4] + 0.1
    scores = learned_votes.local_scores(queries, made.X, made.Y, 5, width, ridge, p=1)
    found = near.decision_function(queries)
    np.testing.assert_allclose(found, scores[:, 1] - scores[:, 0] if found.ndim == 1 else scores, atol=1e-8)


def check_wibk(rng):
    """WIB-K's labels where rounding cannot change who the neighbours are."""
    n, m = int(rng.integers(20, 60)), int(rng.integers(1, 5))
    y = labels(rng, n)
    X = rng.integers(-6, 12, size=(n, m)) + 3 * y[:, None] * (np.arange(m) % 2)
    Q = rng.integers(-6, 14, size=(12, m))
    kind, how = str(rng.choice(["nonoverlap", "overlap"])), rng.choice(["instance", None])
    a = intervals.cell_weights(X.tolist(), y.tolist(), kind=kind, normalize=how)
    model = wb.WIBK(4, weight=kind, normalize=how).fit(X, y)
    for got, found in zip(model.predict(Q).tolist(), neighbors.nearest(Q, X, 5, a=np.array(a)), strict=True):
        if found[4][0] - found[3][0] > 1e-9:
            assert got == intervals.majority(found[:4], y.tolist(), "first")


def check_stability_paths(rng):
    """Paths, scores and permuted false positives of a stability selection, with ties."""
    runs, p = 2 * int(rng.integers(2, 8)), int(rng.integers(2, 20))
    weights = rng.gamma(1.0, size=(runs, p)) + 3 * (np.arange(p) < 2)
    tied, sizes = np.round(weights, 1), np.geomspace(1.0, p + 0.5, 12)
    lists = [[stability_selection.rank_selection(run.tolist(), int(size)) for run in tied] for size in sizes]
    wanted, found = stability_selection.paths(lists)[0], paths.rank_paths(tied, sizes)[0]
    np.testing.assert_allclose(found, wanted)
    by_loops = stability_selection.scores(wanted, (1 / sizes).tolist())
    np.testing.assert_allclose(paths.path_scores(found, sizes), by_loops, rtol=1e-7, atol=1e-10)
    scores, null = rng.integers(0, 5, p) / 4, rng.integers(0, 4, (3, p)) / 4
    false = stability_selection.permuted_false_positives(scores.tolist(), null.tolist())
    np.testing.assert_allclose(paths.permutation_false_positives(scores, null), false)


def check_npdr(rng):
    """NPDR with a numeric target against statsmodels."""
    from naive import npdr

    n, m, k = int(rng.integers(16, 30)), int(rng.integers(1, 4)), int(rng.integers(3, 8))
    X, age = rng.normal(size=(n, m)), rng.normal(50, 10, size=n)
    y, unique = X[:, 0] + age / 20 + rng.normal(size=n), bool(rng.random() < 0.5)
    covariates = [age.tolist()] if rng.random() < 0.5 else []
    model = wb.NPDR(k, pairs="unique" if unique else "all").fit(X, y, covariates=age if covariates else None)
    wanted = npdr.npdr(X.tolist(), y, k, numeric=True, covariates=covariates, unique=unique)
    np.testing.assert_allclose(model.coefficients_, wanted[:, 0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.feature_weights_, wanted[:, 1], rtol=1e-5, atol=1e-8)


LEARNER_CHECKS = [check_relief_relatives, check_relief_numbers, check_shared_fits, check_sparse_zones,
                  check_coded_tables, check_selectors, check_strata,
                  check_learned_votes, check_wibk, check_stability_paths, check_npdr]  # fmt: skip
