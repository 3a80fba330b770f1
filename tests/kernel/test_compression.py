"""Votes of all rows compressed to few stored rows, against a loop that solves again for every row that could leave."""

import numpy as np
import pytest
from naive.kernel_votes import all_distances, column_ranges, distances, eliminate, penalised_error
from scipy import sparse

from weighbors import KernelVotesClassifier, KernelVotesRegressor, Weights
from weighbors.engine import build_references
from weighbors.kernel import compression, fit_stored
from weighbors.kernel.compression import compress_votes, eliminate_rows, recombine_rows
from weighbors.kernel.metric import Metric
from weighbors.kernel.ridge import solve_all


def kernels(seed, n=24, *, repeated=False):
    """Return the kernel of points and rows, that of the rows, and scores of two outputs at the points."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    if repeated:  # Equal rows make the kernel singular.
        rows[n // 2 :] = rows[: n - n // 2]
    points = np.concatenate([rows, rng.normal(size=(2 * n, 3))])
    kernel = np.exp(-np.abs(points[:, None] - rows[None]).sum(axis=2) / (0.5 if seed % 3 else 4.0))
    return kernel, kernel[:n], kernel @ rng.normal(size=(n, 2))


def compressed(kernel, inside, ridge, scores, n_kept, **options):
    return eliminate_rows(kernel.T @ kernel, ridge * inside, kernel.T @ scores, n_kept, **options)


@pytest.mark.parametrize("seed", range(12))
def test_one_by_one_is_the_naive_loop(seed):
    kernel, inside, scores = kernels(seed)
    ridge = 1e-3 if seed % 2 else 0.3
    for n_kept in (20, 9, 1):
        kept, beta = compressed(kernel, inside, ridge, scores, n_kept, batch=1)
        expected, votes = eliminate(kernel, ridge * inside, scores, n_kept)
        np.testing.assert_array_equal(kept, expected)
        np.testing.assert_allclose(beta, votes, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_leave_together_cost_little_more(seed):
    kernel, inside, scores = kernels(seed, 150)
    errors = []
    for batch in (1, 16):
        kept, beta = compressed(kernel, inside, 1e-3, scores, 30, batch=batch)
        error, votes = penalised_error(kernel, 1e-3 * inside, scores, kept)
        np.testing.assert_allclose(beta, votes, rtol=1e-4, atol=1e-6)
        errors.append(error)
    draws = [np.random.default_rng(draw).choice(150, 30, replace=False) for draw in range(5)]
    drawn = np.mean([penalised_error(kernel, 1e-3 * inside, scores, rows)[0] for rows in draws])
    assert errors[1] - errors[0] < 0.1 * (drawn - errors[0])


def test_of_equal_rows_one_is_left():
    kernel, inside, scores = kernels(1, 40, repeated=True)
    kept, _ = compressed(kernel, inside, 1e-3, scores, 20, batch=4)
    assert len(np.unique(kept % 20)) == 20


def test_all_or_none_may_leave():
    kernel, inside, scores = kernels(3)
    np.testing.assert_array_equal(compressed(kernel, inside, 0.1, scores, 24)[0], np.arange(24))
    assert len(compressed(kernel, inside, 0.1, scores, 1)[0]) == 1
    # No row is at a distance from any other: any one will do.
    ones = np.ones((24, 24))
    assert len(compressed(ones, ones, 1e-3, ones[:, :1], 2)[0]) == 2


@pytest.mark.parametrize("seed", range(6))
def test_rows_with_votes_of_several_widths_leave_as_in_the_naive_loop(seed):
    kernel, _, scores = kernels(seed, 14)
    # A narrower kernel is a power of a wider one. Row i has the columns 3 i, 3 i + 1 and 3 i + 2.
    design = np.stack([kernel, kernel**0.5, kernel**2], axis=2).reshape(len(kernel), -1)
    penalty = 0.01 * np.eye(design.shape[1])
    for n_kept in (13, 5, 1):
        kept, beta = eliminate_rows(
            design.T @ design, penalty, design.T @ scores, n_kept, n_widths=3, batch=1 if seed % 2 else 4
        )
        expected, votes = eliminate(design, penalty, scores, n_kept, n_widths=3)
        np.testing.assert_array_equal(kept, expected)
        np.testing.assert_allclose(beta, votes, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(("n_kept", "n_widths"), [(3, 4), (8, 4), (11, 3), (17, 2), (18, 1)])
def test_votes_of_several_widths_are_fitted_to_the_scores(monkeypatch, n_kept, n_widths, at_once):
    monkeypatch.setattr(compression, "RECOMBINED", 0)  # then the points are the rows
    monkeypatch.setattr(compression, "MOST_COLUMNS", 4000 if at_once else 0)
    rng = np.random.default_rng(n_kept)
    rows, Y = rng.normal(size=(35, 3)), rng.normal(size=(35, 2))
    distance, candidates = all_distances(rows, p=1), np.arange(1, 35)
    solution = solve_all(distance, 2.0, 0.05, Y)
    metric = Metric(build_references(rows, weights=Weights(), p=1))
    stored, votes = compress_votes(metric, solution, candidates, n_kept, rng)
    assert np.isin(stored, candidates).all()
    widths = [width for width, _ in votes]
    assert widths == [2.0, 4.0, 8.0, 1.0][:n_widths]
    scores = np.exp(-distance / 2.0) @ solution.alpha
    # The rows that stay, by the naive loop: first with one width, and if they have several, the last half with all.
    kernel = np.exp(-distance[:, candidates] / 2.0)
    first = n_kept if n_widths == 1 or not at_once else min(2 * n_kept, 34)
    expected, beta = eliminate(kernel, 1e-3 * kernel[candidates], scores, first)
    if n_widths > 1:
        design = np.array([np.exp(-distance[:, candidates[row]] / width) for row in expected for width in widths]).T
        kept, beta = eliminate(design, 0.01 * np.eye(design.shape[1]), scores, n_kept, n_widths=n_widths)
        expected = expected[kept]
    np.testing.assert_array_equal(stored, candidates[expected])
    for place, (_, found) in enumerate(votes):
        np.testing.assert_allclose(found, beta[place::n_widths], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("weight", [None, np.arange(200) % 4])
def test_votes_of_all_widths_add_up_to_alpha(weight):
    X, numbers = a_table(200)
    for model, y in ((KernelVotesRegressor(n_stored=0.1), numbers), (KernelVotesClassifier(n_stored=0.1), numbers > 0)):
        model.fit(X, y, sample_weight=weight)
        assert len(model.votes_by_width_) == 4
        assert next(iter(model.votes_by_width_)) == model.width_
        np.testing.assert_allclose(sum(model.votes_by_width_.values()), model.alpha_, rtol=1e-9)
        explained, scores = model.explain(X[:3]).frame(), getattr(model, "decision_function", model.predict)(X[:3])
        cast = explained[[name for name in explained if name.split()[0] == "vote"]].groupby(explained["query"]).sum()
        shown = cast.to_numpy()  # The scores of two classes are shown as their difference.
        shown = shown[:, 0] if shown.shape[1] == 1 else shown[:, 1] - shown[:, 0]
        np.testing.assert_allclose(shown, scores, rtol=1e-9, atol=1e-9)
        whole = type(model)(weigher=None).fit(X, y)
        assert list(whole.votes_by_width_) == [whole.width_]
        assert whole.votes_by_width_[whole.width_] is whole.alpha_
        assert type(model)(n_neighbors=10).fit(X, y).votes_by_width_ is None


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_cells_of_recombined_rows_come_from_two_rows(container):
    rows = np.arange(40.0).reshape(8, 5) + 1.0
    before = rows.copy()
    mixed = recombine_rows(container(rows), np.arange(5), 500, np.random.default_rng(0))
    np.testing.assert_array_equal(rows, before)
    assert mixed.shape == (500, 5)
    of_row = (mixed - 1.0) // 5
    assert (of_row * 5 + np.arange(5) + 1.0 == mixed).all()  # every cell stays in its column
    n_parents = np.array([len(np.unique(parents)) for parents in of_row])
    assert set(n_parents) == {1, 2}
    assert abs((of_row == of_row[:, :1]).mean() - 0.65) < 0.05  # 1 of 5, and of the others 9 of 16


def a_table(n=700):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, X[:, 0] * X[:, 1]


def test_compressed_votes_lose_less_than_drawn_rows():
    X, numbers = a_table()
    y = (numbers > 0).astype(int)
    scores = {
        by: KernelVotesClassifier(weigher=None, n_stored=0.1, stored_by=by)
        .fit(X[:400], y[:400])
        .score(X[400:], y[400:])
        for by in ("compression", "draw")
    }
    assert scores["compression"] > scores["draw"] + 0.02
    for n_stored, n_voting in ((0.1, 40), (25, 25), (399, 399), (4000, 400)):
        model = KernelVotesRegressor(weigher=None, n_stored=n_stored).fit(X[:400], numbers[:400])
        assert model.plan_.n_voting == n_voting == np.count_nonzero(model.alpha_)
    assert KernelVotesClassifier(weigher=None, n_stored=399).fit(X[:400], y[:400]).score(X, y) == pytest.approx(
        KernelVotesClassifier(weigher=None).fit(X[:400], y[:400]).score(X, y), abs=0.01
    )


def test_scores_of_rows_left_out_are_near_those_of_a_refit():
    X, numbers = a_table(120)
    given = {"width": 4.0, "ridge": 0.1, "weigher": None, "n_stored": 40}
    model = KernelVotesRegressor(**given).fit(X, numbers)
    refitted = [
        KernelVotesRegressor(**given).fit(np.delete(X, row, axis=0), np.delete(numbers, row)).predict(X[[row]])[0]
        for row in range(0, 120, 6)
    ]
    left_out, fitted = model.loo_predictions_[::6], model.predict(X)[::6]
    assert np.corrcoef(left_out, refitted)[0, 1] > np.corrcoef(fitted, refitted)[0, 1]
    assert np.mean((left_out - refitted) ** 2) < 0.1 * np.var(numbers)


def test_many_rows_are_drawn_first(monkeypatch):
    monkeypatch.setattr(fit_stored, "POOL", (150, 300))
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 2))
    y = (X[:, 0] > X[:, 1]).astype(int)
    models = [KernelVotesClassifier(weigher=None, n_stored=20, n_jobs=jobs).fit(X, y) for jobs in (1, 2)]
    assert np.count_nonzero(models[0].alpha_.any(axis=1)) == 20
    np.testing.assert_array_equal(models[0].alpha_, models[1].alpha_)
    assert models[0].score(X, y) > 0.95


def test_stored_rows_are_among_those_that_the_weights_select():
    X, numbers = a_table(90)
    mask = np.arange(90) % 3 == 0
    model = KernelVotesRegressor(weigher=Weights(instance_mask=mask), n_stored=12).fit(X, numbers)
    stored = np.flatnonzero(model.alpha_)
    assert len(stored) == 12
    assert mask[stored].all()


def test_missing_cells_categories_and_weights():
    import pandas as pd

    X, numbers = a_table(80)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "up", "down"))
    frame.loc[::7, "b"] = np.nan
    model = KernelVotesRegressor(n_stored=0.5).fit(frame, numbers, sample_weight=np.arange(80) % 3)
    assert model.plan_.n_voting == round(0.5 * np.count_nonzero(np.arange(80) % 3))
    assert np.isfinite(model.predict(frame)).all()


@pytest.mark.parametrize("p", [1, 2])
def test_missing_cells_are_as_far_as_among_all_rows(p):
    rng = np.random.default_rng(0)
    X, numbers = rng.normal(size=(80, 3)), rng.normal(size=80)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = KernelVotesRegressor(n_stored=8, weigher=None, p=p).fit(X, numbers)
    stored = np.flatnonzero(model.alpha_)
    far = distances(X, X[stored], p=p, ranges=column_ranges(X, [False] * 3))
    votes = model.votes_by_width_
    assert len(votes) == 4
    expected = sum(np.exp(-far / width) @ alpha[stored] for width, alpha in votes.items()) + model.intercept_
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9, atol=1e-9)


def test_another_way_to_choose_is_refused():
    with pytest.raises(ValueError, match="stored_by"):
        KernelVotesClassifier(stored_by="random").fit([[0.0], [1.0], [2.0]], [0, 1, 1])
