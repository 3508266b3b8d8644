"""Logistic regression with a ridge penalty and signs that are known beforehand, many fits at once.

A fit is a row of weights, as a resample is: leaving a fold out is weight 0, a conversation drawn twice weight 2. All
fits share one table of features, so cross-fitting thousands of resamples is a handful of matrix products.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Of the projected gradient, per unit of weight."""
_ROUNDING = 1e-13
"""Share of a loss below which two losses differ by rounding."""
_STEPS, _HALVINGS = 100, 40
_CHORDS, _SHRINKS, _CLOSER = 30, 0.01, 0.1
"""Steps of the chord method, how far each must shrink the gradient, and its share of the tolerance: it converges linearly."""


class Fits(NamedTuple):
    """`intercept` has shape (B,), `slopes` (B, d)."""

    intercept: Floats
    slopes: Floats

    def log_odds(self, x: Floats) -> Floats:
        """Return the log odds of rows x (n, d) under every fit, shape (B, n)."""
        return self.intercept[:, None] + self.slopes @ x.T


def fit(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike, *, penalty: ArrayLike = 1.0, signs: ArrayLike | None = None
) -> Fits:
    """Fit B logistic regressions to the same rows under different weights.

    Minimises Σ w log(1 + exp(-(2y-1)(a + xβ))) + ½ Σ penalty β² by projected Newton steps (Bertsekas 1982): slopes that
    stand at 0 and would leave their side are held, the others take a Newton step, which is shortened until it helps.
    The penalty makes the minimum unique, also where the classes can be told apart without an error.
    Where only one class has weight there is nothing to learn: slopes are 0, and the intercept is the log odds of
    (k + ½) / (n + 1), Jeffreys' guess.

    Args:
        x: shape (n, d), finite.
        y: shape (n,), True or 1 for the class whose odds are wanted.
        weights: shape (B, n), not negative.
        penalty: of the squared slopes, not of the intercept: one number, (d,) or (B, d). With the square of a feature's
            standard deviation this is the ridge penalty of the standardised feature.
        signs: shape (d,): 1 for slopes that may not be negative, -1 for those that may not be positive, 0 for free ones.

    Raises:
        ValueError: shapes do not fit together, a weight is negative, or a feature is not finite.
    """
    rows, wanted = np.atleast_2d(np.asarray(x, dtype=float)), np.asarray(y, dtype=float)
    weight_rows = np.atleast_2d(np.asarray(weights, dtype=float))
    n, d = rows.shape
    if wanted.shape != (n,) or weight_rows.shape[1] != n:
        raise ValueError(
            f"x has shape {rows.shape}, y {wanted.shape}, weights {weight_rows.shape}: they do not fit together"
        )
    if not np.isfinite(rows).all() or (weight_rows < 0).any():
        raise ValueError("features must be finite, and weights not negative")
    centre = rows.mean(axis=0) if n else np.zeros(d)  # far from 0, intercept and slopes would hide each other
    ridge = np.broadcast_to(np.asarray(penalty, dtype=float), (len(weight_rows), d))
    of_class, total = weight_rows @ wanted, weight_rows.sum(axis=1)
    solution = np.zeros((len(weight_rows), d + 1))
    solution[:, 0] = np.log((of_class + 0.5) / (total - of_class + 0.5))
    learn = np.flatnonzero((of_class > 0) & (of_class < total))
    if len(learn):
        problems = _problems(rows - centre, wanted, weight_rows[learn], ridge[learn], signs)
        # Resamples of the same rows have their minima close together, so all start from that of their mean.
        start = solution[learn[:1]]
        if len(learn) > 1:
            mean = problems._replace(
                weights=problems.weights.mean(axis=0)[None], ridge=problems.ridge.mean(axis=0)[None]
            )
            start = np.repeat(_minimised(mean, start), len(learn), axis=0)
        solution[learn] = _minimised(problems, start)
    return Fits(solution[:, 0] - solution[:, 1:] @ centre, solution[:, 1:])


