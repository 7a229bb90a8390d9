"""Rows of one run in rounds, made by hand: a teacher, a student, two of its exports, and what other tools made of it."""

from test_benchmarks_table import row

N_ROUNDS = 8
EVEN = (1.0,) * N_ROUNDS
UNEVEN = (1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.03, 0.97)  # their mean is 1
STUDENT_SHA, PEER_DATE = "sha of student", "2025-01-01T00:00:00Z"


def timed(model, ms, lengths="real", *, rounds=EVEN, **more):
    """A row of single windows at one thread whose mean time is `ms` in each round, times that of `rounds`."""
    times = [ms * share for share in rounds]
    mean = sum(times) / len(times)
    return row(model, ms=(mean, mean, mean, mean), lengths=lengths, round_ms=times, **more)


def export(model, real, padded, *, f1=78.0, rounds=EVEN, **more):
    """Our export of the student, at real lengths and padded to 128 and 384."""
    facts = {"stage": "export", "precision": "int8", "runtime": "onnxruntime 1.31.1", "parent_sha256": STUDENT_SHA, "f1": f1}
    facts |= {"f1_retained": f1 / 80, **more}
    lengths = {"real": real, 128: padded / 4, 384: padded}
    return [timed(model, ms, n, rounds=rounds, **facts) for n, ms in lengths.items()]


def peer(name, real, padded, *, f1=78.0, rounds=EVEN, **more):
    """What another tool made of the student."""
    versions = {"openvino": "2026.1.0", "nncf": "3.0.0"}
    facts = {"stage": "peer", "peer": name, "runtime": "openvino 2026.1.0", "versions": versions}
    return export(f"student-{name}", real, padded, f1=f1, rounds=rounds, **(facts | more))


def run(*rows_of_models):
    """The rows of a run with the teacher and the student first; the teacher takes 100 ms padded and 50 at real lengths."""
    student = {"stage": "student", "f1": 78.0, "f1_retained": 0.975, "parent_sha256": "sha of teacher"}
    rows = [timed("teacher", 100, 384), timed("teacher", 30, 128), timed("teacher", 50)]
    rows += [timed("student", 60, 384, **student), timed("student", 25, **student)]
    return rows + [one for rows_of_model in rows_of_models for one in rows_of_model]
