"""Results made by hand: a teacher, what was made of it, and times of one run in rounds."""

from benchmarks.results.rows import (
    Accuracy,
    Data,
    Failure,
    Latency,
    Machine,
    PhoneLatency,
    PhoneQuestions,
    Runtime,
    TargetAccuracy,
)
from benchmarks.show.collecting import collect
from benchmarks.show.views import view_tables

TORCH = Runtime("torch", "2.13.0+cpu")
LITERT = Runtime("ai-edge-litert", "2.3.0")
ORT = Runtime("onnxruntime", "1.31.1")
Z80 = Machine("Z80", 1)
PIXEL = Machine("Pixel 8, Android 16, Tensor G3")
DATA = Data("dev.json", "data")
BASELINE = {"baseline": "teacher", "baseline_sha256": "sha of teacher"}
NO_BASELINE = dict.fromkeys((*BASELINE, "f1_retained"))
N_ROUNDS = 8
EVEN = (1.0,) * N_ROUNDS
UNEVEN = (1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.03, 0.97)  # their mean is 1
STUDENT_SHA = "sha of student"
INT8 = {"precision": "int8", "stage": "export", "runtime": LITERT, "parent_sha256": "sha of teacher"}


def records(table):
    """The texts of all lines by their headings."""
    return [dict(zip(table.headings, line, strict=True)) for line in table.cells]


def lines(results, view="summary"):
    """The lines of a view's first table by their headings."""
    return records(view_tables(collect(results), view)[0])


def shown(results, *headings, view="summary"):
    """The cells of a view's first table under these headings, in tuples where there are several."""
    cells = [tuple(line[heading] for heading in headings) for line in lines(results, view)]
    return cells if len(headings) > 1 else [cell for (cell,) in cells]


def footnotes(results, view="summary"):
    """The footnotes of a view's first table."""
    return " | ".join(view_tables(collect(results), view)[0].footnotes)


def facts(model, **more):
    """What all results of a model of this run have; the teacher's unless said otherwise."""
    return {
        "model": model,
        "bundle_sha256": f"sha of {model}",
        "stage": "finetune",
        "precision": "fp32",
        "runtime": TORCH,
        "target": "cpu",
        "machine": Z80,
        "data": DATA,
        "params": 23_501_826,
        "params_without_embeddings": 11_584_002,
        "size_bytes": 94_000_000,
        "command": "python benchmarks/compare.py",
        "date": "2025-01-01T00:00:00Z",
    } | more


def scored(model="teacher", f1=80.0, **more):
    """The scores of a model against the teacher's F1 of 80."""
    own = {"n": 1000, "n_windows": 1200, "exact": 70.0, "f1": f1, "f1_retained": f1 / 80, **BASELINE}
    return Accuracy(**(facts(model) | own | more))


def timed(model="teacher", ms=100.0, lengths=384, *, rounds=None, **more):
    """Times of single windows at one thread whose mean is `ms`; with `rounds` the mean of each, times that of
    `rounds`."""
    own = {"threads": 1, "batch": 1, "lengths": lengths, "n_warmup": 9, "n_runs": 6, "latency_ms_mean": ms}
    own |= {"latency_ms_p50": 0.9 * ms, "latency_ms_p90": 1.2 * ms, "latency_ms_p99": 1.5 * ms}
    own |= {"round_ms": tuple(ms * share for share in rounds)} if rounds else {}
    return Latency(**(facts(model) | own | more))


def batched(model="teacher", windows_per_s=100.0, batch=32, lengths="unpadded", **more):
    """Windows a second of batches."""
    none = {f"latency_ms_{name}": None for name in ("p50", "p90", "p99", "mean")}
    return timed(model, 1.0, lengths, batch=batch, windows_per_s=windows_per_s, **none, **more)


def on_target(model, instructions=None, **more):
    """Scores on an emulated target, beside those of the same file here."""
    own = {"target": "qemu:n1", "machine": Machine("N1 under QEMU"), "runtime": LITERT, "stage": "export"}
    own |= {"n": 9, "n_windows": 10, "exact": 70.0, "f1": 80.0, "reference": "here", "reference_f1": 90.0}
    own |= {"parity_max_abs": 0.1, "same_spans": 0.995, "instructions_per_window": instructions}
    return TargetAccuracy(**(facts(model) | own | more))


def failure(model, error="cannot load it", **more):
    """A failure; what ran it is not known."""
    return Failure(**(facts(model, runtime=None) | {"error": error} | more))


def on_phone(model="int8", ms=18.0, **more):
    """Windows in the app."""
    own = {"stage": "export", "precision": "int8", "runtime": Runtime("LiteRT", variant="+ XNNPACK")}
    own |= {"target": "phone", "machine": PIXEL, "data": None, "size_bytes": 18_934_161}
    own |= {"threads": 1, "lengths": 384, "n_runs": 50, "n_warmup": 5, "load_ms": 40.0}
    own |= {"latency_ms_p50": ms, "latency_ms_p95": ms + 1, "latency_ms_mean": ms + 0.5}
    return PhoneLatency(**(facts(model) | own | {"latency_ms_first": ms + 7} | more))


def asked_on_phone(model="int8", ms=25.0, **more):
    """Whole questions in the app."""
    means = dict.fromkeys(("tokenize_ms_mean", "inference_ms_mean", "decode_ms_mean"), ms / 3)
    own = {"target": "phone", "machine": PIXEL, "data": None, "threads": 1, "n": 9, "n_windows": 10}
    own |= dict.fromkeys(("latency_ms_p50", "latency_ms_p95", "latency_ms_mean"), ms)
    return PhoneQuestions(**(facts(model) | own | means | more))


EXPORT = {"stage": "export", "precision": "int8", "runtime": LITERT, "parent_sha256": STUDENT_SHA}


def export(model, unpadded, padded, *, f1=78.0, rounds=EVEN, **more):
    """Our export of the student, scored, and timed unpadded and padded to 128 and 384."""
    own = EXPORT | more
    names = ("f1_low", "f1_high", "f1_retained_low", "f1_retained_high", "resampled")
    scores = {key: own.pop(key) for key in names if key in own}
    quick = {"quick": own.pop("quick", False)}
    times = {"unpadded": unpadded, 128: padded / 4, 384: padded}
    found = [timed(model, ms, n, rounds=rounds, **own, **quick) for n, ms in times.items()]
    return [scored(model, f1, **own, **scores), *found]


def toolchain(name, unpadded, padded, **more):
    """What another tool made of the student."""
    own = {"stage": "peer", "toolchain": name, "runtime": Runtime("openvino", "2026.1.0")}
    own["versions"] = {"openvino": "2026.1.0", "nncf": "3.0.0"}
    return export(f"student-{name}", unpadded, padded, **(own | more))


def run(*results_of_models):
    """A run with the teacher and the student first; the teacher takes 100 ms padded to 384 and 50 unpadded."""
    student = {"stage": "student", "parent_sha256": "sha of teacher"}
    times = {384: 100, 128: 30, "unpadded": 50}
    first = [scored(), *(timed(ms=ms, lengths=n, rounds=EVEN) for n, ms in times.items())]
    times = {384: 60, "unpadded": 25}
    first += [scored("student", 78.0, **student)]
    first += [timed("student", ms, n, rounds=EVEN, **student) for n, ms in times.items()]
    return first + [one for results in results_of_models for one in results]
