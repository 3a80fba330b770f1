"""Learned votes: kernel ridge regression under the library's distance (methods page, "Learned votes").

`metric` measures distances, `solve` solves for the votes of all rows with leave-one-out in closed form, `choose`
chooses width and ridge, `gradient` weighs features from the solution, `local` solves for the votes of the k nearest
rows, and `calibration` turns scores into probabilities. `fit` puts these together.
"""
