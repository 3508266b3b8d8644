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
from scipy import linalg, optimize, sparse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

MOST_DENSE = 5000
"""The most levels, of all factors that have no diagonal block, that are solved at once."""
_HIGHEST = 1e3
"""Of an SD over the residual one."""
_STEP = 1e-4
_NOTHING = 1e-5
"""An SD of less than this share of the residual one is 0."""
_RESTARTS = 8
_OFF_ZERO = (0.03, 0.1, 0.3)
_MANY = 20_000_000


class Absorbed(NamedTuple):
    """What is left of the equations at some λ: log|V|, 1'V⁻¹1, 1'V⁻¹y and y'V⁻¹y, and what effects are read from.

    `inner` is Q = Λ(I + MΛ)⁻¹ of the dense factors, `ones` and `right` are their rows of M beside 1 and y.
    """

    log_determinant: float
    one_one: float
    one_y: float
    y_y: float
    inner: Floats
    ones: Floats
    right: Floats

    @property
    def mean(self) -> float:
        """μ, by generalised least squares."""
        return self.one_y / self.one_one

    @property
    def squares(self) -> float:
        """r²."""
        return max(self.y_y - self.one_y**2 / self.one_one, 0.0)


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
        self.codes = {name: np.unique(codes, return_inverse=True)[1].astype(np.intp) for name, codes in factors.items()}
        self.levels = {name: int(codes.max()) + 1 for name, codes in self.codes.items()}
        order = sorted(self.names, key=lambda name: -self.levels[name])
        self.first = order[0]
        self.nested = self._over(order[1:])
        self.dense = tuple(name for name in order[1:] if name != self.nested)
        width = sum(self.levels[name] for name in self.dense)
        if width > MOST_DENSE:
            raise ValueError(f"{width} levels of {', '.join(self.dense)} are too many to solve at once")
        self._sums(width)

    def _over(self, others: Sequence[str]) -> str | None:
        """Return the largest factor in which the first is nested."""
        for name in others:
            pairs = self.codes[self.first] * self.levels[name] + self.codes[name]
            if len(np.unique(pairs)) == self.levels[self.first]:
                return name
        return None

    def _sums(self, width: int) -> None:
        n = len(self.values)
        rows = np.arange(n)
        parts = [np.zeros(0, dtype=np.intp)]
        start = 0
        for name in self.dense:
            parts.append(self.codes[name] + start)
            start += self.levels[name]
        column = np.concatenate(parts)
        row = np.tile(rows, len(self.dense))
        right = np.stack([np.ones(n), self.values], axis=1)
        ones = sparse.csr_array((np.ones(len(column)), (row, column)), shape=(n, width))
        table: csr_array = sparse.hstack([ones, sparse.csr_array(right)], format="csr")
        self.count = np.bincount(self.codes[self.first]).astype(float)
        sizes, self.size = np.unique(self.count, return_inverse=True)
        self.rest = (table.T @ table).toarray()
        self.beside = self._small(self._indicator(self.first) @ table)
        self.outer: Codes | None = None
        if self.nested is not None:
            self.outer = np.zeros(len(self.count), dtype=np.intp)
            self.outer[self.codes[self.first]] = self.codes[self.nested]
            self.nested_count = np.bincount(self.codes[self.nested]).astype(float)
            self.nested_beside = self._small(self._indicator(self.nested) @ table)
            shape = (self.levels[self.nested], len(self.count))
            self.members = sparse.csr_array((np.ones(shape[1]), (self.outer, np.arange(shape[1]))), shape=shape)
        self.by_size = self._tables(len(sizes)) if len(sizes) * (width + 2) ** 2 <= _MANY else None

    def _tables(self, sizes: int) -> Floats:
        """Return the squares of what stands beside the first factor's levels of each size, (sizes, width + 2, width + 2).

        A level's weight depends on its size alone, so that a step adds up a table for each size, not for each level.
        """
        parts = (self.beside[np.flatnonzero(self.size == size)] for size in range(sizes))
        return np.stack([_product(part, np.ones(part.shape[0])) for part in parts])

    def _indicator(self, name: str) -> csr_array:
        """Return Z', shape (levels, n)."""
        n = len(self.values)
        return sparse.csr_array((np.ones(n), (self.codes[name], np.arange(n))), shape=(self.levels[name], n))

    @staticmethod
    def _small(table: csr_array) -> Floats | csr_array:
        """Return a table as a dense one, which is faster, where memory allows."""
        return table.toarray() if table.shape[0] * table.shape[1] <= _MANY else table

    def absorb(self, ratios: Floats) -> Absorbed:
        """Absorb all factors at some λ, in the order of the names."""
        ratio = dict(zip(self.names, ratios.tolist(), strict=True))
        weight = ratio[self.first] / (1 + ratio[self.first] * self.count)
        determinant = float(np.log1p(ratio[self.first] * self.count).sum())
        if self.by_size is None:
            rest = self.rest - _product(self.beside, weight)
        else:
            by_size = np.zeros(len(self.by_size))
            by_size[self.size] = weight
            rest = self.rest - np.einsum("s,sab->ab", by_size, self.by_size)
        if self.outer is not None and self.nested is not None:
            own = self.nested_count - np.bincount(self.outer, weight * self.count**2)
            beside = self.nested_beside - self.members @ _scaled(self.beside, weight * self.count)
            determinant += float(np.log1p(ratio[self.nested] * own).sum())
            rest = rest - _product(beside, ratio[self.nested] / (1 + ratio[self.nested] * own))
        width = len(rest) - 2
        scale = np.sqrt(np.concatenate([np.zeros(0), *(np.full(self.levels[f], ratio[f]) for f in self.dense)]))
        inner = np.zeros((width, width))
        if width:
            system = np.eye(width) + scale[:, None] * rest[:width, :width] * scale
            # cho_factor and cho_solve check and wrap these two, for longer than these small systems take
            factor, failure = linalg.lapack.dpotrf(system, lower=True, clean=False)
            if failure:
                raise ValueError("the equations have no solution")
            determinant += 2 * float(np.log(np.diag(factor)).sum())
            inner = scale[:, None] * linalg.lapack.dpotrs(factor, np.diag(scale), lower=True)[0]
        edge = rest[:width, width:]
        corner = rest[width:, width:] - edge.T @ inner @ edge
        return Absorbed(
            determinant, float(corner[0, 0]), float(corner[0, 1]), float(corner[1, 1]), inner, edge[:, 0], edge[:, 1]
        )

    def deviance(self, ratios: Floats) -> float:
        """Compute the profiled REML deviance; not finite where nothing is left to vary."""
        absorbed, n = self.absorb(ratios), len(self.values)
        if absorbed.squares <= 0 or absorbed.one_one <= 0:
            return math.inf
        spread = (n - 1) * (1 + math.log(2 * math.pi * absorbed.squares / (n - 1)))
        return absorbed.log_determinant + math.log(absorbed.one_one) + spread

    def predicted(self, absorbed: Absorbed, name: str) -> tuple[Floats, Floats]:
        """Return the predictions of a dense factor and their error variances over σ² (Henderson 1975), (levels,) each."""
        place = self._place(name)
        effects = absorbed.inner @ (absorbed.right - absorbed.ones * absorbed.mean)
        shift = absorbed.inner @ absorbed.ones
        errors = np.diag(absorbed.inner) + shift**2 / absorbed.one_one
        return effects[place], errors[place]

    def effects(self, ratios: Floats) -> tuple[dict[str, Floats], Floats]:
        """Return the predictions of every factor, and what they leave of the values."""
        absorbed = self.absorb(ratios)
        ratio = dict(zip(self.names, ratios.tolist(), strict=True))
        effects = {name: self.predicted(absorbed, name)[0] for name in self.dense}
        left = self.values - absorbed.mean
        for name in self.dense:
            left = left - effects[name][self.codes[name]]
        weight = ratio[self.first] / (1 + ratio[self.first] * self.count)
        if self.outer is not None and self.nested is not None:
            inside = np.bincount(self.codes[self.first], left)
            sums = np.bincount(self.outer, inside * (1 - weight * self.count))
            own = self.nested_count - np.bincount(self.outer, weight * self.count**2)
            effects[self.nested] = ratio[self.nested] / (1 + ratio[self.nested] * own) * sums
            left = left - effects[self.nested][self.codes[self.nested]]
        effects[self.first] = weight * np.bincount(self.codes[self.first], left)
        left = left - effects[self.first][self.codes[self.first]]
        return {name: effects[name] for name in self.names}, left

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

    def gradient(sds: Floats) -> Floats:
        steps = np.maximum(_STEP, _STEP * sds)
        slopes = np.empty(len(sds))
        for i, step in enumerate(steps):
            shift = np.zeros(len(sds))
            shift[i] = step
            slopes[i] = (design.deviance((sds + shift) ** 2) - design.deviance((sds - shift) ** 2)) / (2 * step)
        return slopes

    def descended(start: Floats) -> tuple[Floats, float]:
        best = optimize.minimize(
            lambda sds: design.deviance(sds**2), start, jac=gradient, method="L-BFGS-B",
            bounds=[(0.0, _HIGHEST)] * len(start), options={"ftol": 1e-13, "gtol": 1e-6, "maxiter": 200},
        )  # fmt: skip
        point, deviance = np.asarray(best.x), float(best.fun)
        for i in range(len(point)):  # the deviance is flat at 0, where a descent may stop short of it
            flat = point.copy()
            flat[i] = 0.0
            if point[i] < _NOTHING or (point[i] < 0.1 and design.deviance(flat**2) <= deviance):
                point, deviance = flat, design.deviance(flat**2)
        return point, deviance

    sds, deviance = descended(np.ones(len(design.names)))
    for _ in range(_RESTARTS):
        lifted = _lifted(design, sds, deviance)
        if lifted is None:
            break
        sds, deviance = descended(lifted)
    ratios = sds**2
    absorbed = design.absorb(ratios)
    residual = absorbed.squares / (len(design.values) - 1)
    effects, residuals = design.effects(ratios)
    return Fit(
        design.names, tuple(design.levels[name] for name in design.names), len(design.values),
        absorbed.mean + design.origin, residual / absorbed.one_one, ratios, residual, deviance, design.error_freedom,
        effects, residuals,
    )  # fmt: skip


def _lifted(design: Design, sds: Floats, deviance: float) -> Floats | None:
    """Return a better point off the boundary; None where there is none: as SDs, every point at 0 is flat."""
    for i in np.flatnonzero(sds == 0):
        for sd in _OFF_ZERO:
            raised = sds.copy()
            raised[i] = sd
            if design.deviance(raised**2) < deviance - 1e-8:
                return raised
    return None


def _scaled(table: Floats | csr_array, weight: Floats) -> Floats | csr_array:
    if isinstance(table, np.ndarray):
        return np.asarray(weight[:, None] * table)
    scaled: csr_array = sparse.diags_array(weight) @ table
    return scaled


def _product(table: Floats | csr_array, weight: Floats) -> Floats:
    """Return table' diag(weight) table."""
    product = table.T @ _scaled(table, weight)
    return np.asarray(product if isinstance(product, np.ndarray) else product.toarray())
