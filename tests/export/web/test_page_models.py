"""Model files in the published page: its probe in Chromium, wrong files, settings that a file brings."""

import json
import shutil
import zipfile

import pytest
from package_faults import rewritten, with_settings
from web_site import ANSWER, ask, choose_mode, choose_model, opened, served, text, wait

from qa.bundles.bundle import PROBE

pytestmark = pytest.mark.system


def test_the_model_is_checked_before_it_answers(page, page_model):
    megabytes = page_model.weights.stat().st_size / 1e6
    assert text(page, "#status") == f"student · int8 · {megabytes:.1f} MB · checked in this browser"
    facts = page.run("document.querySelector('#facts').textContent")
    probe = json.loads((page_model.path / PROBE).read_text(encoding="utf-8"))
    assert "logits differ by 0.0" in facts
    assert f"{probe['tolerance']['int8']:#.3g} is allowed" in facts
    assert ask(page) == ANSWER
    assert page.run("document.querySelector('#reading mark').textContent") == ANSWER


def spoiled_probe(source, out):
    """A copy of the file whose recorded logits are those of other tokens."""
    with zipfile.ZipFile(source) as archive:
        probe = json.loads(archive.read("probe.json"))
    for window in probe["windows"]:
        window["start_logits"] = window["start_logits"][::-1]
    return rewritten(source, out, {"probe.json": json.dumps(probe)})


def test_wrong_files_are_refused_in_words_and_the_model_in_use_stays(page, page_model, tiny_export, tmp_path):
    weights = page_model.weights
    any_length = tiny_export("any-length")
    note = tmp_path / "note.tflite"
    note.write_text("This is a note.\n" * 20)
    cut = tmp_path / "cut.tflite"
    cut.write_bytes(weights.read_bytes()[:-2000])
    probe = spoiled_probe(weights, tmp_path / "probe.tflite")
    faults = {
        note: "not a TFLite model",
        cut: "no package at its end",
        probe: "computes this int8 model wrongly",
        any_length.weights: f"the same options and --lengths {any_length.settings.max_length}",
    }
    for path, words in faults.items():
        page.choose_file("#model-file", path)
        wait(page, f"document.querySelector('#problem').textContent.includes({json.dumps(path.name)})")
        assert words in text(page, "#problem")
        assert "checked in this browser" in text(page, "#status")
    assert ask(page) == ANSWER
    assert page.run("document.querySelector('#problem').hidden")


def test_another_packaged_file_brings_its_settings(page, page_model, tmp_path):
    choose_model(
        page, with_settings(page_model.weights, tmp_path / "always.tflite", {"null_threshold": None})
    )
    assert ask(page, suggestion=2) is not None
    page.run("document.querySelector('footer details').open = true")
    page.run("document.querySelector('#shipped').focus()")
    choose_model(page)
    wait(page, "document.querySelector('#shipped').hidden")
    assert page.run("document.activeElement.id") == "open-model"


TUNED = ("strict_threshold", "calibration")


def test_a_mode_says_when_to_decline_and_a_calibrated_file_gives_probabilities(page, page_model, tmp_path):
    strict = "document.querySelector('#mode [value=strict]').disabled"
    plain = with_settings(page_model.weights, tmp_path / "plain.tflite", {}, drop=TUNED)
    choose_model(page, plain)
    assert page.run(strict) is True
    choose_mode(page, "answering")
    assert ask(page) == ANSWER
    assert "Softmax score" in text(page, "#best small")
    always = ask(page, suggestion=2)
    choose_mode(page, "balanced")
    assert ask(page) is None
    assert page.run("document.querySelector('#others button').firstChild.textContent") == always
    changes = {"strict_threshold": -1e6, "calibration": {"temperature": 4.0, "offset": 1.0}}
    choose_model(page, with_settings(page_model.weights, tmp_path / "tuned.tflite", changes))
    assert page.run(strict) is False
    ask(page, suggestion=0)
    assert "Probability" in text(page, "#best small")
    choose_mode(page, "strict")
    assert ask(page) is None
    choose_model(page, plain)
    assert page.run("document.querySelector('#mode').value") == "balanced"
    choose_model(page)


def test_an_fp32_model_is_checked_to_its_own_tolerance(page, tiny_export):
    page.choose_file("#model-file", tiny_export("tflite").weights)
    wait(page, "document.querySelector('#status').textContent.includes('fp32')")
    assert "checked in this browser" in text(page, "#status")
    ask(page)


def test_the_build_for_browsers_without_relaxed_simd_computes_rightly(browser, folder, tmp_path):
    compatible = shutil.copytree(folder, tmp_path / "site")
    module = compatible / "litert.mjs"
    build = "./litert/wasm/litert_wasm_compat_internal.js"
    module.write_text(module.read_text().replace('"./litert/wasm/"', f'"{build}"'))
    with served(compatible) as url:
        opened(browser, url)
        assert ask(browser) == ANSWER
        loaded = browser.run("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert [name.rpartition("/")[2] for name in loaded if name.endswith(".wasm")] == [
        "litert_wasm_compat_internal.wasm"
    ]