def fit_without(
    x: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike,
    place: ArrayLike,
    parts: int,
    *,
    penalty: ArrayLike,
    near: Fits,
    signs: ArrayLike | None = None,
) -> Fits:
    """Fit B problems anew without each of their parts; the minima are those of `fit`, found sooner.

    A fit without a tenth of the rows lies close to the fit with them, so each starts there. Newton's step is taken with
    the Hessian of an earlier point as long as that shrinks the gradient tenfold (the chord method, Ortega and Rheinboldt
    1970, 7.1), which saves most of the work. What does not converge so is minimised as `fit` does it.

    Args:
        x: shape (n, d), finite.
        y: shape (n,).
        weights: shape (B, n), not negative.
        place: shape (B, n), the part of each row, 0 to parts - 1.
        parts: how many there are.
        penalty: shape (B, parts, d), as in `fit`.
        near: one fit, of the middle of all problems, where the search begins.
        signs: as in `fit`.

    Returns:
        Fits with B · parts rows, the parts of a problem one after the other.
    """
    rows, wanted, totals = np.asarray(x, dtype=float), np.asarray(y, dtype=float), np.asarray(weights, dtype=float)
    d = rows.shape[1]
    reduced = totals[:, None, :] * (np.asarray(place)[:, None, :] != np.arange(parts)[:, None])
    reduced = reduced.reshape(-1, len(wanted))
    ridges = np.broadcast_to(np.asarray(penalty, dtype=float), (len(totals), parts, d)).reshape(-1, d)
    of_class, total = reduced @ wanted, reduced.sum(axis=1)
    if not ((of_class > 0) & (of_class < total)).all():
        return fit(rows, wanted, reduced, penalty=ridges, signs=signs)
    centre = rows.mean(axis=0)
    problems = _problems(rows - centre, wanted, reduced, ridges, signs)
    with_all = problems._replace(weights=totals, ridge=problems.ridge.reshape(len(totals), parts, d + 1).mean(axis=1))
    start = np.column_stack([near.intercept + near.slopes @ centre, near.slopes])
    base = _chords(with_all, np.repeat(start, len(totals), axis=0))
    solution = _chords(problems, np.repeat(base, parts, axis=0))
    return Fits(solution[:, 0] - solution[:, 1:] @ centre, solution[:, 1:])


@functools.cache
def _upper(size: int) -> tuple[Codes, Codes]:
    """Return where the upper triangle of a matrix lies: asked for at every step, and dearer to find than to use."""
    return np.triu_indices(size)


def _problems(centred: Floats, wanted: Floats, weights: Floats, penalty: Floats, signs: ArrayLike | None) -> _Problems:
    n, d = centred.shape
    design = np.column_stack([np.ones(n), centred])
    ridge = np.column_stack([np.zeros(len(weights)), np.broadcast_to(penalty, (len(weights), d))])
    side = np.concatenate([[0.0], np.zeros(d) if signs is None else np.asarray(signs, dtype=float)])
    row, column = _upper(d + 1)
    return _Problems(design, design[:, row] * design[:, column], wanted, weights, ridge, side)


class _Problems(NamedTuple):
    """B problems: design (n, D), products of its columns (n, D (D + 1) / 2), y (n,), weights (B, n), ridge (B, D), side (D,)."""

    design: Floats
    squares: Floats
    y: Floats
    weights: Floats
    ridge: Floats
    side: Floats

    def some(self, selection: NDArray[np.intp] | NDArray[np.bool_]) -> _Problems:
        return self._replace(weights=self.weights[selection], ridge=self.ridge[selection])

    def loss(self, point: Floats) -> Floats:
        z = point @ self.design.T
        losses = np.maximum(z, 0.0) + np.log(1 + np.exp(-np.abs(z))) - self.y * z
        return np.asarray(np.einsum("bn,bn->b", self.weights, losses) + (self.ridge * point * point).sum(axis=1) / 2)

    def slope(self, point: Floats) -> tuple[Floats, Floats]:
        """Return gradients (B, D) and Hessians (B, D, D)."""
        p = self.probability(point)
        return self.gradient(point, p), self.hessian(p)

    def probability(self, point: Floats) -> Floats:
        return np.asarray(
            1 / (1 + np.exp(np.minimum(point @ -self.design.T, 700.0)))
        )  # special.expit takes four times as long

    def gradient(self, point: Floats, p: Floats) -> Floats:
        return np.asarray((self.weights * (p - self.y)) @ self.design + self.ridge * point)

    def hessian(self, p: Floats) -> Floats:
        size = self.design.shape[1]
        row, column = _upper(size)
        products = (self.weights * p * (1 - p)) @ self.squares
        hessian = np.empty((len(products), size, size))
        hessian[:, row, column] = hessian[:, column, row] = products
        hessian[:, range(size), range(size)] += (
            self.ridge + 1e-12
        )  # where p is 0 or 1 to the last digit, H would vanish
        return hessian

    def projected(self, point: Floats) -> Floats:
        return np.where(self.side * point < 0, 0.0, point)


