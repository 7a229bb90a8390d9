"""The peak rate of int8 products, measured where the models are."""

from benchmarks.measure.conditions import this_host
from benchmarks.measure.peak import int8_peak


def test_the_peak_is_that_of_real_products_on_the_given_cores():
    """No CPU that runs this multiplies more slowly than 1 G a second, or faster than 1,000,000 G."""
    assert 1 < int8_peak(1, this_host().cores_for(1)) < 1e6
