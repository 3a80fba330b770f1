"""Checks for fuzzing of k-NN votes, regressors, NCA, scores, curves, groups, whole selections, and of every estimator.

Where there is an oracle of `tests/naive`, it judges. The last checks need none: they say what must not change a result
(threads, layout of the array, row order, a file, a checkpoint), for whichever estimator is drawn.
"""

import warnings

import numpy as np
import pandas as pd
from estimators import public_estimators
from naive import learned_votes, nca, neighbors, redundancy, scores
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.feature_selection import r_regression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from support.vote_tables import coded_table

import weighbors as wb
from fuzz.checks import dyadic, labels, table
from weighbors.evaluation import redundancy_groups, selection_curve
from weighbors.exceptions import InvalidDataError, WeighborsError
from weighbors.weighers.redundancy import FeatureSimilarity, find_groups

HOW = ("uniform", "distance", "linear")


def check_votes(rng):
    """Shares of classes, mean targets and neighbours of the weighted k-NN under any weights."""
    X, nominal = table(rng)
    n, m = X.shape
    y, target = labels(rng, n), rng.integers(-9, 10, size=n) / 4
    p, k, how = int(rng.integers(1, 3)), int(rng.integers(1, n + 1)), str(rng.choice(HOW[:2]))
    parts, given = {}, {}
    if rng.random() < 0.5:
        parts["feature_weights"] = given["a"] = dyadic(rng, m if rng.random() < 0.5 else (n, m))
    if rng.random() < 0.3:
        parts["instance_scales"] = given["v"] = dyadic(rng, n)
    if rng.random() < 0.3:
        parts["instance_mask"] = given["t"] = (rng.random(n) < 0.6) | (np.arange(n) == rng.integers(n))
    omega = dyadic(rng, n) if rng.random() < 0.5 else None
    weights = wb.Weights(**parts, votes=omega)
    options = {"weigher": weights, "weights": how, "p": p, "categorical_features": nominal}
    queries = X[rng.integers(0, n, size=6)]
    k = min(k, int(given.get("t", np.ones(n)).sum()))
    found = neighbors.nearest(queries, X, k, nominal=nominal, p=p, **given)
    classes = np.unique(y).tolist()
    model = wb.WeightedKNeighborsClassifier(k, **options).fit(X, y)
    wanted = [neighbors.vote(one, y.tolist(), classes, how=how, omega=omega) for one in found]
    np.testing.assert_allclose(model.predict_proba(queries), wanted, rtol=1e-9, atol=1e-12)
    numbers = wb.WeightedKNeighborsRegressor(k, **options).fit(X, target)
    wanted = [neighbors.mean_target(one, target, how=how, omega=omega) for one in found]
    np.testing.assert_allclose(numbers.predict(queries), wanted, rtol=1e-9, atol=1e-12)
    plain = wb.WeightedNearestNeighbors(k, weigher=weights, p=p, categorical_features=nominal).fit(X, y)
    distance, row = plain.kneighbors(queries)
    np.testing.assert_array_equal(row, [[i for _, i in one] for one in found])
    np.testing.assert_allclose(distance, [[d for d, _ in one] for one in found], rtol=1e-9, atol=1e-12)
    radius = float(np.median([d for one in found for d, _ in one]))
    every = neighbors.nearest(queries, X, n, nominal=nominal, p=p, **given)
    within = plain.radius_neighbors(queries, radius, sort_results=True)[1]
    for got, one in zip(within, every, strict=True):
        near = [(d, i) for d, i in one if d <= radius]
        assert {i for d, i in near if d < radius * (1 - 1e-9)} <= set(got.tolist())
        assert set(got.tolist()) <= {i for d, i in one if d <= radius * (1 + 1e-9)}


def check_partial_fit_numbers(rng):
    """Rows of a regressor given in parts vote as rows given at once."""
    X, _ = table(rng)
    target = rng.normal(size=len(X))
    k = int(rng.integers(1, 4))
    whole, grown = (wb.WeightedKNeighborsRegressor(min(k, len(X))) for _ in range(2))
    whole.fit(X, target)
    for part in np.split(np.arange(len(X)), np.sort(rng.integers(1, len(X) + 1, size=2))):
        if len(part):
            grown.partial_fit(X[part], target[part])
    np.testing.assert_array_equal(grown.predict(X), whole.predict(X))


