"""The least that matrix products need, against products counted by hand."""

from collections import Counter

import pytest
from places import ROOT

from benchmarks.measure.products import least_instructions, least_per_window, multiply_adds, open_plain


@pytest.mark.parametrize(
    ("features", "wanted"), [((), 125 + 50), (("asimddp",), 62.5 + 50), (("asimddp", "i8mm"), 31.25 + 50)]
)
def test_the_least_is_the_products_over_the_lanes(features, wanted):
    """1,000 int8 multiply-adds are 125 SMLAL, 62.5 SDOT or 31.25 SMMLA; 200 of fp32 are 50 FMLA."""
    assert least_instructions(Counter(int8=1000, fp32=200), features) == wanted


@pytest.mark.parametrize("length", [170, 33])
def test_the_shipped_files_products_are_those_of_its_shape(length):
    """A token's int8 products: attention 4 x 384 x 48 heads of 32, feed-forward 2 x 384 x 4,672 neurons, head
    384 x (1,024 + 1,024 + 384 + 2). Each head then multiplies T x T x 32 twice in fp32.
    """
    found = multiply_adds(open_plain(ROOT / "models" / "student-tflite-int8" / "model.tflite"), length)
    assert found == {"int8": 6_882_048 * length, "fp32": 3_072 * length**2}


def test_files_of_other_kinds_are_not_counted(tiny_export, windows):
    """A window of the tiny BERT, any length: int8 is none of it."""
    assert least_per_window(tiny_export("onnx"), windows, ()) is None
    assert least_per_window(tiny_export("tflite"), windows, ()) is None
    one = windows[:1]
    n = len(one[0].input_ids)
    file = tiny_export("any-length")
    counts = multiply_adds(open_plain(file.weights), n)
    assert counts.keys() == {"fp32"}
    assert least_per_window(file, one, ("asimddp",)) == round(counts["fp32"] / 4) > 0
