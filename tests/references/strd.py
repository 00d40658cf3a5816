"""Statistical reference data sets for linear regression, with their certified values.

The published figures of the NIST collection. ``certified`` is (estimate, standard error) per
coefficient, the intercept first where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    name: str
    x: Floats
    y: Floats
    certified: Floats
    residual_deviation: float
    fit_intercept: bool = True
    digits: float = 9.0


def _powers(x: Floats, degree: int) -> Floats:
    return np.stack([x**k for k in range(1, degree + 1)], axis=1)


def _pairs(text: str) -> Floats:
    return np.array(text.split(), dtype=float).reshape(-1, 2)


def wampler(number: int) -> Reference:
    """Fifth-degree polynomials on 0 … 20, with residuals of growing size."""
    x = np.arange(21.0)
    ones = np.ones(6)
    if number == 2:
        coef = 10.0 ** -np.arange(6)
        y = sum(c * x**k for k, c in enumerate(coef))
        return Reference("Wampler2", _powers(x, 5), y, np.stack([coef, 0 * ones], 1), 0.0)
    smooth = 1 + sum(x**k for k in range(1, 6))
    if number == 1:
        return Reference("Wampler1", _powers(x, 5), smooth, np.stack([ones, 0 * ones], 1), 0.0)
    half = [759.0, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048]
    bumps = np.array([*half, 2048.0, *half[::-1]])
    errors = [2152.32624678170, 2363.55173469681, 779.343524331583, 101.475507550350]
    errors += [5.64566512170752, 0.112324854679312]
    factor = {3: 1.0, 4: 100.0, 5: 10000.0}[number]
    return Reference(
        f"Wampler{number}",
        _powers(x, 5),
        smooth + factor * bumps,
        np.stack([ones, factor * np.array(errors)], 1),
        factor * 2360.14502379268,
    )


NOINT1 = Reference(
    "NoInt1",
    np.arange(60.0, 71.0)[:, None],
    np.arange(130.0, 141.0),
    np.array([[2.07438016528926, 0.165289256198347e-01]]),
    3.56753034006338,
    fit_intercept=False,
)
NOINT2 = Reference(
    "NoInt2",
    np.array([[4.0], [5.0], [6.0]]),
    np.array([3.0, 4.0, 4.0]),
    np.array([[0.727272727272727, 0.420827318078432e-01]]),
    0.369274472937998,
    fit_intercept=False,
)

_NORRIS = _pairs(
    """0.1 0.2 338.8 337.4 118.1 118.2 888.0 884.6 9.2 10.1 228.1 226.5 668.5 666.3 998.5 996.3
    449.1 448.6 778.9 777.0 559.2 558.2 0.3 0.4 0.1 0.6 778.1 775.5 668.8 666.9 339.3 338.0
    448.9 447.5 10.8 11.6 557.7 556.0 228.3 228.1 998.0 995.8 888.8 887.6 119.6 120.2 0.3 0.3
    0.6 0.3 557.6 556.8 339.3 339.1 888.0 887.2 998.5 999.0 778.9 779.0 10.2 11.1 117.6 118.3
    228.9 229.2 668.4 669.1 449.2 448.9 0.2 0.5"""
)
NORRIS = Reference(
    "Norris",
    _NORRIS[:, 1:],
    _NORRIS[:, 0],
    np.array([[-0.262323073774029, 0.232818234301152], [1.00211681802045, 0.429796848199937e-03]]),
    0.884796396144373,
)

_FILIP_X = """-6.860120914 -4.324130045 -4.358625055 -4.358426747 -6.955852379 -6.661145254
-6.355462942 -6.118102026 -7.115148017 -6.815308569 -6.519993057 -6.204119983 -5.853871964
-6.109523091 -5.79832982 -5.482672118 -5.171791386 -4.851705903 -4.517126416 -4.143573228
-3.709075441 -3.499489089 -6.300769497 -5.953504836 -5.642065153 -5.031376979 -4.680685696
-4.329846955 -3.928486195 -8.56735134 -8.363211311 -8.107682739 -7.823908741 -7.522878745
-7.218819279 -6.920818754 -6.628932138 -6.323946875 -5.991399828 -8.781464495 -8.663140179
-8.473531488 -8.247337057 -7.971428747 -7.676129393 -7.352812702 -7.072065318 -6.774174009
-6.478861916 -6.159517513 -6.835647144 -6.53165267 -6.224098421 -5.910094889 -5.598599459
-5.290645224 -4.974284616 -4.64454848 -4.290560426 -3.885055584 -3.408378962 -3.13200249
-8.726767166 -8.66695597 -8.511026475 -8.165388579 -7.886056648 -7.588043762 -7.283412422
-6.995678626 -6.691862621 -6.392544977 -6.067374056 -6.684029655 -6.378719832 -6.065855188
-5.752272167 -5.132414673 -4.811352704 -4.098269308 -3.66174277 -3.2644011"""
_FILIP_Y = """0.8116 0.9072 0.9052 0.9039 0.8053 0.8377 0.8667 0.8809 0.7975 0.8162 0.8515 0.8766
0.8885 0.8859 0.8959 0.8913 0.8959 0.8971 0.9021 0.909 0.9139 0.9199 0.8692 0.8872 0.89 0.891
0.8977 0.9035 0.9078 0.7675 0.7705 0.7713 0.7736 0.7775 0.7841 0.7971 0.8329 0.8641 0.8804 0.7668
0.7633 0.7678 0.7697 0.77 0.7749 0.7796 0.7897 0.8131 0.8498 0.8741 0.8061 0.846 0.8751 0.8856
0.8919 0.8934 0.894 0.8957 0.9047 0.9129 0.9209 0.9219 0.7739 0.7681 0.7665 0.7703 0.7702 0.7761
0.7809 0.7961 0.8253 0.8602 0.8809 0.8301 0.8664 0.8834 0.8898 0.8964 0.8963 0.9074 0.9119 0.9228"""
FILIP_INPUT = np.array(_FILIP_X.split(), dtype=float)
FILIP = Reference(
    "Filip",
    _powers(FILIP_INPUT, 10),
    np.array(_FILIP_Y.split(), dtype=float),
    np.array(
        [
            [-1467.48961422980, 298.084530995537],
            [-2772.17959193342, 559.779865474950],
            [-2316.37108160893, 466.477572127796],
            [-1127.97394098372, 227.204274477751],
            [-354.478233703349, 71.6478660875927],
            [-75.1242017393757, 15.2897178747400],
            [-10.8753180355343, 2.23691159816033],
            [-1.06221498588947, 0.221624321934227],
            [-0.670191154593408e-01, 0.142363763154724e-01],
            [-0.246781078275479e-02, 0.535617408889821e-03],
            [-0.402962525080404e-04, 0.896632837373868e-05],
        ]
    ),
    0.334801051324544e-02,
    digits=7.0,
)


def longley() -> Reference:
    """Employment against six economic series, as statsmodels ships it."""
    from statsmodels.datasets import longley as data

    frame = data.load_pandas()
    return Reference(
        "Longley",
        frame.exog.to_numpy(float),
        frame.endog.to_numpy(float),
        np.array(
            [
                [-3482258.63459582, 890420.383607373],
                [15.0618722713733, 84.9149257747669],
                [-0.358191792925910e-01, 0.334910077722432e-01],
                [-2.02022980381683, 0.488399681651699],
                [-1.03322686717359, 0.214274163161675],
                [-0.511041056535807e-01, 0.226073200069370],
                [1829.15146461355, 455.478499142212],
            ]
        ),
        304.854073561965,
    )


REFERENCES = [*(wampler(k) for k in range(1, 6)), NOINT1, NOINT2, NORRIS, FILIP, longley()]
