"""The try on an emulator fails unless the pushed model gives the right answer; the screen is made up here."""

import subprocess
import sys

import pytest
from places import ROOT
from recipe_scripts import script_at

from export.android.package import read_package

TOOL = ROOT / "android_demo" / "tools" / "try_on_emulator.py"
VIEW = '<node resource-id="org.pocketqa.app:id/{}" enabled="true" bounds="[0,0][9,9]" text="{}"/>'


@pytest.fixture
def tool():
    return script_at(TOOL)


@pytest.mark.parametrize(
    ("answer", "model", "error"),
    [
        ("Normandy", "{name}, int8", ""),
        ("No answer in this text", "{name}, int8", "expected Normandy"),
        ("Normandy", "student, int8", "student"),
        ("Normandy", "{name}, fp32", "fp32"),
    ],
)
def test_only_the_right_answer_of_the_pushed_model_passes(
    exported_tflite, tool, tmp_path, monkeypatch, capsys, answer, model, error
):
    bundle = exported_tflite("bert", "int8")[1]
    name = read_package(bundle.weights).info["name"]
    views = {"suggestions": "", "question": "", "ask": "Ask", "answer": answer}
    views["measurements"] = f"1 window in 9 ms&#10;{model.format(name=name)}, 2 threads"
    screen = "".join(VIEW.format(name, text) for name, text in views.items())

    def adb(*arguments):
        return f"<hierarchy>{screen}</hierarchy>".encode() if arguments[0] == "exec-out" else b""

    monkeypatch.setattr(tool, "adb", adb)
    monkeypatch.setattr(tool, "PATIENCE_S", 0.2)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: None)
    monkeypatch.setattr(
        sys, "argv", ["", "--apk", "app.apk", "--model", str(bundle.path), "--out", str(tmp_path)]
    )
    if error:
        with pytest.raises(SystemExit, match=error):
            tool.main()
    else:
        tool.main()
        assert answer in capsys.readouterr().out
