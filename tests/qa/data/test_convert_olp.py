"""OLP to SQuAD: what the hand-written sample becomes, rule by rule, and the row that each fault is reported
at."""

import re
import shutil

import pytest
from places import SAMPLES

from qa.base.errors import OptionError, SquadFormatError
from qa.data.convert.olp import OLPOptions, convert_olp, locate
from qa.data.squad import Answer, read_squad

FOLDER = SAMPLES / "olp"
KINDS = ("tokens", "questions", "annotations")
TEXT = (
    "Harbour City edge Meadow United 2-1 Harbour City came from behind to beat Meadow United 2-1, after "
    "they had trailed 0-1 at "
    'the break. Pavel Núñez put the visitors ahead in the 12th minute. "We slept," said the coach. Substitute Tom Okafor '
    "levelled after 57 minutes and Ilya Brandt hit the winner in the 88th minute. Meadow's Sam Reyes was "
    "sent off on 70 minutes."
)


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "olp")
    return tmp_path / "olp"


def config(folder, *names):
    tables = {kind: tuple(folder / kind / f"{name}.csv" for name in names) for kind in KINDS}
    return OLPOptions(**tables, out=folder.parent / "olp.json")


def convert(folder, *names):
    settings = config(folder, *names)
    return convert_olp(settings), {e.id: e for e in read_squad(settings.out)}


def test_sample_becomes_these_questions(folder):
    report, examples = convert(folder, "harbour-meadow", "peak-delta")
    assert {e.context for e in examples.values() if e.title == "harbour-meadow"} == {TEXT}
    assert {qid: e.answers for qid, e in examples.items()} == {
        "harbour-meadow-A_1": (Answer("0-1", 116),),  # 0:1 in the table
        # 2:1 in the table; the headline's 2-1 at 32 is not annotated
        "harbour-meadow-A_2": (Answer("2-1", 88),),
        "harbour-meadow-A_4": (Answer("Sam Reyes", 325),),  # Reyes Sam in the table
        "harbour-meadow-A_6": (Answer("57", 254),),  # without a valid annotation, but in the text once only
        "harbour-meadow-A_8": (),
        "harbour-meadow-A_10": (Answer("Pavel Núñez", 134),),
        "peak-delta-A_1": (),
        "peak-delta-A_13": (Answer("Ana Lind", 90),),
    }
    assert {qid for qid, e in examples.items() if e.is_impossible} == {"harbour-meadow-A_8", "peak-delta-A_1"}
    assert examples["harbour-meadow-A_10"].question == "Who scored the first goal, and for whom?"
    assert report.converted == {
        "answered as written": 3,
        "answered, score with another sign": 2,
        "answered, name turned round": 1,
        "unanswerable": 2,
    }


def test_tokens_that_are_spaces_and_escaped_quotes_give_the_same_text(folder):
    _, examples = convert(folder, "peak-delta")
    assert examples["peak-delta-A_13"].context == (
        "Peak hold Delta Peak and Delta shared the points in a goalless draw on Sunday. "
        'Goalkeeper Ana Lind, the "wall" of Delta, saved a penalty.'
    )


def test_everything_dropped_is_listed_with_file_row_and_reason(folder, capsys):
    report, _ = convert(folder, "harbour-meadow", "peak-delta")
    assert sorted((d.file.parent.name, d.file.stem, d.row, d.reason) for d in report.dropped) == [
        ("annotations", "harbour-meadow", "12", "annotation of a question that is not asked"),
        ("annotations", "harbour-meadow", "13", "annotation's text is not what stands at its offsets"),
        ("annotations", "harbour-meadow", "5", "annotation listed twice"),
        ("questions", "harbour-meadow", "10", "answer is not in its annotations"),
        ("questions", "harbour-meadow", "11", "question listed twice"),
        ("questions", "harbour-meadow", "4", "answer is not in its annotations"),
        ("questions", "harbour-meadow", "6", "answer has several parts and no place of its own"),
        ("questions", "harbour-meadow", "8", "answer stands in several places, none annotated"),
        ("questions", "peak-delta", "4", "answer is not in the text, nothing annotated"),
    ]
    log = (folder.parent / "olp.json.dropped.tsv").read_text(encoding="utf-8").splitlines()
    assert log[0].split("\t") == ["file", "row", "item", "reason", "detail"]
    assert [line.split("\t")[3] for line in log[1:]] == [d.reason for d in report.dropped]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["8", "questions", "converted", "to", str(folder.parent / "olp.json")]
    assert "       2    answer is not in its annotations" in lines


