"""Write the app's bundled passages: a few paragraphs of the shipped SQuAD excerpt, each with its own
questions as suggestions.

They are from the dev part, on which no model here is trained. The same excerpt gives the same bytes.

    python android_demo/tools/make_passages.py
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from qa.base.files import write_whole
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad

PASSAGES = Path(__file__).resolve().parent.parent / "app" / "src" / "main" / "assets" / "passages.json"
MOST_QUESTIONS = 5
ATTRIBUTION = (
    "Passages from the English Wikipedia, written by its contributors; the title names the article. "
    "Passages and questions as "
    "published in the Stanford Question Answering Dataset (SQuAD) 1.1 by Pranav Rajpurkar, Jian Zhang, "
    "Konstantin Lopyrev and "
    "Percy Liang (2016), rajpurkar.github.io/SQuAD-explorer; a small selection of them. Licence: Creative "
    "Commons "
    "Attribution-ShareAlike 4.0 International (CC BY-SA 4.0), creativecommons.org/licenses/by-sa/4.0"
)
# Article of the excerpt: beginning of the chosen paragraph. Its questions make sense without other texts.
# Two texts contain characters other than ASCII.
CHOSEN = {
    "Normans": "The Normans were in contact with England",
    "Amazon_rainforest": "In 2005, parts of the Amazon basin",
    "Newcastle_upon_Tyne": "The climate in Newcastle is oceanic",
    "Genghis_Khan": "As an incentive for absolute obedience",
    "Doctor_Who": "Six soundtrack releases",
    "1973_oil_crisis": "To help reduce consumption",
}


def make_passages() -> dict[str, Any]:
    """Return the asset: attribution, and title, text and questions of each chosen paragraph."""
    examples = read_squad(resolve(EMBEDDED, "dev"))
    passages = []
    for article, beginning in CHOSEN.items():
        asked = [e for e in examples if e.title == article and e.context.startswith(beginning)]
        if not asked:
            raise ValueError(
                f"no paragraph of {article!r} in the excerpt begins with {beginning!r}; correct CHOSEN"
            )
        questions = list(dict.fromkeys(e.question.strip() for e in asked))[:MOST_QUESTIONS]
        title = unquote(article).replace("_", " ")
        passages.append({"title": title, "text": asked[0].context, "questions": questions})
    return {"attribution": ATTRIBUTION, "passages": passages}


def main() -> None:
    """Write the asset."""
    write_whole(PASSAGES, json.dumps(make_passages(), ensure_ascii=False, indent=1) + "\n")
    print(PASSAGES)


if __name__ == "__main__":
    main()
