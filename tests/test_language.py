"""Prose is plain English: short sentences, and one word for each thing."""

import io
import re
import tokenize

import pytest
from places import ROOT

MOST_WORDS = 25
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "models/README.md", "android_demo/README.md")
    ),
    ROOT / "benchmarks/results/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FOLDERS = ("android_demo", "benchmarks", "compress", "distill", "export", "pocketqa", "qa", "recipes")
LANGUAGES = ("Makefile", ".gradle", ".j2", ".java", ".mk", ".py", ".sh", ".xml")
# Old words, and what to write instead.
INSTEAD = {
    r"\b(on|with) the (int8 |int4 )?grid\b|\bgrid of integers\b": "QAT, fake quantization",
    r"\bwhole models?\b(?! file)": "standalone model",
    r"\bpeers?\b": "toolchain",
    r"\belsewhere\b": "remote target, other data",
    r"\bword tables?\b": "embedding table",
    r"\b(threshold of|own threshold: of) no answer\b": "no-answer threshold",
    r"\b(real|exact|own) lengths\b": "unpadded",
    r"\bthin (student|layers|model)|\bcut thin\b": "pruned student",
    r"\bin other bytes\b": "in another precision",
    r"\bbut for\b": "except",
    r"\bseldom\b": "rarely",
    r"\bas (\w+ ){1,3}has it\b": "a plain subject and verb",
    r"\bbest for these very\b": "oracle threshold",
    r"\bshare among all\b": "softmax score",
}


def prose_of(page):
    """(line number, text) of each paragraph, list item and heading; without tables, code and generated parts."""
    text = page.read_text(encoding="utf-8")
    generated = r"<!-- results:begin (\S+) -->.*?<!-- results:end \1 -->|^```.*?^```|<[^>\n]+>"
    text = re.sub(generated, lambda part: "\n" * part[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    block, first, after_blank, in_code = [], 0, True, False
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        in_code = re.match(r" {4,}\S", line) and (after_blank or in_code)
        starts = re.match(r" *(- |#|\|)", line) is not None
        if block and (not line.strip() or starts or in_code):
            yield first, " ".join(block)
            block = []
        if line.strip() and not in_code and not line.lstrip().startswith("|"):
            first = first if block else number
            block.append(line.strip(" -#"))
        after_blank = not line.strip()


def plain(text):
    """Text with code and quotations as one word each, and links without their addresses."""
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r'"[^"]*"', "quotation", text).replace("*", "")


def sentences_of(text):
    """Sentences of a paragraph. A colon before a list of steps or a semicolon does not end one."""
    return re.split(r"(?<=[.!?])\)?\s+", plain(text))


def words_of(sentence):
    return re.findall(r"\S*\w\S*", sentence)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short(page):
    long = [
        f"{page.name}:{number}: {len(words_of(sentence))} words: {sentence}"
        for number, text in prose_of(page)
        for sentence in sentences_of(text)
        if len(words_of(sentence)) > MOST_WORDS
    ]
    assert long == []


def old_words(path, prose):
    return [
        f"{path.name}:{number}: {match[0]!r}; write {instead}"
        for number, text in prose
        for pattern, instead in INSTEAD.items()
        for match in re.finditer(pattern, plain(text), re.IGNORECASE)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_agreed_words(page):
    assert old_words(page, prose_of(page)) == []


# Of a string with its prefix; what stands in quotes within it is a quotation.
QUOTES = re.compile(r"^\w*(\"{3}|'{3}|[\"'])(.*)\1$", re.DOTALL)


def comments_and_messages(path):
    """(line number, text) of comments and of strings of more than one word."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            prose = token.type != tokenize.NAME and " " in token.string.strip()
            if prose and tokenize.tok_name[token.type] in ("COMMENT", "STRING", "FSTRING_MIDDLE"):
                yield token.start[0], QUOTES.sub(r"\2", token.string)
    else:
        pieces = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|<!--.*?-->|>[^<]+<|^#[^\n]*'
        for piece in re.finditer(pieces, text, re.DOTALL | re.MULTILINE):
            if " " in piece[0].strip():
                yield text.count("\n", 0, piece.start()) + 1, piece[0]


def test_code_uses_the_agreed_words():
    names = [str(file.relative_to(ROOT)) for folder in FOLDERS for file in (ROOT / folder).rglob("*.*")]
    old = [
        fault
        for name in sorted({"Makefile", *names})
        if name.endswith(LANGUAGES) and "/build/" not in name
        for fault in old_words(ROOT / name, comments_and_messages(ROOT / name))
    ]
    assert old == []