def _minimised(problems: _Problems, start: Floats) -> Floats:
    solution, loss, open_ = start.copy(), problems.loss(start), np.arange(len(start))
    limit = TOLERANCE * problems.weights.sum(axis=1)
    for _ in range(_STEPS):
        remaining, point = problems.some(open_), solution[open_]
        gradient, hessian = remaining.slope(point)
        fixed = (remaining.side != 0) & (point == 0) & (remaining.side * gradient > 0)
        gradient = np.where(fixed, 0.0, gradient)
        hessian = np.where(fixed[:, :, None] | fixed[:, None, :], np.eye(point.shape[1]), hessian)
        step: Floats = np.linalg.solve(hessian, gradient[..., None])[..., 0].astype(np.float64)
        solution[open_], loss[open_], stuck = _shortened(remaining, point, loss[open_], gradient, step)
        open_ = open_[~stuck & (np.abs(gradient).max(axis=1) > limit[open_])]
        if not len(open_):
            break
    return solution


def _chords(problems: _Problems, start: Floats) -> Floats:
    """Minimise from a point close by; see `fit_without`."""
    solution, open_ = start.copy(), np.arange(len(start))
    limit = TOLERANCE * _CLOSER * problems.weights.sum(axis=1)
    remaining, point, hessian = problems, solution, np.empty((*start.shape, start.shape[1]))
    before = np.full(len(start), np.inf)
    for step_number in range(_CHORDS):
        p = remaining.probability(point)
        gradient = remaining.gradient(point, p)
        fixed = (remaining.side != 0) & (point == 0) & (remaining.side * gradient > 0)
        gradient = np.where(fixed, 0.0, gradient)
        size = np.abs(gradient).max(axis=1)
        unsolved = size > limit[open_]
        solution[open_] = point
        if not unsolved.any():
            return solution
        slow = size > before * _SHRINKS
        if not unsolved.all():
            open_, remaining, point, gradient, fixed = (
                open_[unsolved], remaining.some(unsolved), point[unsolved], gradient[unsolved], fixed[unsolved],
            )  # fmt: skip
            p, size, slow = p[unsolved], size[unsolved], slow[unsolved]
            hessian = hessian[unsolved]
        if step_number == 0:
            hessian = remaining.hessian(p)
        elif slow.any():
            hessian[slow] = remaining.some(slow).hessian(p[slow])
        curved = np.where(fixed[:, :, None] | fixed[:, None, :], np.eye(point.shape[1]), hessian)
        step: Floats = np.linalg.solve(curved, gradient[..., None])[..., 0].astype(np.float64)
        point, before = remaining.projected(point - step), size
    solution[open_] = _minimised(problems.some(open_), start[open_])
    return solution


def _shortened(
    problems: _Problems, point: Floats, before: Floats, gradient: Floats, step: Floats
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Halve each step until the loss falls as it should (Armijo 1966).

    Returns where each problem stands now, its loss, and whether no step was short enough to help.
    """
    share, wait = np.ones(len(point)), np.ones(len(point), dtype=bool)
    moved, after = problems.projected(point - step), before.copy()
    for _ in range(_HALVINGS):
        waiting = np.flatnonzero(wait)
        after[waiting] = problems.some(waiting).loss(moved[waiting])
        fallen = before[waiting] - after[waiting] + _ROUNDING * (1 + before[waiting])
        wait[waiting] = fallen < 1e-4 * (gradient[waiting] * (point[waiting] - moved[waiting])).sum(axis=1)
        if not wait.any():
            break
        share[wait] /= 2
        moved[wait] = problems.projected(point[wait] - share[wait, None] * step[wait])
    moved[wait], after[wait] = point[wait], before[wait]
    return moved, after, wait