def check_learned_votes_numbers(rng):
    """Learned votes with numeric targets, of all rows and of the nearest rows."""
    made = coded_table(int(rng.integers(2**31)), int(rng.integers(12, 30)), categories=int(rng.integers(0, 3)),
                       missing=0.1 if rng.random() < 0.3 else 0.0)  # fmt: skip
    y = rng.normal(size=(len(made.X), 2))
    width, ridge, p = float(rng.choice([0.5, 1.5])), float(rng.choice([0.1, 1.0])), int(rng.integers(1, 3))
    options = {"p": p, "nominal": made.nominal.tolist()}
    model = wb.LearnedVotesRegressor(None, None, p=p, width=width, ridge=ridge, categorical_features=made.nominal)
    model.fit(made.X, y)
    K = learned_votes.kernel(learned_votes.all_distances(made.X, **options), width)
    np.testing.assert_allclose(model.alpha_, learned_votes.ridge_votes(K, y, ridge), atol=1e-7)
    left_out = learned_votes.left_out_scores(K, y, ridge)
    np.testing.assert_allclose(model.loo_predictions_, left_out, atol=1e-6)
    if made.nominal.any() or np.isnan(made.X).any():
        return  # ties of categories: the nearest rows are a matter of order
    near = wb.LearnedVotesRegressor(5, None, p=p, width=width, ridge=ridge).fit(made.X, y)
    queries = made.X[:4] + 0.1
    wanted = learned_votes.local_scores(queries, made.X, y, 5, width, ridge, p=p)
    np.testing.assert_allclose(near.predict(queries), wanted, atol=1e-8)


def check_gradient_weights(rng):
    """Weights from the change of the scores: the order of columns and rows changes no more than rounding."""
    made = coded_table(int(rng.integers(2**31)), int(rng.integers(14, 30)), categories=int(rng.integers(0, 2)))
    columns = rng.permutation(made.X.shape[1])
    model = wb.GradientWeights(random_state=0, categorical_features=made.nominal).fit(made.X, made.codes)
    turned = wb.GradientWeights(random_state=0, categorical_features=made.nominal[columns]).fit(
        made.X[:, columns], made.codes
    )
    np.testing.assert_allclose(turned.feature_weights_, model.feature_weights_[columns], rtol=1e-4, atol=1e-7)
    assert np.isfinite(model.feature_weights_).all()
    assert (model.feature_weights_ >= 0).all()


def check_nca(rng):
    """The objective of NCAWeights at its weights, by loops, and no better point nearby."""
    X, nominal = table(rng)
    X = X[:20]
    numeric = bool(rng.random() < 0.5)
    y = rng.normal(size=len(X)) if numeric else labels(rng, len(X))
    kind = "numeric" if numeric else "classes"
    model = wb.NCAWeights(categorical_features=nominal, target_type=kind).fit(X, y)
    rows, gaps = nca.standardized(X, nominal)
    target = (y / y.std()).tolist() if numeric else y.tolist()

    def value_of(w):
        return nca.objective(rows, gaps, nominal, target, list(w), numeric=numeric, regularization=1 / len(X))

    w = model.feature_weights_
    best = value_of(w)
    assert abs(model.objective_ - best) < 1e-9
    for _ in range(3):
        # The objective is even in each weight, so a weight of 0 is a stationary point, and only others move.
        near = w + 1e-4 * rng.normal(size=len(w)) * (w > 0)
        assert value_of(near) <= best + 1e-6


def check_scores(rng):
    """Moderated F of classes and numbers, with missing values."""
    n, m, share = int(rng.integers(8, 30)), int(rng.integers(2, 12)), float(rng.choice([0.25, 0.75]))
    X, numeric = rng.normal(size=(n, m)), bool(rng.random() < 0.5)
    if rng.random() < 0.5:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.normal(size=n) if numeric else rng.permutation(np.arange(n) % int(rng.integers(2, 4)))
    X[:6] = np.where(np.isnan(X[:6]), 0.1 * np.arange(6)[:, None], X[:6])
    found = wb.ScoreWeigher(offset=share, target_type="numeric" if numeric else "classes").fit(X, y).feature_weights_
    wanted = scores.moderated_f(X.T.tolist(), y.tolist(), numeric=numeric, share=share)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-12)


