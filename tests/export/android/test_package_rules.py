"""Rules of packaged files: Python and the app's core accept and refuse the same files."""

import hashlib
import json

import pytest
from package_faults import (
    MODEL,
    RECORDED,
    changed,
    differing,
    is_accepted,
    mutated_files,
    packaged,
    verdicts,
    with_value,
)
from places import GOLDEN

from export.android.core_process import compiled_core
from export.android.package import read_package
from qa.formats.precision import PRECISIONS

RULES = json.loads((GOLDEN / "android/package_rules.json").read_text(encoding="ascii"))
N_MUTATED = 300


def test_every_rule_of_the_golden_file_holds(tmp_path):
    for case in RULES["cases"]:
        member = case["member"]
        value = changed(
            json.loads(RECORDED[member]), case["path"], case.get("value"), remove="value" not in case
        )
        path = packaged(tmp_path / "model.tflite", with_value(member, value))
        assert is_accepted(path) == case["accepted"], case


def test_a_file_may_be_stricter_than_its_precision_but_not_laxer(tmp_path):
    assert RULES["tolerances"] == {name: entry.probe_tolerance for name, entry in PRECISIONS.items()}
    for case in RULES["allowed"]:
        info = changed(json.loads(RECORDED["qa.json"]), ["precision"], case["precision"])
        probe = changed(json.loads(RECORDED["probe.json"]), ["tolerance"], case["tolerance"])
        members = with_value("qa.json", info) | {"probe.json": json.dumps(probe).encode()}
        package = read_package(packaged(tmp_path / "model.tflite", members))
        assert package.probe.allowed(case["precision"]) == case["allowed"], case


@pytest.mark.parametrize("n_bytes", [0, 8, len(MODEL) - 1, len(MODEL) + 1])
def test_the_seal_covers_all_bytes_before_the_package(tmp_path, n_bytes):
    path = packaged(tmp_path / "model.tflite", RECORDED)
    assert is_accepted(path)
    seal = {"bytes": n_bytes, "sha256": hashlib.sha256(path.read_bytes()[:n_bytes]).hexdigest()}
    info = changed(json.loads(RECORDED["qa.json"]), ["model"], seal)
    assert not is_accepted(packaged(path, with_value("qa.json", info)))


def test_more_bytes_than_any_packer_makes_are_refused(padded):
    assert [is_accepted(padded(extra)) for extra in (60, 100)] == [True, False]


@pytest.mark.jvm
def test_python_and_the_app_agree_on_mutated_files(tmp_path, padded):
    files = mutated_files(tmp_path, N_MUTATED, seed=3) | {padded(n): f"{n} bytes more" for n in (60, 100)}
    checker = ["java", "-Xmx64m", "-cp", ".", "org.pocketqa.tools.PackageCheck"]
    assert differing(files, verdicts(checker, files, cwd=compiled_core().name)) == []
