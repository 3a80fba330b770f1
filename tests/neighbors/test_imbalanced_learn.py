"""imbalanced-learn's samplers keep and make the same rows with our search as with their own, and take weights."""

import numpy as np
import pandas as pd
import pytest
from imblearn.combine import SMOTEENN
from imblearn.over_sampling import ADASYN, SMOTE, SMOTENC, SVMSMOTE, BorderlineSMOTE, KMeansSMOTE
from imblearn.pipeline import make_pipeline
from imblearn.under_sampling import (
    AllKNN,
    CondensedNearestNeighbour,
    EditedNearestNeighbours,
    InstanceHardnessThreshold,
    NearMiss,
    NeighbourhoodCleaningRule,
    OneSidedSelection,
    RepeatedEditedNearestNeighbours,
    TomekLinks,
)
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from weighbors import ReliefF, WeightedKNeighborsClassifier, WeightedNearestNeighbors, Weights
from weighbors.datasets import load_dataset
from weighbors.exceptions import InvalidDataError

REAL = ("glass", "ionosphere", "parkinsons", "pop-failures", "sonar", "spectf", "vehicle", "wdbc")


def made(seed):
    """An imbalanced table of two or three classes that overlap, without equal distances."""
    rng = np.random.default_rng(seed)
    counts = [60, 25] if seed % 2 else [50, 25, 20]
    y = np.repeat(np.arange(len(counts)), counts)
    rows = rng.normal(size=(len(y), 2 + seed % 7)) + 0.9 * y[:, None]
    order = rng.permutation(len(y))
    return rows[order], y[order]


def real(name):
    """A real table, standardised, at most 200 different rows. The same rows of different classes are left out."""
    data = load_dataset(name, "C_uci")
    rows, first = np.unique(np.asarray(data.X, dtype=np.float64), axis=0, return_index=True)
    order = np.random.default_rng(0).permutation(len(rows))[:200]
    rows, labels = StandardScaler().fit_transform(rows)[order], np.unique(data.y[first], return_inverse=True)[1][order]
    enough = np.bincount(labels)[labels] >= 12  # samplers that make rows need several of each class
    return rows[enough], np.unique(labels[enough], return_inverse=True)[1]


@pytest.fixture(
    params=[f"made {seed}" for seed in range(12)] + [pytest.param(name, marks=pytest.mark.data) for name in REAL]
)
def table(request):
    """Twenty tables."""
    if request.param.startswith("made"):
        return made(int(request.param.split()[1]))
    return real(request.param)


def search(ours, k):
    return WeightedNearestNeighbors(k) if ours else NearestNeighbors(n_neighbors=k)


def classifier(ours, k):
    return WeightedKNeighborsClassifier(k) if ours else KNeighborsClassifier(k)


#: Every sampler that takes a search or a k-NN, as a function of whether it is ours.
SAMPLERS = {
    "ENN": lambda ours: EditedNearestNeighbours(n_neighbors=search(ours, 4)),
    "ENN, mode": lambda ours: EditedNearestNeighbours(n_neighbors=search(ours, 4), kind_sel="mode"),
    "RENN": lambda ours: RepeatedEditedNearestNeighbours(n_neighbors=search(ours, 4)),
    "AllKNN": lambda ours: AllKNN(n_neighbors=search(ours, 4)),
    "NearMiss 1": lambda ours: NearMiss(version=1, n_neighbors=search(ours, 3)),
    "NearMiss 2": lambda ours: NearMiss(version=2, n_neighbors=search(ours, 3)),
    "NearMiss 3": lambda ours: NearMiss(version=3, n_neighbors=search(ours, 3), n_neighbors_ver3=search(ours, 3)),
    "NCR": lambda ours: NeighbourhoodCleaningRule(
        edited_nearest_neighbours=EditedNearestNeighbours(n_neighbors=search(ours, 4)), n_neighbors=classifier(ours, 3)
    ),
    "instance hardness": lambda ours: InstanceHardnessThreshold(estimator=classifier(ours, 5), random_state=0, cv=3),
    "SMOTE": lambda ours: SMOTE(k_neighbors=search(ours, 6), random_state=0),
    "SMOTE, borderline": lambda ours: BorderlineSMOTE(
        k_neighbors=search(ours, 6), m_neighbors=search(ours, 11), random_state=0
    ),
    "SMOTE, SVM": lambda ours: SVMSMOTE(k_neighbors=search(ours, 6), m_neighbors=search(ours, 11), random_state=0),
    "SMOTE, k-means": lambda ours: KMeansSMOTE(
        k_neighbors=search(ours, 3),
        kmeans_estimator=KMeans(2, n_init=1, random_state=0),
        cluster_balance_threshold=0.01,
        random_state=0,
    ),
    "ADASYN": lambda ours: ADASYN(n_neighbors=search(ours, 6), random_state=0),
    "SMOTE + ENN": lambda ours: SMOTEENN(
        smote=SMOTE(k_neighbors=search(ours, 6), random_state=0),
        enn=EditedNearestNeighbours(n_neighbors=search(ours, 4)),
    ),
}


