"""Modes and calibration: their settings are kept, and are no part of files that lack them."""

import json
from dataclasses import replace

import pytest

from qa.base.errors import BundleError, OptionError
from qa.text.settings import Calibration, QASettings

PLAIN = QASettings(null_threshold=-1.5)
FULL = replace(PLAIN, strict_threshold=-6.0, calibration=Calibration(4.5, -2.5))


@pytest.mark.parametrize("settings", [PLAIN, FULL, replace(FULL, calibration=None)])
def test_settings_are_read_as_they_were_written(settings, tmp_path):
    settings.save(tmp_path / "qa.json")
    assert QASettings.from_json((tmp_path / "qa.json").read_bytes(), "here") == settings


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), True, "-2"])
def test_a_threshold_that_is_no_number_is_refused(threshold):
    with pytest.raises(OptionError, match="null_threshold must be a finite number or None"):
        QASettings(null_threshold=threshold)


@pytest.mark.parametrize("text", ["[" * 100_000, b"\xff\xfe{}", "{}", "3"])
def test_settings_that_are_none_are_refused(text):
    with pytest.raises(BundleError, match="here: not valid QA settings"):
        QASettings.from_json(text, "here")


def test_settings_that_a_model_lacks_have_no_key():
    assert set(FULL.to_dict()) - set(PLAIN.to_dict()) == {"strict_threshold", "calibration"}
    assert FULL.to_dict()["calibration"] == {"temperature": 4.5, "offset": -2.5}


def test_a_mode_chooses_the_threshold():
    modes = ("answering", "balanced", "strict")
    assert [FULL.in_mode(mode).null_threshold for mode in modes] == [None, -1.5, -6.0]
    assert FULL.in_mode("strict").calibration == FULL.calibration
    with pytest.raises(OptionError, match=r"mode strict: .* --data"):
        PLAIN.in_mode("strict")
    with pytest.raises(OptionError, match="mode must be one of answering, balanced, strict, got careful"):
        FULL.in_mode("careful")


@pytest.mark.parametrize(
    "broken", [{"temperature": 0, "offset": 1}, {"temperature": 1}, {"temperature": 1, "offset": "x"}, 7]
)
def test_a_calibration_that_is_none_is_refused(broken):
    text = json.dumps(FULL.to_dict() | {"calibration": broken})
    with pytest.raises((BundleError, OptionError), match=r"QA settings|calibration"):
        QASettings.from_json(text, "here")
