"""Rules of packaged files: the app's core and the page open the same ones, and all that Python lets pass."""

import hashlib
import json

import pytest
from package_faults import (
    MODEL,
    RECORDED,
    changed,
    core_verdicts,
    differing,
    is_accepted,
    mutated_files,
    packaged,
    recorded_verdicts,
    with_value,
)
from places import GOLDEN

from export.android.package import read_package
from qa.formats.package import MOST_SETTINGS
from qa.formats.precision import PRECISIONS

RULES = json.loads((GOLDEN / "android/package_rules.json").read_text(encoding="ascii"))


def test_what_the_golden_file_refuses_python_refuses(tmp_path):
    n_accepted = 0
    for case in RULES["cases"]:
        member = case["member"]
        value = changed(
            json.loads(RECORDED[member]), case["path"], case.get("value"), remove="value" not in case
        )
        path = packaged(tmp_path / "model.tflite", with_value(member, value))
        if is_accepted(path):
            assert case["accepted"], case
            n_accepted += 1
    assert n_accepted > 0.8 * sum(case["accepted"] for case in RULES["cases"])


@pytest.mark.parametrize("name", ["n_best", "doc_stride", "max_answer_length"])
def test_app_page_and_exporter_have_the_same_bounds(name):
    most = MOST_SETTINGS[name]
    cases = {
        str(case.get("value")): case["accepted"]
        for case in RULES["cases"]
        if case["path"] == ["settings", name]
    }
    assert (cases[str(most)], cases[str(most + 1)]) == (True, False)


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


def test_the_app_opens_all_mutated_files_that_python_lets_pass(tmp_path):
    opens = recorded_verdicts(mutated_files(tmp_path))
    passed = {path for path in opens if is_accepted(path)}
    assert [path for path in passed if not opens[path]] == []
    assert len(passed) > 0.8 * sum(opens.values())
    assert len(opens) / 6 < sum(opens.values()) < len(opens) / 2


@pytest.mark.jvm
def test_the_app_says_of_mutated_files_what_it_said(tmp_path):
    files = mutated_files(tmp_path)
    assert differing(files, core_verdicts(files)) == []


@pytest.mark.jvm
def test_the_app_refuses_more_bytes_than_any_packer_makes(padded):
    files = [padded(extra) for extra in (60, 100)]
    assert [verdict == "ok" for verdict in core_verdicts(files).values()] == [True, False]
    assert not is_accepted(files[1])
