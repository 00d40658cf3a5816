"""Fixed-point exponentials and logarithms, against correctly rounded decimals."""

from __future__ import annotations

from decimal import Decimal, localcontext

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from separatrix.verification.arithmetic import EXP_ERROR, LOG_ERROR, ONE, POINT, exp_minus, log

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(st.integers(0, 80 * ONE) | st.integers(0, 2**40))
def test_exponentials_are_enclosed(t: int) -> None:
    with localcontext() as context:
        context.prec = 60
        exact = (-Decimal(t) / ONE).exp() * ONE
        assert abs(exact - exp_minus(t)) <= EXP_ERROR


@quick
@given(st.integers(1, 2**200))
def test_logarithms_are_enclosed(y: int) -> None:
    with localcontext() as context:
        context.prec = 80
        exact = (Decimal(y) / ONE).ln() * ONE
        allowed = LOG_ERROR + abs(y.bit_length() - POINT)
        assert abs(exact - log(y)) <= allowed


def test_ends() -> None:
    assert exp_minus(0) == ONE
    assert exp_minus(200 * ONE) == 0
    assert abs(log(ONE)) <= LOG_ERROR
