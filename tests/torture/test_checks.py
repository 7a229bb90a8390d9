"""The checks of torture notice what they are there to notice."""

import pytest
from amounts import refused, wrong_exit
from stages import STAGES, drafts, half_finished, written

from qa.base.errors import BundleError


@pytest.mark.parametrize(
    ("code", "stderr", "says"),
    [
        (0, "", ""),
        (2, "error: no such file\n", ""),
        (1, "Traceback (most recent call last):\n  File\nKeyError: 'a'\n", "traceback: KeyError: 'a'"),
        (2, "error: one\nerror: two\n", "2 error lines"),
        (-11, "", "exit code -11: "),
    ],
)
def test_ends_that_are_wrong(code, stderr, says):
    assert wrong_exit(code, stderr) == says


def test_only_a_refusal_in_one_line_is_one():
    def refuse(message):
        raise BundleError(message)

    assert refused(lambda: refuse("one line"))
    assert not refused(lambda: None)
    with pytest.raises(AssertionError):
        refused(lambda: refuse("two\nlines"))
    with pytest.raises(ZeroDivisionError):
        refused(lambda: 1 // 0)


def test_half_a_result_and_drafts_are_seen(tmp_path, tiny_export):
    stage = STAGES["export to ONNX"]
    assert half_finished(stage, tmp_path) == ""
    (tmp_path / "made").mkdir()
    assert "not a finished bundle" in half_finished(stage, tmp_path)
    for file in tiny_export("onnx").path.iterdir():
        (tmp_path / "made" / file.name).write_bytes(file.read_bytes())
    assert half_finished(stage, tmp_path) == ""
    before = written(tmp_path)
    (tmp_path / "made" / "qa.json").write_text("{}")
    assert "changed since it was made" in half_finished(stage, tmp_path)
    assert {name for name, value in written(tmp_path).items() if before.get(name) != value} == {
        "made/qa.json"
    }
    (tmp_path / ".made.unfinished-1").mkdir()
    assert drafts(tmp_path) == [".made.unfinished-1"]