def check_redundancy(rng):
    """Groups of features by complete linkage, in any order of the columns."""
    n, d, threshold = int(rng.integers(10, 80)), int(rng.integers(3, 14)), float(rng.choice([0.3, 0.5, 0.8]))
    base = rng.normal(size=(n, 3))
    X = base[:, rng.integers(0, 3, d)] + rng.uniform(0.1, 1.2) * rng.normal(size=(n, d))
    values = FeatureSimilarity(X, np.zeros(d, bool)).block(np.arange(d), np.arange(d))
    for f, g in rng.integers(0, d, size=(4, 2)):
        if f != g:
            wanted = abs(redundancy.rank_correlation(X[:, f].tolist(), X[:, g].tolist()))
            assert abs(values[f, g] - wanted) < 1e-9
    # Ranks of few rows have equal correlations, of which either may be merged first, and some that are the threshold
    # itself but for rounding.
    if np.diff(np.sort(np.append(values[np.triu_indices(d, 1)], threshold))).min() < 1e-9:
        return
    found = find_groups(FeatureSimilarity(X, np.zeros(d, bool)), threshold, seeds=np.random.SeedSequence(0)).groups
    ours = {frozenset(np.flatnonzero(found == one).tolist()) for one in np.unique(found)}
    assert ours == {frozenset(group) for group in redundancy.complete_linkage(values, threshold)}
    order, public = rng.permutation(d), redundancy_groups(X, threshold=threshold).groups
    turned = redundancy_groups(X[:, order], threshold=threshold).groups
    same = public[:, None] == public[None, :]
    np.testing.assert_array_equal(turned[:, None] == turned[None, :], same[np.ix_(order, order)])