@pytest.mark.parametrize(
    ("answer", "text", "expected"),
    [
        ("1:0", "It ended 11-0, not 1-0.", "1-0"),
        ("1:0", "It ended 1–0.", "1–0"),
        ("1:0", "1-0 up, then 1:0 again", "1:0"),  # as written goes first
        ("3", "A 3-1 win in minute 3.", "3"),
        ("Cup", "the cups and the cup", "cup"),
    ],
)
def test_answers_are_whole_words_of_the_text(answer, text, expected):
    _, start, end = locate(answer, text, [])
    assert (text[start:end], end) == (expected, text.rindex(expected) + len(expected))


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def swapped(old, new):
    return lambda path: edit(path, old, new)


def rewritten(change):
    """Return a table's text after `change`, as bytes."""
    return lambda path: path.write_bytes(change(path.read_text(encoding="utf-8")))


def in_all_rows(old, new):
    def change(text):
        header, rows = text.split("\n", 1)
        return f"{header}\n{rows.replace(old, new)}".encode()

    return rewritten(change)


SPAN = "3, A_2, 69, 91"
CITY = '8, 12, "City"'
HUGE = 10**20 - 1
NO_NUMBER = "row 2: DocCharOnset(incl) must be a whole number"
FAULTS = [
    ("annotations", swapped("DocCharOnset(Incl), ", ""), "row 1: no column 'DocCharOnset(incl)'; expected A"),
    ("questions", swapped("Answerable, ", ""), "row 1: no column 'Answerable'"),
    ("annotations", swapped(SPAN, f"{SPAN}0"), "row 2: annotation 3 of A_2 at 69 to 910 lies outside its"),
    ("annotations", swapped(SPAN, "3, A_2, 69, 69"), "row 2: annotation 3 of A_2 at 69 to 69 lies outside"),
    ("annotations", swapped(SPAN, "3, A_2, 6x, 91"), f"{NO_NUMBER}, got '6x'"),
    ("annotations", swapped(SPAN, "3, A_2, -1, 91"), f"{NO_NUMBER}, got '-1'"),
    ("annotations", swapped('"beat Meadow United 2-1"', "beat, 2-1"), "row 2: 8 fields; the header names 7"),
    ("annotations", swapped(', 69, 91, "beat Meadow United 2-1", "", ', ""), "row 2: 2 fields; the header"),
    ("questions", swapped("A_7, TRUE", "A_6, TRUE"), "row 8: 'A_6' stands in row 7, with other contents"),
    ("questions", swapped("A_1, TRUE", "A_1, yes"), "row 2: got 'A_1' and 'yes'; each row needs its own"),
    ("questions", in_all_rows("TRUE,", "yes,"), "row 2: got 'A_1' and 'yes', row 3: "),
    ("questions", in_all_rows(", ", " "), "row 2: 1 fields, row 3: "),
    ("tokens", swapped('"Harbour"', '"Harbour'), "row 2: a quotation mark that does not close"),
    ("tokens", swapped('0, 7, "Harbour"', '0, 6, "Harbour"'), "row 2: token 'Harbour' has 7 characters"),
    ("tokens", swapped(CITY, '6, 12, "City"'), "row 3: token 'City' begins at 6, before the end of"),
    ("tokens", swapped(CITY, '8888, 8892, "City"'), "row 3: token 'City' at 8888 to 8892 lies more"),
    ("tokens", swapped(CITY, f'{HUGE}, {HUGE}, "City"'), "row 3: token 'City' has 4 characters, more than"),
    ("tokens", swapped("237, 0, 1, 2", "238, 0, 1, 2"), "row 3: DocID '238' in the table of '237'"),
    ("tokens", rewritten(lambda text: b""), "the file is empty"),
    ("tokens", rewritten(lambda text: text.split("\n")[0].encode()), "row 2: no records below the header"),
    ("tokens", rewritten(lambda text: text.encode("latin-1")), "row 35: not UTF-8 text"),
    ("tokens", rewritten(lambda text: text.encode("utf-16")), "row 1: not UTF-8 text"),
    ("tokens", rewritten(lambda text: text.replace(", ", ";").encode()), "row 1: no column 'DocID'; exp"),
]


@pytest.mark.parametrize(("table", "change", "says"), FAULTS)
def test_fault_names_file_and_row_and_leaves_nothing(folder, table, change, says):
    path = folder / table / "harbour-meadow.csv"
    change(path)
    with pytest.raises(SquadFormatError) as caught:
        convert(folder, "harbour-meadow")
    assert str(caught.value).startswith(f"{path}: {says}")
    assert [p.name for p in folder.parent.iterdir()] == ["olp"]


