"""Tables of other targets: a file there beside its own fp32 file."""

from benchmark_results import (
    EVEN,
    LITERT,
    ORT,
    failure,
    lines,
    scored,
    timed,
)

from benchmarks.results.rows import Machine, TargetAccuracy
from benchmarks.show.groups import collect
from benchmarks.show.tables import UNKNOWN
from benchmarks.show.views import view_tables


def there(model, precision, instructions, **more):
    own = {
        "reference": "litert here",
        "reference_f1": 90.0,
        "parity_max_abs": 0.1,
        "same_spans": 0.995,
        **more,
    }
    base = {
        name: getattr(scored(), name) for name in ("n", "n_windows", "exact", "f1", "data", "command", "date")
    }
    facts = {
        "model": model,
        "bundle_sha256": model,
        "stage": "export",
        "precision": precision,
        "parent_sha256": "p",
    }
    facts |= {"runtime": LITERT, "machine": Machine("N1 under QEMU"), "target": "qemu:n1"}
    return TargetAccuracy(**(base | facts | own), instructions_per_window=instructions)


def test_a_target_is_compared_with_its_own_fp32_file():
    rows = lines([there("fp32", "fp32", 600_000_000), there("int8", "int8", 240_000_000)], "arm")
    assert [
        (line["M instructions"], line["x fp32"], line["max diff"], line["same spans"]) for line in rows
    ] == [
        ("600.0", "1.00x", "0.1", "99.5%"),
        ("240.0", "2.50x", "0.1", "99.5%"),
    ]
    other = [
        there("fp32", "fp32", 600, n_windows=99),
        there("int8", "int8", 240),
        there("ort", "int8", 9, runtime=ORT),
    ]
    assert [line["x fp32"] for line in lines(other, "arm")] == ["1.00x", UNKNOWN, UNKNOWN]
    pi = {"target": "ssh:pi", "machine": Machine("Pi", 4)}
    on_pi = [there("fp32", "fp32", None, **pi), there("int8", "int8", None, **pi)]
    own = {"runtime": LITERT, "stage": "export", "rounds": EVEN, **pi}
    on_pi += [
        timed("fp32", 90.0, "unpadded", bundle_sha256="fp32", **own),
        timed("int8", 30.0, "unpadded", bundle_sha256="int8", **own),
    ]
    assert [(line["ms"], line["x fp32"]) for line in lines(on_pi, "arm")] == [
        ("90.0", "1.00x"),
        ("30.0", "3.00x (3.00–3.00)"),
    ]
    (table,) = view_tables(collect([*on_pi, failure("bad", **pi)]), "arm")
    assert "bad on ssh:pi failed: cannot load it" in table.footnotes
    assert "ssh:pi: Pi, 4 cores" in table.footnotes
