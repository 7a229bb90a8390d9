"""The passages bundled with the Android app: real, attributed, and just what their script makes of the
shipped excerpt."""

import json

from places import ROOT
from recipe_scripts import script_at

from qa.data.datasets import resolve
from qa.data.squad import read_squad

TOOL = ROOT / "android_demo" / "tools" / "make_passages.py"


def test_bundled_passages_are_the_scripts_and_their_questions_have_answers():
    tool = script_at(TOOL)
    made = tool.make_passages()
    bundled = json.loads(tool.PASSAGES.read_text(encoding="utf-8"))
    assert bundled == made
    assert "CC BY-SA 4.0" in bundled["attribution"]
    answers = {(e.context, e.question.strip()): e.answers for e in read_squad(resolve("embedded", "dev"))}
    assert len(bundled["passages"]) >= 5
    for passage in bundled["passages"]:
        assert 3 <= len(passage["questions"]) <= 5
        assert all(answers[passage["text"], question] for question in passage["questions"])