def resampled(sampler, rows, labels):
    """Rows, labels and row numbers that a sampler gives, or the message of its refusal."""
    try:
        out = sampler.fit_resample(rows, labels)
    except (ValueError, RuntimeError) as error:
        return str(error)
    return (*out, getattr(sampler, "sample_indices_", None))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_keep_and_make_the_same_rows(name, table):
    ours, theirs = (resampled(SAMPLERS[name](mine), *table) for mine in (True, False))
    if isinstance(theirs, str):  # such as ADASYN, which may find nothing to make
        assert ours == theirs
        return
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def tomek_links(rows, labels, weigher=None):
    """Rows that are left after Tomek links, by imbalanced-learn's rule on our neighbours."""
    nearest = WeightedNearestNeighbors(1, weigher).fit(rows).kneighbors(return_distance=False)[:, 0]
    minority = np.bincount(labels).argmin()
    links = TomekLinks.is_tomek(labels, nearest, [c for c in np.unique(labels) if c != minority])
    return np.flatnonzero(~np.asarray(links))


def test_tomek_links_follow_from_our_neighbours(table):
    sampler = TomekLinks()
    sampler.fit_resample(*table)
    np.testing.assert_array_equal(tomek_links(*table), sampler.sample_indices_)


WEIGHTED = ("ENN", "ENN, mode", "RENN", "NearMiss 1", "NearMiss 2", "SMOTE", "SMOTE, borderline", "ADASYN")


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_weights_act_as_scaled_columns(name, seed):
    """With weights a, samplers keep the rows that they keep on columns multiplied by √a, unscaled."""
    rows, labels = made(seed + 5)
    a = np.array([0.25, 4.0, 1.0, 0.0, 9.0, 2.25, 1.0, 1.0])[: rows.shape[1]]
    sampler = SAMPLERS[name](True)
    for param in ("n_neighbors", "k_neighbors", "m_neighbors"):
        if isinstance(getattr(sampler, param, None), WeightedNearestNeighbors):
            getattr(sampler, param).set_params(weigher=Weights(feature_weights=a))
    ours = resampled(sampler, rows, labels)
    theirs = resampled(SAMPLERS[name](False), rows * np.sqrt(a), labels)
    np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_allclose(ours[0] * np.sqrt(a), theirs[0], atol=1e-12)


def test_learned_weights_change_what_a_sampler_keeps():
    rows, labels = made(8)
    rows = np.column_stack([rows, np.random.default_rng(0).normal(size=(len(rows), 5)) * 3])
    weights = ReliefF().fit(rows, labels).weights_
    plain = EditedNearestNeighbours(n_neighbors=WeightedNearestNeighbors(4))
    weighted = EditedNearestNeighbours(n_neighbors=WeightedNearestNeighbors(4, weights))
    assert len(weighted.fit_resample(rows, labels)[1]) > len(plain.fit_resample(rows, labels)[1])
    with pytest.raises(InvalidDataError, match="weigher=ReliefF"):
        EditedNearestNeighbours(n_neighbors=WeightedNearestNeighbors(4, ReliefF())).fit_resample(rows, labels)


