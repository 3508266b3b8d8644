"""Random effects of crossed and nested factors (subjects, raters, systems, conversations), complete or not, by REML.

    y = μ + Σ_f Z_f u_f + e,  u_f ~ N(0, σ_f²),  e ~ N(0, σ²)

The deviance is profiled: with λ_f = σ_f²/σ² and V = I + Σ λ_f Z_f Z_f', both μ and σ² have closed forms, and

    d(λ) = log|V| + log(1'V⁻¹1) + (n - 1) (1 + log(2π r²(λ) / (n - 1))),  r² = (y - 1μ)'V⁻¹(y - 1μ)

is minimised over λ ≥ 0 (Patterson and Thompson 1971; Bates, Mächler, Bolker and Walker 2015, eq. 42). V is never
built: the factor with the most levels, whose block of Henderson's (1953) equations is diagonal, is absorbed first, then
a factor in which that one is nested, whose block is diagonal again, and a dense system of the size of the rest remains.
So what a step costs grows with subjects times raters, and not with subjects cubed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, lapack

from mindgauge.stats.codes import dense

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

MOST_DENSE = 1000
"""The most levels, of all factors that have no diagonal block, that are solved at once: a solution takes their cube."""
MOST_RATERS = 256
"""With more raters, of more subjects than that, the effects of a crowd are not estimated."""
WIDE = 128
"""With more levels a system is factorised and not inverted, which is slower where there are many small ones."""
_HIGHEST = 1e3
"""Of an SD over the residual one."""
_STEP = 1e-4
_NOTHING = 1e-5
"""An SD of less than this share of the residual one is 0."""
_RESTARTS = 8
_OFF_ZERO = (0.03, 0.1, 0.3)
_SMALL = 0.1
"""An SD of less than this share of the residual one may be 0."""
_SHORTEST = 0.1
"""What a step leaves of a larger one at least."""
_STEPS = 200
_LENGTHS = 2.0 ** np.array([0, 2, 1, -1, -2, -3, -4, -5, -7, -9])
"""Of a step, the whole one first."""
_FLAT = 1e-8
"""A fall of the deviance by less, or a curvature of less, is none."""
_MANY = 20_000_000


class Absorbed(NamedTuple):
    """What is left of the equations at B points λ: log|V|, 1'V⁻¹1, 1'V⁻¹y and y'V⁻¹y, shape (B,) each.

    `dense` has the predictions of the levels of all dense factors, `errors` their error variances over σ² (Henderson
    1975), shape (B, width) each; NaN where they were not asked for.
    """

    log_determinant: Floats
    one_one: Floats
    one_y: Floats
    y_y: Floats
    dense: Floats
    errors: Floats

    @property
    def mean(self) -> Floats:
        """μ, by generalised least squares."""
        return self.one_y / self.one_one

    @property
    def squares(self) -> Floats:
        """r²."""
        return np.maximum(self.y_y - self.one_y**2 / self.one_one, 0.0)


class Fit(NamedTuple):
    """Estimated components. `ratios` holds λ by factor, 0 where the estimate lies on the boundary.

    `effects` are the best linear unbiased predictions by factor, shape (levels,), `residuals` what they leave, (n,).
    `error_freedom` counts the degrees of freedom of σ² where all factors are taken as fixed.
    """

    names: tuple[str, ...]
    levels: tuple[int, ...]
    n: int
    mean: float
    mean_variance: float
    ratios: Floats
    residual: float
    deviance: float
    error_freedom: int
    effects: dict[str, Floats]
    residuals: Floats

    @property
    def variances(self) -> dict[str, float]:
        """σ_f² by factor, and σ² as `residual`."""
        return dict(zip(self.names, (self.ratios * self.residual).tolist(), strict=True)) | {"residual": self.residual}


class Design:
    """Values by factors, as the sums that the equations need; factors stand in the order of their names.

    Raises:
        ValueError: there are fewer than two values, no factor, or too many levels that are neither absorbed nor nested.
    """

    def __init__(self, values: Floats, factors: Mapping[str, Codes]) -> None:
        if len(values) < 2 or not factors:
            raise ValueError("crossed effects need two values and a factor")
        self.origin = float(values.mean())
        self.values = values - self.origin
        self.names = tuple(factors)
        self.codes = {name: dense(codes)[1] for name, codes in factors.items()}
        self.levels = {name: int(codes.max()) + 1 for name, codes in self.codes.items()}
        order = sorted(self.names, key=lambda name: -self.levels[name])
        self.first = order[0]
        self.nested = self._over(order[1:])
        self.dense = tuple(name for name in order[1:] if name != self.nested)
        width = sum(self.levels[name] for name in self.dense)
        if width > MOST_DENSE:
            raise ValueError(
                f"{width} levels of {', '.join(self.dense)} are too many: at most {MOST_DENSE} are solved at once"
            )
        self._sums(width)

    def _over(self, others: Sequence[str]) -> str | None:
        """Return the largest factor in which the first is nested."""
        for name in others:
            pairs = self.codes[self.first] * self.levels[name] + self.codes[name]
            if len(np.unique(pairs)) == self.levels[self.first]:
                return name
        return None

    def _sums(self, width: int) -> None:
        starts = np.cumsum([0, *(self.levels[name] for name in self.dense)])
        ones = np.ones(len(self.values), dtype=np.intp)
        own = [self.codes[name] + start for name, start in zip(self.dense, starts[:-1], strict=True)]
        columns = np.stack([*own, width * ones, (width + 1) * ones], axis=1)
        entries = np.ones(columns.shape)
        entries[:, -1] = self.values
        products = entries[:, :, None] * entries[:, None, :]
        cells = columns[:, :, None] * (width + 2) + columns[:, None, :]
        self.rest = np.bincount(cells.ravel(), products.ravel(), (width + 2) ** 2).reshape(width + 2, width + 2)
        self.count = np.bincount(self.codes[self.first]).astype(float)
        self.sizes, self.size = np.unique(self.count, return_inverse=True)
        self.beside = self._by_level(self.first, columns, entries)
        self.outer: Codes | None = None
        if self.nested is not None:
            self.outer = np.zeros(len(self.count), dtype=np.intp)
            self.outer[self.codes[self.first]] = self.codes[self.nested]
            self.nested_count = np.bincount(self.codes[self.nested]).astype(float)
            self.nested_beside = self._by_level(self.nested, columns, entries)
            shape = (self.levels[self.nested], len(self.count))
            self.members = sparse.csr_array((np.ones(shape[1]), (self.outer, np.arange(shape[1]))), shape=shape)
            self.nesting = np.zeros((len(self.sizes), shape[0]))
            np.add.at(self.nesting, (self.size, self.outer), 1.0)
        self.cells = (width + 2) * max(width + 2, self.levels[self.nested] if self.nested is not None else 0)
        self.by_size = self._tables() if len(self.sizes) * self.cells <= _MANY else None

    def _tables(self) -> tuple[Floats, Floats]:
        """Return what stands beside the first factor's levels of each size: its squares, and its sums by nesting level.

        A level's weight depends on its size alone, so that a step adds up a table for each size, not for each level:
        shape (sizes, width + 2, width + 2), and (sizes, levels, width + 2).
        """
        of_size = [np.flatnonzero(self.size == size) for size in range(len(self.sizes))]
        squares = np.stack([_product(self.beside[rows], np.ones(len(rows))) for rows in of_size])
        if self.outer is None:
            return squares, np.zeros(0)
        sums = (self.members[:, rows] @ self.beside[rows] for rows in of_size)
        return squares, np.stack([part if isinstance(part, np.ndarray) else part.toarray() for part in sums])

    def _by_level(self, name: str, columns: Codes, entries: Floats) -> Floats | csr_array:
        """Add up each value's entries by the level of a factor, shape (levels, width + 2): dense, which is faster, where memory allows."""
        width = int(columns[0, -1]) + 1
        row = np.repeat(self.codes[name], columns.shape[1])
        if self.levels[name] * width <= _MANY:
            cells = np.bincount(row * width + columns.ravel(), entries.ravel(), self.levels[name] * width)
            return cells.reshape(-1, width)
        shape = (self.levels[name], width)
        return sparse.csr_array(sparse.coo_array((entries.ravel(), (row, columns.ravel())), shape=shape))

    def absorb(self, ratios: Floats, *, errors: bool = False) -> Absorbed:
        """Absorb all factors at some points λ, shape (B, factors), in the order of the names."""
        most = max(_MANY // self.cells, 1)
        if len(ratios) > most:
            parts = [self.absorb(ratios[start : start + most], errors=errors) for start in range(0, len(ratios), most)]
            return Absorbed(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        ratio = dict(zip(self.names, ratios.T[..., None], strict=True))
        weight = ratio[self.first] / (1 + ratio[self.first] * self.sizes)
        determinant = np.log1p(ratio[self.first] * self.sizes) @ np.bincount(self.size)
        rest = self.rest - self._of_first(weight)
        if self.nested is not None:
            own = self.nested_count - (weight * self.sizes**2) @ self.nesting
            determinant += np.log1p(ratio[self.nested] * own).sum(axis=1)
            rest -= self._of_nested(weight, ratio[self.nested] / (1 + ratio[self.nested] * own))
        width = rest.shape[1] - 2
        system, edge, corner = rest[:, :width, :width], rest[:, :width, width:], rest[:, width:, width:]
        lengths = [np.broadcast_to(ratio[name], (len(ratios), self.levels[name])) for name in self.dense]
        scale = np.sqrt(np.concatenate([np.zeros((len(ratios), 0)), *lengths], axis=1))[:, :, None]
        system = np.eye(width) + scale * system * scale.swapaxes(1, 2)
        spread = np.full(system.shape[:2], np.nan)
        try:
            factor = np.linalg.cholesky(system)
            if width > WIDE:
                solved = scale * np.stack(
                    [cho_solve((low, True), side) for low, side in zip(factor, scale * edge, strict=True)]
                )
                if errors:
                    inverses = np.stack([lapack.dtrtri(low, lower=1)[0] for low in factor])
                    spread = scale[:, :, 0] ** 2 * (inverses**2).sum(axis=1)
            else:
                inner = scale * np.linalg.inv(system) * scale.swapaxes(1, 2)
                solved, spread = inner @ edge, np.diagonal(inner, axis1=1, axis2=2)
        except np.linalg.LinAlgError as error:
            raise ValueError("the equations have no solution") from error
        determinant += 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        corner = corner - edge.swapaxes(1, 2) @ solved
        one_one, one_y, y_y = corner[:, 0, 0], corner[:, 0, 1], corner[:, 1, 1]
        return Absorbed(
            determinant, one_one, one_y, y_y, solved[:, :, 1] - solved[:, :, 0] * (one_y / one_one)[:, None],
            spread + solved[:, :, 0] ** 2 / one_one[:, None],
        )  # fmt: skip

    def _of_first(self, weight: Floats) -> Floats:
        """Return what the first factor takes off at each point, by the weight of each size, shape (B, sizes)."""
        if self.by_size is not None:
            return np.tensordot(weight, self.by_size[0], 1)
        return np.stack([_product(self.beside, row[self.size]) for row in weight])

    def _of_nested(self, weight: Floats, of_nested: Floats) -> Floats:
        """Return what the nesting factor takes off at each point, by its levels' weights, shape (B, levels)."""
        scaled = weight * self.sizes
        if self.by_size is not None:
            sums = self.nested_beside - np.tensordot(scaled, self.by_size[1], 1)
            return np.asarray(sums.swapaxes(1, 2) @ (of_nested[:, :, None] * sums))
        besides = (self.nested_beside - self.members @ _scaled(self.beside, row[self.size]) for row in scaled)
        return np.stack([_product(beside, row) for beside, row in zip(besides, of_nested, strict=True)])

    def deviance(self, ratios: Floats) -> Floats:
        """Compute the profiled REML deviance at some points, shape (B,); not finite where nothing is left to vary."""
        absorbed, n = self.absorb(ratios), len(self.values)
        varies = (absorbed.squares > 0) & (absorbed.one_one > 0)
        squares, one_one = (np.where(varies, part, 1.0) for part in (absorbed.squares, absorbed.one_one))
        spread = (n - 1) * (1 + np.log(2 * math.pi * squares / (n - 1)))
        return np.where(varies, absorbed.log_determinant + np.log(one_one) + spread, math.inf)

    def predicted(self, absorbed: Absorbed, name: str) -> tuple[Floats, Floats]:
        """Return the predictions of a dense factor and their error variances over σ², shape (B, levels) each."""
        place = self._place(name)
        return absorbed.dense[:, place], absorbed.errors[:, place]

    def effects(self, ratios: Floats) -> tuple[dict[str, Floats], Floats]:
        """Return the predictions of every factor at one λ, shape (factors,), and what they leave of the values."""
        absorbed = self.absorb(ratios[None])
        ratio = dict(zip(self.names, ratios.tolist(), strict=True))
        effects = {name: self.predicted(absorbed, name)[0][0] for name in self.dense}
        residuals = self.values - absorbed.mean
        for name in self.dense:
            residuals = residuals - effects[name][self.codes[name]]
        weight = ratio[self.first] / (1 + ratio[self.first] * self.count)
        if self.outer is not None and self.nested is not None:
            inside = np.bincount(self.codes[self.first], residuals)
            sums = np.bincount(self.outer, inside * (1 - weight * self.count))
            own = self.nested_count - np.bincount(self.outer, weight * self.count**2)
            effects[self.nested] = ratio[self.nested] / (1 + ratio[self.nested] * own) * sums
            residuals = residuals - effects[self.nested][self.codes[self.nested]]
        effects[self.first] = weight * np.bincount(self.codes[self.first], residuals)
        residuals = residuals - effects[self.first][self.codes[self.first]]
        return {name: effects[name] for name in self.names}, residuals

    def _place(self, name: str) -> slice:
        start = 0
        for other in self.dense:
            if other == name:
                return slice(start, start + self.levels[other])
            start += self.levels[other]
        raise KeyError(f"{name} is not a dense factor")

    @property
    def error_freedom(self) -> int:
        """The number of values less the rank of all factors as fixed, if they are connected."""
        return len(self.values) - self.levels[self.first] - sum(self.levels[name] - 1 for name in self.dense)


def require_few(raters: int, subjects: int) -> None:
    """Raise a ValueError where the effects of a crowd would take the cube of its size."""
    if min(raters, subjects) > MOST_RATERS:
        raise ValueError(f"{raters} raters of {subjects} subjects are a crowd: effects are estimated with at most {MOST_RATERS} of either")  # fmt: skip


def fit(design: Design) -> Fit:
    """Estimate the variance components of a design by REML.

    Published examples: lme4's Penicillin (24 plates × 6 samples) has SDs .84671, 1.93157 and .54992 and a mean of
    22.9722; its Pastes (samples in batches) 2.9041, 1.2874 and .8234 (Bates 2010, sections 2.1 and 2.2).

    Raises:
        ValueError: the values do not vary, or nothing is left for the error.
    """
    if not np.ptp(design.values) > 0:
        raise ValueError("all values are the same")
    if design.error_freedom < 1:
        raise ValueError("nothing is left to tell error from the factors")

    sds, deviance = _descended(design, np.ones(len(design.names)))
    for _ in range(_RESTARTS):
        lifted = _lifted(design, sds, deviance)
        if lifted is None:
            break
        sds, deviance = _descended(design, lifted)
    ratios = sds**2
    absorbed = design.absorb(ratios[None])
    residual, mean = float(absorbed.squares[0]) / (len(design.values) - 1), float(absorbed.mean[0])
    effects, residuals = design.effects(ratios)
    return Fit(
        design.names, tuple(design.levels[name] for name in design.names), len(design.values),
        mean + design.origin, residual / float(absorbed.one_one[0]), ratios, residual, deviance, design.error_freedom,
        effects, residuals,
    )  # fmt: skip


def _descended(design: Design, sds: Floats) -> tuple[Floats, float]:
    """Return SDs at which the deviance is least near some, and the least deviance.

    Newton's steps among the SDs that are not held at an end, downwards where the deviance is not convex; of each step
    the best of several lengths is taken, but the last whole, since the deviance no longer tells how long it should be.
    """
    for _ in range(_STEPS):
        slope, curvature = _derivatives(design, sds)
        if not np.isfinite(curvature).all():  # next to a point at which nothing is left to vary
            break
        free = np.flatnonzero((sds > 0) & ((sds < _HIGHEST) | (slope > 0)))
        bends, axes = np.linalg.eigh(curvature[np.ix_(free, free)])
        step = np.zeros(len(sds))
        step[free] = -axes @ ((axes.T @ slope[free]) / np.maximum(np.abs(bends), _FLAT))
        least = np.where(sds > _SMALL, _SHORTEST * sds, 0.0)  # who jumps to 0 seldom comes back
        reached = np.clip(sds + _LENGTHS[:, None] * step, least, _HIGHEST)
        if (bends > 0).all() and -slope @ step < _FLAT:
            sds = reached[0]
            break
        sds = reached[design.deviance(reached**2).argmin()]
    deviance = float(design.deviance(sds[None] ** 2)[0])
    for i in np.flatnonzero(sds < _SMALL):  # the deviance is flat at 0, where a descent may stop short of it
        flat = np.where(np.arange(len(sds)) == i, 0.0, sds)
        without = float(design.deviance(flat[None] ** 2)[0])
        if sds[i] < _NOTHING or without <= deviance:
            sds, deviance = flat, without
    return sds, deviance


def _derivatives(design: Design, sds: Floats) -> tuple[Floats, Floats]:
    """Return the slope and the curvature of the deviance, (F,) and (F, F), by central differences from all points at once."""
    steps = np.maximum(_STEP, _STEP * sds)
    i, j = np.triu_indices(len(sds), 1)
    along = np.diag(steps)
    moved = np.concatenate([along, along[i] + along[j]])
    middle, *rest = design.deviance(np.concatenate([sds[None], sds + moved, sds - moved]) ** 2)
    up, down = np.reshape(rest, (2, -1))
    bends = up + down - 2 * middle
    own, both = bends[: len(sds)], bends[len(sds) :]
    curvature = np.diag(own)
    curvature[i, j] = curvature[j, i] = (both - own[i] - own[j]) / 2
    return (up - down)[: len(sds)] / (2 * steps), curvature / np.outer(steps, steps)


def _lifted(design: Design, sds: Floats, deviance: float) -> Floats | None:
    """Return a better point off the boundary; None where there is none: as SDs, every point at 0 is flat."""
    raised = np.stack(
        [np.where(np.arange(len(sds)) == i, sd, sds) for i in np.flatnonzero(sds == 0) for sd in _OFF_ZERO] or [sds]
    )
    better = np.flatnonzero(design.deviance(raised**2) < deviance - 1e-8)
    return raised[better[0]] if len(better) else None


def _scaled(table: Floats | csr_array, weight: Floats) -> Floats | csr_array:
    if isinstance(table, np.ndarray):
        return np.asarray(weight[:, None] * table)
    scaled: csr_array = sparse.diags_array(weight) @ table
    return scaled


def _product(table: Floats | csr_array, weight: Floats) -> Floats:
    """Return table' diag(weight) table."""
    product = table.T @ _scaled(table, weight)
    return np.asarray(product if isinstance(product, np.ndarray) else product.toarray())
