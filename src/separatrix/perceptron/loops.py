"""Perceptron updates over the rows of an epoch, compiled.

    sign · (w·x + b) ≤ 0   ⇒   w += rate · sign · x,   b += rate · sign

All outputs (one-vs-rest) share the pass. ``step_sums`` adds up each step times the number of rows
seen before it: after T rows, w − step_sums/T is the average of the weights over all T rows.

For the pocket algorithm a pass pauses before the update that would end the longest run of correctly
classified rows of an output, so that its weights can be compared with the best ones so far;
``position`` (index in the order, output, rows seen) says where to continue.
"""

from __future__ import annotations

from separatrix.compilation import compiled

#: Sums over columns may be reassociated, which lets them be vectorized.
REASSOCIATE = {"reassoc", "contract", "nsz"}


@compiled(fastmath=REASSOCIATE)
def train_dense(
    x, code, output_class, rate, constant, w, step_sums, order, mistakes, streak, longest, position
):
    """One epoch over dense rows ``x`` (n x d). False if the pass paused.

    ``w`` and ``step_sums`` are outputs x (1 + d), the intercept first; ``constant`` is 1 with an
    intercept, else 0.
    """
    outputs, d = w.shape[0], x.shape[1]
    while position[0] < order.shape[0]:
        i = order[position[0]]
        while position[1] < outputs:
            k = position[1]
            sign = 1.0 if code[i] == output_class[k] else -1.0
            score = w[k, 0]
            for j in range(d):
                score += w[k, j + 1] * x[i, j]
            if sign * score > 0.0:
                streak[k] += 1
            else:
                if streak[k] > longest[k]:
                    longest[k] = streak[k]
                    return False
                step, seen = rate[i] * sign, float(position[2])
                w[k, 0] += step * constant
                step_sums[k, 0] += seen * step * constant
                for j in range(d):
                    w[k, j + 1] += step * x[i, j]
                    step_sums[k, j + 1] += seen * step * x[i, j]
                mistakes[k] += 1
                streak[k] = 0
            position[1] += 1
        position[0] += 1
        position[1] = 0
        position[2] += 1
    return True


@compiled
def train_sparse(
    data,
    column,
    start,
    center_product,
    code,
    output_class,
    rate,
    constant,
    w,
    step_sums,
    order,
    mistakes,
    streak,
    longest,
    position,
):
    """One epoch over CSR rows centered implicitly: the row is x − c, but only x is stored.

    Steps add up to v − m c with v sparse and m a number. ``w`` (outputs x (3 + d)) stores the
    intercept, m, v·c and v; ``center_product`` is c·(x − c) of every row, then ‖c‖².
    """
    outputs = w.shape[0]
    while position[0] < order.shape[0]:
        i = order[position[0]]
        while position[1] < outputs:
            k = position[1]
            sign = 1.0 if code[i] == output_class[k] else -1.0
            score = w[k, 0] - w[k, 1] * center_product[i] - w[k, 2]
            for e in range(start[i], start[i + 1]):
                score += w[k, column[e] + 3] * data[e]
            if sign * score > 0.0:
                streak[k] += 1
            else:
                if streak[k] > longest[k]:
                    longest[k] = streak[k]
                    return False
                step, seen = rate[i] * sign, float(position[2])
                w[k, 0] += step * constant
                w[k, 1] += step
                w[k, 2] += step * (center_product[i] + center_product[rate.shape[0]])
                step_sums[k, 0] += seen * step * constant
                step_sums[k, 1] += seen * step
                for e in range(start[i], start[i + 1]):
                    w[k, column[e] + 3] += step * data[e]
                    step_sums[k, column[e] + 3] += seen * step * data[e]
                mistakes[k] += 1
                streak[k] = 0
            position[1] += 1
        position[0] += 1
        position[1] = 0
        position[2] += 1
    return True


@compiled(fastmath=REASSOCIATE)
def train_regression(x, y, rate, order, constant, w, step_sums, seen):
    """w += rate · (y − w·x) x for every row; returns the sum of the squared residuals met."""
    d, total = x.shape[1], 0.0
    for i in order:
        residual = y[i] - w[0]
        for j in range(d):
            residual -= w[j + 1] * x[i, j]
        total += residual * residual
        step = rate[i] * residual
        w[0] += step * constant
        step_sums[0] += seen * step * constant
        for j in range(d):
            w[j + 1] += step * x[i, j]
            step_sums[j + 1] += seen * step * x[i, j]
        seen += 1.0
    return total


@compiled
def next_mistake(scores, code, output_class, order, position):
    """Moves ``position`` (index in the order, output) to the next misclassified row.

    ``scores`` is outputs x n. False if no row is left.
    """
    outputs = scores.shape[0]
    while position[0] < order.shape[0]:
        i = order[position[0]]
        while position[1] < outputs:
            sign = 1.0 if code[i] == output_class[position[1]] else -1.0
            if sign * scores[position[1], i] <= 0.0:
                return True
            position[1] += 1
        position[0] += 1
        position[1] = 0
    return False
