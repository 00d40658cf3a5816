"""Hamiltonian steps in coordinates in which the posterior is nearly standard normal, compiled.

    θ = θ̂ + F u,    F Fᵀ = A⁻¹,        H(u, r) = Ψ(θ̂ + F u) + ½ ‖r‖²

The leapfrog method keeps H up to errors that a Metropolis step corrects exactly.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.bayes.logistic.loops.potential import (
    binary_gradient,
    binary_losses,
    softmax_gradient,
    softmax_losses,
)
from separatrix.compilation import compiled

#: Leapfrog steps of a trajectory at most.
MOST_STEPS = 64
#: Lengths of trajectories vary by this fraction, so that no period is hit again and again.
JITTER = 0.2


@compiled
def to_theta(mean, factor, u, theta):
    """θ = θ̂ + F u."""
    for i in range(mean.shape[0]):
        total = mean[i]
        for j in range(u.shape[0]):
            total += factor[i, j] * u[j]
        theta[i] = total


@compiled
def potentials(z, w, basis, linear, precision, thetas, out):
    """Ψ of every θ (q x p), up to a constant."""
    if basis.shape[0] == 1:
        binary_losses(z, w, thetas, out)
    else:
        softmax_losses(z, w, basis, thetas, out)
    for q in range(thetas.shape[0]):
        total = out[q]
        for j in range(linear.shape[0]):
            t = thetas[q, j]
            total += t * (0.5 * precision[j] * t - linear[j])
        out[q] = total


@compiled
def whitened_gradient(z, w, basis, linear, precision, factor, theta, sums, out):
    """∇ of Ψ by u at θ = θ̂ + F u: Fᵀ ∇Ψ(θ)."""
    if basis.shape[0] == 1:
        binary_gradient(z, w, theta, sums)
    else:
        softmax_gradient(z, w, basis, theta, sums)
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(theta.shape[0]):
        g = sums[i] + precision[i] * theta[i] - linear[i]
        for j in range(out.shape[0]):
            out[j] += g * factor[i, j]


@compiled
def hamiltonian_draws(
    z, w, basis, linear, precision, mean, factor, u, normals, uniforms, length, step, out
):
    """Draws from the state ``u``, which moves on; the mean probability of acceptance.

    Trajectories have about the given ``length``, in leapfrog steps of at most ``step``.
    """
    p = u.shape[0]
    point, theta, sums = np.empty((1, p)), np.empty(p), np.empty(p)
    new, r, gradient, start = np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    value, accepted = np.empty(1), 0.0
    to_theta(mean, factor, u, point[0])
    potentials(z, w, basis, linear, precision, point, value)
    current = value[0]
    whitened_gradient(z, w, basis, linear, precision, factor, point[0], sums, start)
    for i in range(normals.shape[0]):
        whole = length * (1.0 - JITTER + 2.0 * JITTER * uniforms[i, 0])
        steps = min(max(math.ceil(whole / step), 1), MOST_STEPS)
        e, before = min(whole / steps, step), 0.0
        for j in range(p):
            new[j], r[j], gradient[j] = u[j], normals[i, j], start[j]
            before += 0.5 * r[j] * r[j]
            r[j] -= 0.5 * e * gradient[j]
        for s in range(steps):
            for j in range(p):
                new[j] += e * r[j]
            to_theta(mean, factor, new, theta)
            whitened_gradient(z, w, basis, linear, precision, factor, theta, sums, gradient)
            last = 0.5 if s == steps - 1 else 1.0
            for j in range(p):
                r[j] -= last * e * gradient[j]
        after = 0.0
        for j in range(p):
            point[0, j] = theta[j]
            after += 0.5 * r[j] * r[j]
        potentials(z, w, basis, linear, precision, point, value)
        change = (value[0] + after) - (current + before)
        chance = math.exp(min(-change, 0.0)) if math.isfinite(change) else 0.0
        accepted += chance
        if uniforms[i, 1] < chance:
            current = value[0]
            for j in range(p):
                u[j], start[j] = new[j], gradient[j]
        for j in range(p):
            out[i, j] = u[j]
    return accepted / normals.shape[0]
