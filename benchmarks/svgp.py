"""GPyTorch's stochastic variational process, run by an interpreter that has it.

    python svgp.py rows.npz POINTS SECONDS {adam,natural}

Minibatches of 1024 of standardized targets. ``adam``: one Adam with a learning rate of 0.03 for
everything; ``natural``: natural gradients of rate 0.1 for the variational distribution, and Adam
for the rest, as in GPyTorch's own examples. Prints processor seconds, epochs and negative log
predictive density of the held-out rows after every few of them.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import gpytorch
import numpy as np
import torch

BATCH, RATE = 1024, 0.03


class Process(gpytorch.models.ApproximateGP):  # type: ignore[misc]
    """A variance times a Gaussian kernel with a length scale for each column."""

    def __init__(self, start: Any, natural: bool) -> None:
        of = gpytorch.variational
        names = ("CholeskyVariationalDistribution", "TrilNaturalVariationalDistribution")
        kind = getattr(of, names[natural])
        super().__init__(
            of.VariationalStrategy(self, start, kind(len(start)), learn_inducing_locations=True)
        )
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.RBFKernel(ard_num_dims=start.shape[1])
        )

    def forward(self, x: Any) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def main(path: str, points: int, seconds: float, method: str) -> None:
    """Train for so many processor seconds."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # threads that wait for one another burn processor seconds
    table = {name: torch.tensor(v, dtype=torch.float32) for name, v in np.load(path).items()}
    center, scale = table["y"].mean(), table["y"].std()
    x, y, natural = table["x"], (table["y"] - center) / scale, method == "natural"
    model = Process(x[torch.randperm(len(x))[:points]].clone(), natural)
    noise = gpytorch.likelihoods.GaussianLikelihood()
    steppers: list[Any]
    if natural:
        rest = [*model.hyperparameters(), *noise.parameters()]
        steppers = [
            gpytorch.optim.NGD(model.variational_parameters(), num_data=len(y), lr=0.1),
            torch.optim.Adam(rest, lr=RATE),
        ]
    else:
        steppers = [torch.optim.Adam([*model.parameters(), *noise.parameters()], lr=RATE)]
    bound = gpytorch.mlls.VariationalELBO(noise, model, num_data=len(y))

    def report(epochs: float, taken: float) -> None:
        model.eval(), noise.eval()
        with torch.no_grad():
            found = [noise(model(rows)) for rows in table["x_new"].split(2048)]
            mean = torch.cat([f.mean for f in found]) * scale + center
            variance = torch.cat([f.variance for f in found]) * scale**2
            residual = table["y_new"] - mean
            loss = 0.5 * (torch.log(2 * torch.pi * variance) + residual**2 / variance).mean()
        model.train(), noise.train()
        print(f"{taken:.1f} {epochs:.2f} {loss.item():.4f}", flush=True)

    taken, steps, next_report = 0.0, 0, seconds / 40
    while taken < seconds:
        for batch in torch.randperm(len(y)).split(BATCH):
            start = time.process_time()
            for stepper in steppers:
                stepper.zero_grad()
            loss = -bound(model(x[batch]), y[batch])
            loss.backward()
            for stepper in steppers:
                stepper.step()
            taken, steps = taken + time.process_time() - start, steps + 1
            if taken >= min(next_report, seconds):
                report(steps * BATCH / len(y), taken)
                next_report *= 1.19
            if taken >= seconds:
                break


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
