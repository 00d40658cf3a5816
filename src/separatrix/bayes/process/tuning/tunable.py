"""A Gaussian process in a comparison: tuned on folds, then fitted to all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from separatrix.kernels import Constant, Fixed, Gaussian, Kernel, White
from separatrix.rows.block import Floats, to_array
from separatrix.rows.rows import InMemory
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.preparation import prepare
from separatrix.statistics.standardizer import Standardizer

if TYPE_CHECKING:
    from separatrix.bayes.process.tuning.classes import TunedClasses
    from separatrix.bayes.process.tuning.folds import LearnedKernel

#: Rows up to which hyperparameters are learned once more from all of them.
MOST_LEARNED = 1_000
#: Rows beyond which inducing points stand for them, and how many.
MOST_EXACT, N_INDUCING = 3_000, 400


class TunableProcess:
    """Tunes on the folds of a comparison; see :class:`separatrix.selection.tuning.Tunable`."""

    def tune(self, data: TuningData) -> Tuning:
        """Predictions out of fold, from hyperparameters of samples of the training rows."""
        from separatrix.bayes.process.tuning.folds import tune_process

        return tune_process(data)

    def fit_tuned(self, rows: InMemory, tuning: Tuning) -> Self:
        """Fit to all rows, learning from where the comparison ended.

        On fewer rows than were tuned on (a learning curve), and on many, the hyperparameters stay;
        inducing points stand for very many rows.
        """
        model: Any = self
        start: LearnedKernel = tuning.start
        learn = start.learned and len(rows) == start.n_rows <= MOST_LEARNED
        exact = len(rows) <= MOST_EXACT
        model.set_params(
            kernel=in_units(start.kernel, _spreads(rows)),
            normalize_y=True,
            trend="constant",
            optimizer="fmin_l_bfgs_b" if learn else None,
            n_inducing=None if exact else N_INDUCING,
        )
        fitted: Self = model.fit(rows)
        return fitted


class TunableClasses:
    """The same for classes."""

    def tune(self, data: TuningData) -> Tuning:
        """Probabilities out of fold, from hyperparameters of samples of the training rows."""
        from separatrix.bayes.process.tuning.classes import tune_classes

        return tune_classes(data)

    def fit_tuned(self, rows: InMemory, tuning: Tuning) -> Self:
        """Fit to all rows, or to as many as a process can take, with the learned kernel."""
        model: Any = self
        start: TunedClasses = tuning.start
        if len(rows) > start.most_rows:
            chosen = np.random.default_rng(0).permutation(len(rows))[: start.most_rows]
            rows = rows.take(np.sort(chosen))
        model.set_params(kernel=class_kernel(start.kernel, _spreads(rows)), optimizer=None)
        fitted: Self = model.fit(rows)
        return fitted


def class_kernel(kernel: Kernel, spreads: Floats) -> Kernel:
    """One length scale of standardized columns, in the units of each."""
    variance, length = np.exp(kernel.theta).tolist()
    return Constant(variance) * Fixed(Gaussian(tuple((length * spreads).tolist())))


def in_units(kernel: Kernel, spreads: Floats) -> Kernel:
    """A kernel of standardized columns as one of the columns themselves.

    One length scale for all columns becomes one for each, in proportion to their spreads, which are
    then not learned one by one.
    """
    variance, *lengths, noise = np.exp(kernel.theta).tolist()
    shared = len(lengths) == 1 < len(spreads)
    bandwidth = tuple((np.array(lengths) * spreads).tolist())
    own: Kernel = Gaussian(bandwidth)
    return Constant(variance) * (Fixed(own) if shared else own) + White(noise)


def _spreads(rows: InMemory) -> Floats:
    """Standard deviations of the encoded columns; 1 for those that are constant."""
    block = prepare(rows).rows.collect()
    scale = Standardizer.from_rows(to_array(block.x), block.weights).scale
    return np.where(scale > 0.0, scale, 1.0)
