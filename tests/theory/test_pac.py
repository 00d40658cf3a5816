"""Sample sizes against their inequalities, simulations against exact probabilities.

A simulation is compared through an exact interval at level 1 − 10⁻⁶: drawn anew, a comparison
would fail once in a million runs at most.
"""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

import separatrix as sx
from separatrix.theory.vc_dimension import exact_interval, labelings_at_most

SURE = 1 - 1e-6


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.05), (0.01, 0.2), (0.5, 0.9)])
def test_boxes(d, epsilon, delta):
    found = sx.pac_sample_size(epsilon, delta, sx.Boxes(d))
    k = 2 * d
    assert found.bound == "tightest box"
    assert found.n == math.ceil(k / epsilon * math.log(k / delta))
    inequality = [k * (1 - epsilon / k) ** n for n in (found.least, found.least - 1)]
    assert inequality[0] <= delta < inequality[1]
    assert found.least <= found.n


def test_the_textbook_formula_in_the_plane():
    found = sx.pac_sample_size(0.1, 0.05, sx.Boxes(2))
    assert found.n == math.ceil(4 / 0.1 * math.log(4 / 0.05)) == 176
    assert "(4/ε) ln(4/δ)" in str(found)


def test_finite_classes_and_huge_counts():
    found = sx.pac_sample_size(0.1, 0.05, 1000)
    assert 1000 * 0.9**found.least <= 0.05 < 1000 * 0.9 ** (found.least - 1)
    every = sx.pac_sample_size(0.1, 0.05, sx.BooleanFunctions(n_inputs=12))
    assert every.n == math.ceil((4096 * math.log(2) - math.log(0.05)) / 0.1)
    assert every.bound == "finite class"


@pytest.mark.parametrize("v", [0, 3, 20])
def test_vc_classes(v):
    found = sx.pac_sample_size(0.1, 0.05, vc_dimension=v)
    closed = max(4 / 0.1 * math.log2(2 / 0.05), 8 * v / 0.1 * math.log2(13 / 0.1))
    assert found.n == math.ceil(closed)
    failure = [
        2 * labelings_at_most(2 * n, v) * 2 ** (-0.1 * n / 2)
        for n in (found.least, found.least - 1)
    ]
    assert failure[0] <= 0.05 < failure[1] or found.least == 80
    assert found.least <= found.n


def test_labelings_by_sauer():
    assert labelings_at_most(10, 2) == 1 + 10 + 45
    assert labelings_at_most(3, 5) == 8


def test_a_class_and_what_was_found_of_it_agree():
    found = sx.vc_dimension(sx.Hyperplanes(2), n_arrangements=5)
    assert (
        sx.pac_sample_size(0.1, 0.1, found).n == sx.pac_sample_size(0.1, 0.1, sx.Hyperplanes(2)).n
    )
    searched = sx.vc_dimension(sx.Boxes(2), max_points=2)
    with pytest.raises(sx.InputError, match="at least 2 by a search"):
        sx.pac_sample_size(0.1, 0.05, searched)
    assert sx.pac_sample_size(0.1, 0.05, searched, vc_dimension=4).bound == "VC dimension"


def test_intervals_of_proportions():
    low, high = exact_interval(3, 20, 0.9)
    assert binom.sf(2, 20, low) == pytest.approx(0.05)
    assert binom.cdf(3, 20, high) == pytest.approx(0.05)
    assert exact_interval(0, 5)[0] == 0.0
    assert exact_interval(5, 5)[1] == 1.0


def test_intervals_fail_as_often_as_they_must():
    """Of k rows in the true interval, their range over its length is Beta(k − 1, 2)."""
    n, epsilon = 25, 0.1
    k = np.arange(n + 1)
    short = np.where(k > 1, beta.cdf(1 - 2 * epsilon, np.maximum(k - 1, 1), 2), 1.0)
    exact = float(binom.pmf(k, n, 0.5) @ short)
    found = sx.pac_simulation(sx.Intervals(), epsilon, 0.05, n=n, repeats=2000, level=SURE)
    assert found.exact_errors
    assert found.interval[0] <= exact <= found.interval[1]
    assert found.interval == exact_interval(found.n_failures, 2000, SURE)
    assert not found.agrees


@pytest.mark.parametrize(
    "hypotheses", [sx.Boxes(2), sx.UnionsOfIntervals(2), sx.BooleanFunctions(n_inputs=3)]
)
def test_enough_rows_fail_no_more_often_than_allowed(hypotheses):
    found = sx.pac_simulation(hypotheses, 0.2, 0.2, repeats=60, level=SURE)
    assert found.agrees
    assert found.n == sx.pac_sample_size(0.2, 0.2, hypotheses).n
    assert "60 repetitions" in str(found)


def test_other_distributions_and_truths():
    """Rows that are normal: the error is estimated, and the seed repeats it."""
    truth = sx.Boxes(2).tightest(np.array([[-1.0, -1.0], [1.0, 1.0]]), np.array([True, True]))
    draws = {"draw": lambda rng, n: rng.standard_normal((n, 2)), "truth": truth, "repeats": 30}
    one = sx.pac_simulation(sx.Boxes(2), 0.2, 0.2, **draws)
    assert not one.exact_errors
    assert one.n_failures == 0
    assert (one.errors == sx.pac_simulation(sx.Boxes(2), 0.2, 0.2, **draws).errors).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sx.pac_sample_size(0.0, 0.1, 5), "epsilon must be between 0 and 1"),
        (lambda: sx.pac_sample_size(0.1, 1.5, 5), "delta must be between 0 and 1"),
        (lambda: sx.pac_sample_size(0.1, 0.1), "Neither the number of hypotheses"),
        (lambda: sx.pac_sample_size(0.1, 0.1, 0), "at least one hypothesis"),
        (lambda: sx.pac_sample_size(0.1, 0.1, vc_dimension=-1), "whole number"),
        (lambda: sx.pac_simulation(sx.Boxes(2), 0.1, 0.1, n=0), "n must be a whole number"),
        (lambda: sx.pac_simulation(sx.Boxes(2), 0.1, 0.1, level=2.0), "must be between 0 and 1"),
        (
            lambda: sx.pac_simulation(
                sx.Intervals(),
                0.1,
                0.1,
                truth=sx.UnionsOfIntervals(2).truth(np.random.default_rng(0)),
            ),
            "Give a truth that is in the class",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(sx.InputError, match=words):
        make()