def check_selection_curve(rng):
    """Scores of the best features on the rows left out, one fold and one size at a time."""
    n, d, numeric = int(rng.integers(24, 50)), int(rng.integers(3, 9)), bool(rng.random() < 0.5)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + rng.normal(size=n) if numeric else rng.permutation(np.arange(n) % 2)
    parts = np.array_split(rng.permutation(n), 3)
    folds = [(np.setdiff1d(np.arange(n), part), np.sort(part)) for part in parts]
    sizes = sorted({1, int(rng.integers(1, d + 1)), d})

    def rank(X, y):
        return np.abs(r_regression(X, np.asarray(y, dtype=float)))

    found = selection_curve(rank, X, y, folds, sizes=sizes, n_shuffles=0, stand_ins=None).scores()
    model, score = (KNeighborsRegressor, r2_score) if numeric else (KNeighborsClassifier, accuracy_score)
    wanted, _ = redundancy.score_curve(rank, X, y, folds, sizes, lambda: model(5), score)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def check_stability_selection(rng):
    """A whole selection is the same for every thread count."""
    n, d = int(rng.integers(16, 30)), int(rng.integers(2, 8))
    X, numeric = rng.integers(0, 6, size=(n, d)).astype(float), bool(rng.random() < 0.5)
    y = rng.normal(size=n) if numeric else rng.permutation(np.arange(n) % 2)
    more = {"groups": rng.permutation(np.arange(n) // 2)} if rng.random() < 0.3 else {}
    weigher = wb.ScoreWeigher() if rng.random() < 0.5 else (wb.RReliefF(2) if numeric else wb.ReliefF(2))
    options = {"n_pairs": 3, "n_permutations": 2, "target_fp": 2.0, "random_state": int(rng.integers(99))}
    options["target_type"] = "numeric" if numeric else "classes"
    try:
        one = wb.StabilitySelection(weigher, n_jobs=1, **options).fit(X, y, **more)
    except InvalidDataError:
        return  # a half sample of few groups may have one class only
    three = wb.StabilitySelection(weigher, n_jobs=3, **options).fit(X, y, **more)
    pd.testing.assert_frame_equal(three.frame(), one.frame())


def columns_of(rng, n):
    """A table as users have it: numbers, integers, booleans, text, categories, dates; some values are missing."""
    made = {
        "größe": rng.normal(size=n) * 10.0 ** rng.integers(-3, 4),
        "count": rng.integers(0, 5, n),
        "flag": rng.random(n) < 0.5,
        "colour": rng.choice(["red", "green", "bläu", "="], n),
        "kind": pd.Categorical(rng.choice(list("abc"), n)),
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
    }
    names = rng.permutation(list(made))[: int(rng.integers(1, len(made) + 1))]
    frame = pd.DataFrame({name: made[name] for name in names})
    if rng.random() < 0.5:
        frame = frame.astype(object).mask(rng.random(frame.shape) < 0.1).infer_objects()
    return frame


def check_tables(rng, place):
    """Estimators of tables as they are: a saved and loaded model has the same answers, also on other containers."""
    n = int(rng.integers(12, 40))
    X, numeric = columns_of(rng, n), bool(rng.random() < 0.5)
    y = rng.normal(size=n) if numeric else rng.choice(["ja", "nein"], n)
    y[:2] = [0.0, 1.0] if numeric else ["ja", "nein"]
    kind = wb.TableRegressor if numeric else wb.TableClassifier
    inner = [
        wb.WeightedKNeighborsRegressor(3) if numeric else wb.WeightedKNeighborsClassifier(3),
        wb.LearnedVotesRegressor() if numeric else wb.LearnedVotesClassifier(),
    ][int(rng.integers(2))]
    try:
        model = kind(inner).fit(X, y)
    except WeighborsError:
        return  # no usable column
    answers = model.predict(X)
    model.save(place / "model.wb")
    loaded = kind.load(place / "model.wb")
    np.testing.assert_array_equal(loaded.predict(X), answers)
    order = rng.permutation(n)
    turned = X.iloc[order][rng.permutation(X.columns)]  # columns are found by their names
    found = loaded.predict(turned)
    if numeric:  # sums over the stored rows are rounded by their place in a block of queries
        np.testing.assert_allclose(found, answers[order], rtol=1e-12, atol=1e-13)
    else:
        np.testing.assert_array_equal(found, answers[order])


ESTIMATORS = {name: one for name, one in public_estimators().items()
              if not name.startswith(("Table", "InstanceSampler", "StabilitySelection"))}  # fmt: skip


def check_any_estimator(rng):
    """Threads, layout and container of the array change no bit of any estimator, and the array stays as it is."""
    name = str(rng.choice(sorted(ESTIMATORS)))
    model = clone(ESTIMATORS[name])
    n, m = int(rng.integers(20, 45)), int(rng.integers(2, 7))
    X = rng.integers(0, 9, size=(n, m)).astype(float)
    numbers = is_regressor(model) or name == "RReliefF"
    y = rng.normal(size=n) if numbers else rng.permutation(np.arange(n) % int(rng.integers(2, 4)))
    read_only = X.copy()
    read_only.flags.writeable = False
    shifted = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(X.shape)  # no multiple of 8
    shifted[...] = X
    wanted = results_of(model, X, y)
    for given in (np.asfortranarray(X), read_only, shifted, np.repeat(X, 2, axis=0)[::2], pd.DataFrame(X)):
        other = clone(model)
        if "n_jobs" in other.get_params():
            other.set_params(n_jobs=int(rng.integers(1, 4)))
        before = np.array(given)
        for part, found in results_of(other, given, y).items():
            np.testing.assert_array_equal(found, wanted[part], err_msg=f"{name} {part}")
        np.testing.assert_array_equal(np.array(given), before)


def results_of(model, X, y):
    """Fit a model and return what it learned and answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        found = {}
        for part in ("feature_weights_", "instance_weights_", "instance_support_"):
            if getattr(model, part, None) is not None:
                found[part] = getattr(model, part)
        if hasattr(model, "kneighbors"):
            found["kneighbors"] = model.kneighbors(X)[1]
        if is_classifier(model) or is_regressor(model):
            found["predict"] = model.predict(X)
        if is_classifier(model):
            found["predict_proba"] = model.predict_proba(X)
        return found


NEWER_CHECKS = [check_votes, check_partial_fit_numbers, check_learned_votes_numbers,
                check_gradient_weights, check_nca, check_scores, check_redundancy, check_selection_curve,
                check_any_estimator, check_stability_selection]  # fmt: skip
#: Checks that also need a directory.
NEWER_FILE_CHECKS = [check_tables]
