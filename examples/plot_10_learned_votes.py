"""
Learned votes in one picture
============================

In a plain k-NN every neighbour has one vote, whether it brings news or repeats what ten
rows beside it say. ``LearnedVotesClassifier`` solves for the votes: they are signed,
and they are the ones that predict the training rows best.
"""

import matplotlib.pyplot as plt
import numpy as np

from weighbors import LearnedVotesClassifier, WeightedKNeighborsClassifier

# %%
# Two classes meet at a curve. One is crowded, of the other there are few rows. New rows
# are spread evenly, so that both sides of the curve count alike.


def draw_rows(n, rng):
    x = rng.uniform(-1, 1, size=(n, 2))
    return x, np.where(x[:, 1] > 0.45 * np.sin(3 * x[:, 0]), "rare", "common")


rng = np.random.default_rng(4)
X, y = draw_rows(400, rng)
kept = (y == "common") | (rng.random(len(y)) < 0.15)
X, y = X[kept][:190], y[kept][:190]
X_new, y_new = draw_rows(4000, rng)

plain = WeightedKNeighborsClassifier(9).fit(X, y)
learned = LearnedVotesClassifier(weigher=None).fit(X, y)
print(f"{(y == 'common').sum()} common rows, {(y == 'rare').sum()} rare ones")
for name, model in (("9 nearest", plain), ("learned votes", learned)):
    recall = (model.predict(X_new) == y_new)[y_new == "rare"].mean()
    print(f"{name:14} {model.score(X_new, y_new):.3f} right, {recall:.3f} of the rare")

# %%
# A row about which the two disagree, chosen because the plain k-NN gets it wrong. The
# figures above say how often each of them is right. Votes add up to the score of a
# class.
wrong = (plain.predict(X_new) != y_new) & (learned.predict(X_new) == y_new)
sure = learned.predict_proba(X_new).max(axis=1)
inside = np.abs(X_new).max(axis=1) < 0.6
chosen = np.flatnonzero(wrong & inside)
query = X_new[[chosen[sure[chosen].argmax()]]]
told = learned.explain(query)
print(told.iloc[:6, 1:7].round(3).to_string(index=False))
print("sum of all", told[["vote for common", "vote for rare"]].sum().round(3).tolist())

# %%
# The star is the row in question, the dashed curve the true border, and the shading
# what each model predicts. Left, the plain k-NN: nine rows have one vote each. Right,
# learned votes: the area of a row is the size of its vote. A filled row votes for its
# own class, a hollow one against it. The few rare rows near the border have large
# votes; crowded rows share theirs.
colours = {"common": "#0072b2", "rare": "#d55e00"}
grid = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 160)]), axis=-1)
figure, axes = plt.subplots(
    1, 2, figsize=(9, 4.7), layout="constrained", sharex=True, sharey=True
)
for ax, model in zip(axes, (plain, learned), strict=True):
    rare = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(160, 160) > 0.5
    ax.contourf(
        grid[..., 0], grid[..., 1], rare, [-1, 0.5, 2], colors=["#e3eef7", "#fbe6d8"]
    )
    curve = np.linspace(-1, 1, 200)
    ax.plot(curve, 0.45 * np.sin(3 * curve), color="#707070", lw=1, ls=(0, (4, 3)))
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal")

neighbors = plain.kneighbors(query, return_distance=False)[0]
for label, colour in colours.items():
    own = y == label
    axes[0].scatter(*X[own].T, s=12, color=colour)
    axes[1].scatter(*X[own].T, s=4, color=colour)
for row in neighbors:
    axes[0].plot(*np.stack([query[0], X[row]]).T, color=colours[y[row]], lw=1.2)
    axes[0].scatter(*X[row], s=70, color=colours[y[row]], edgecolor="white", zorder=3)

voters = told[told["voter"] == "row"]  # the largest votes come first
for row, for_rare in zip(
    voters["row"].astype(int), voters["vote for rare"], strict=True
):
    for_own = for_rare if y[row] == "rare" else -for_rare
    colour = colours[y[row]]
    axes[1].scatter(
        *X[row],
        s=500 * abs(for_rare),
        facecolor=colour if for_own > 0 else "none",
        edgecolor="white" if for_own > 0 else colour,
        linewidth=0.8,
    )
for ax, model in zip(axes, (plain, learned), strict=True):
    ax.scatter(*query[0], s=190, marker="*", color="black", ec="white", zorder=4)
    share = model.predict_proba(query)[0, 1]
    ax.set_title(
        f"{'9 nearest' if model is plain else 'learned votes'}: "
        f"{model.predict(query)[0]} ({share:.0%} rare)"
    )
handles = [
    plt.Line2D([], [], ls="", marker="o", color=colours["common"], label="common row"),
    plt.Line2D([], [], ls="", marker="o", color=colours["rare"], label="rare row"),
    plt.Line2D(
        [],
        [],
        ls="",
        marker="o",
        mfc="none",
        color="#404040",
        label="votes against its class",
    ),
    plt.Line2D([], [], ls=(0, (4, 3)), lw=1, color="#707070", label="true border"),
]
figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