def test_categories_pass_as_numbers_and_the_search_treats_them_as_categories():
    """Codes of categories pass the samplers' checks; the search is told which columns they are."""
    rng = np.random.default_rng(0)
    rows, labels = made(3)
    rows = np.column_stack([rows, rng.integers(0, 4, len(rows)) * 10.0])
    nearest = WeightedNearestNeighbors(4, categorical_features=[rows.shape[1] - 1])
    sampler = EditedNearestNeighbours(n_neighbors=nearest)
    sampler.fit_resample(rows, labels)
    assert sampler.nn_.categorical_features == [rows.shape[1] - 1]
    # Two different categories are at distance 1, as the columns of a one-hot code divided by √2 are.
    encoded = np.column_stack([rows[:, :-1], (rows[:, -1:] == [0, 10, 20, 30]) / np.sqrt(2)])
    expected = EditedNearestNeighbours(n_neighbors=NearestNeighbors(n_neighbors=4))
    expected.fit_resample(encoded, labels)
    np.testing.assert_array_equal(sampler.sample_indices_, expected.sample_indices_)


def test_what_the_samplers_own_checks_let_through():
    """The statements of the guide about input that imbalanced-learn refuses before any search."""
    rows, labels = made(1)
    sampler = EditedNearestNeighbours(n_neighbors=WeightedNearestNeighbors(4))
    expected = sampler.fit_resample(rows, labels)[0]
    found = sampler.fit_resample(pd.DataFrame(rows).add_prefix("x"), labels)[0]
    np.testing.assert_array_equal(found.to_numpy(), expected)
    np.testing.assert_array_equal(sampler.fit_resample(sparse.csr_matrix(rows), labels)[0].toarray(), expected)
    holes = rows.copy()
    holes[0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        sampler.fit_resample(holes, labels)
    with pytest.raises(ValueError, match="could not convert string to float"):
        sampler.fit_resample(pd.DataFrame(rows).add_prefix("x").assign(colour="red"), labels)
    mixed = pd.DataFrame(rows).add_prefix("x").assign(colour=np.where(labels == 1, "red", "blue"))
    made_rows = SMOTENC(["colour"], k_neighbors=WeightedNearestNeighbors(6), random_state=0).fit_resample(mixed, labels)
    theirs = SMOTENC(["colour"], k_neighbors=5, random_state=0).fit_resample(mixed, labels)
    pd.testing.assert_frame_equal(made_rows[0], theirs[0])


def test_what_builds_its_own_search():
    """AllKNN replaces the search by numbers, and two samplers take scikit-learn's classifier only."""
    rows, labels = made(1)
    far = Weights(feature_weights=[1.0, *[0.0] * (rows.shape[1] - 1)])
    plain, weighted = (AllKNN(n_neighbors=WeightedNearestNeighbors(4, weigher)) for weigher in (None, far))
    np.testing.assert_array_equal(plain.fit_resample(rows, labels)[0], weighted.fit_resample(rows, labels)[0])
    for sampler in (CondensedNearestNeighbour, OneSidedSelection):
        for given in (WeightedNearestNeighbors(1), WeightedKNeighborsClassifier(1)):
            with pytest.raises(UnboundLocalError):
                sampler(n_neighbors=given).fit_resample(rows, labels)


def test_a_pipeline_takes_the_sampler():
    rows, labels = made(4)
    sampler = EditedNearestNeighbours(n_neighbors=WeightedNearestNeighbors(4), n_jobs=2)
    assert make_pipeline(sampler, GaussianNB()).fit(rows, labels).score(rows, labels) > 0.6