def test_faults_of_all_tables_of_all_articles_are_named_at_once(folder):
    """Each once: a token that reaches too far does not make faults of all below it."""
    edit(folder / "tokens" / "harbour-meadow.csv", CITY, '8, 60, "City"')
    edit(folder / "tokens" / "harbour-meadow.csv", "237, 0, 4, 5", "238, 0, 4, 5")
    edit(folder / "questions" / "harbour-meadow.csv", "A_1, TRUE", "A_1, yes")
    edit(folder / "questions" / "harbour-meadow.csv", "A_7, TRUE", "A_6, TRUE")
    edit(folder / "annotations" / "harbour-meadow.csv", SPAN, "3, A_2, 6x, 91")
    edit(folder / "annotations" / "harbour-meadow.csv", "7, A_1, 108", "7, A_1, 1, 2, 3, 4, 108")
    edit(folder / "annotations" / "peak-delta.csv", "A_13, 79, 120", "A_13, 79, 1200")
    with pytest.raises(SquadFormatError) as caught:
        convert(folder, "harbour-meadow", "peak-delta")
    named = re.findall(r"\w+/[\w-]+\.csv|row \d+(?=: )", str(caught.value).replace(f"{folder}/", ""))
    assert named == [
        *("tokens/harbour-meadow.csv", "row 4", "row 6"),
        *("questions/harbour-meadow.csv", "row 2", "row 8"),
        *("annotations/harbour-meadow.csv", "row 2", "row 3"),
        *("annotations/peak-delta.csv", "row 2"),
    ]
    assert [p.name for p in folder.parent.iterdir()] == ["olp"]


def test_spreadsheet_forms_are_read_too(folder):
    """A byte order mark, Windows line ends, no blanks behind commas, quotation marks doubled, a token listed
    twice."""
    _, expected = convert(folder, "harbour-meadow", "peak-delta")
    for path in folder.rglob("*.csv"):
        text = path.read_text(encoding="utf-8").replace('"""', '""""')
        text = text.replace('\\"', '""').replace(' "wall" ', ' ""wall"" ')
        text = "".join(line.replace(", ", ",") + "\r\n" for line in text.splitlines())
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    questions = folder / "questions" / "harbour-meadow.csv"
    edit(questions, "goal,and", "goal, and")
    edit(folder / "annotations" / "peak-delta.csv", "Lind,the", "Lind, the")
    tokens = folder / "tokens" / "peak-delta.csv"
    tokens.write_bytes(tokens.read_bytes() + tokens.read_bytes().splitlines(keepends=True)[-1])
    report, examples = convert(folder, "harbour-meadow", "peak-delta")
    assert examples == expected
    assert report.dropped_by_reason()["token listed twice"] == 1


def test_article_without_annotations_is_ordinary(folder):
    path = folder / "annotations" / "peak-delta.csv"
    path.write_text(path.read_text(encoding="utf-8").splitlines()[0], encoding="utf-8")
    assert convert(folder, "peak-delta")[1]["peak-delta-A_13"].answers == (Answer("Ana Lind", 90),)


def test_questions_without_their_article_are_refused(folder):
    given = config(folder, "harbour-meadow", "peak-delta")
    third = folder / "questions" / "third.csv"
    settings = OLPOptions(given.tokens[:1], (*given.questions, third), given.annotations, given.out)
    told = r"--questions .*/peak-delta\.csv, .*/third\.csv: no table of that name among --tokens"
    with pytest.raises(OptionError, match=told):
        convert_olp(settings)
    with pytest.raises(OptionError, match="has the same name; one table for each article"):
        convert_olp(OLPOptions(given.tokens[:1] * 2, given.questions, given.annotations, given.out))


def test_nothing_convertible_is_an_error_with_the_reasons(folder):
    path = folder / "questions" / "peak-delta.csv"
    path.write_text("# Q_ID, Answerable, Question, Answer\nA_1, TRUE, Who?, Moe Hart\nA_2, TRUE, , x\n")
    told = r"not written.*, nothing annotated \(1\), question or answer is empty \(1\)"
    with pytest.raises(SquadFormatError, match=told):
        convert(folder, "peak-delta")
    assert [p.name for p in folder.parent.iterdir()] == ["olp"]


def test_an_input_is_never_overwritten(folder):
    given = config(folder, "peak-delta")
    with pytest.raises(OptionError, match="is an input of this command"):
        OLPOptions(given.tokens, given.questions, given.annotations, given.questions[0])
