"""App and page say the same in the same words."""

import re

import pytest
from places import ROOT

STRINGS = (ROOT / "android_demo/app/src/main/res/values/strings.xml").read_text(encoding="utf-8")
PAGE = "\n".join(
    (ROOT / "export/web/page" / name).read_text(encoding="utf-8")
    for name in ("answer.mjs", "index.html", "page.mjs")
)


def words(text):
    """The text with one mark for each number that is filled in, without line ends."""
    return re.sub(r"%\d\$d|\$\{\w+\}", "#", text).replace("\\n", "").replace("\\'", "'")


@pytest.mark.parametrize(
    "name", ["question_missing", "no_answer", "no_span", "question_cut", "reads_english"]
)
def test_a_sentence_of_the_app_is_on_the_page(name):
    (sentence,) = re.findall(rf'<string name="{name}">(.*?)</string>', STRINGS, re.DOTALL)
    assert words(sentence) in words(PAGE)
