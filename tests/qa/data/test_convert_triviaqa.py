"""TriviaQA to SQuAD: where answers are found in the hand-written sample, and how faults of the published
files are reported."""

import json
import shutil
import unicodedata

import pytest
from places import SAMPLES

from qa.base.errors import OptionError, SquadFormatError
from qa.data import squad
from qa.data.convert.triviaqa import TriviaQAOptions, convert_triviaqa, first_mention, first_words, words_of
from qa.data.squad import Answer, read_squad

FOLDER = SAMPLES / "triviaqa"


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "triviaqa")
    return tmp_path / "triviaqa"


def config(folder, **options):
    return TriviaQAOptions(
        folder / "qa" / "web-train.json", folder / "evidence", folder.parent / "out.json", **options
    )


def convert(folder, **options):
    report = convert_triviaqa(config(folder, **options))
    return report, {e.id: e for e in read_squad(folder.parent / "out.json")}


def edit(folder, change):
    """Change the question file's root object."""
    path = folder / "qa" / "web-train.json"
    root = json.loads(path.read_text(encoding="utf-8"))
    change(root)
    path.write_text(json.dumps(root), encoding="utf-8")


def test_sample_becomes_these_questions(folder):
    report, examples = convert(folder)
    assert {qid: e.answers for qid, e in examples.items()} == {
        "tc_1--Lisbon.txt": (Answer("Tejo", 61),),  # before "River Tagus" and "The Tagus"
        # the longest alias there, whatever its case and hyphen
        "tc_1--12/12_34.txt": (Answer("RIVER-TAGUS", 0),),
        "qw_2--Cornwall.txt": (Answer("St. Ives", 88),),  # St Ives in the question file
    }
    assert not any(e.is_impossible for e in examples.values())
    assert [e.title for e in examples.values()] == ["Lisbon", "12/12_34", "Cornwall"]
    assert examples["tc_1--12/12_34.txt"].question == "On which river does Lisbon lie?"
    assert report.converted == {"with a document from wikipedia": 2, "with a document from web": 1}


def test_everything_dropped_is_listed_with_row_and_reason(folder):
    report, _ = convert(folder)
    assert [(d.row, d.item, d.reason) for d in report.dropped] == [
        ("Data[0] tc_1", "12/12_34.txt", "question and document listed twice"),
        ("Data[0] tc_1", "99/99_1.txt", "document is missing"),
        # Ann, but in annual only
        ("Data[2] sfq_3", "12/12_34.txt", "no alias in the document's first 800 words"),
        ("Data[3] sfq_4", "sfq_4", "question has no document"),
    ]
    log = (folder.parent / "out.json.dropped.tsv").read_text(encoding="utf-8").splitlines()
    assert len(log) == 5
    assert log[2].startswith(f"{folder}/qa/web-train.json\tData[0] tc_1\t99/99_1.txt\tdocument is missing\t")


def test_only_the_first_words_of_a_document_count(folder):
    _, examples = convert(folder, max_words=12)
    assert list(examples) == ["tc_1--Lisbon.txt", "tc_1--12/12_34.txt"]
    report, examples = convert(folder, max_words=11)
    assert list(examples) == ["tc_1--12/12_34.txt"]
    end = "\r\n\r\nBoats leave Lisbon every hour. The annual pass is"
    assert examples["tc_1--12/12_34.txt"].context.endswith(end)
    assert report.dropped_by_reason()["no alias in the document's first 11 words"] == 3


def test_first_words_are_cut_at_white_space():
    assert first_words(" one, two\nthree ", 2) == " one, two"
    assert first_words(" one ", 2) == " one "


@pytest.mark.parametrize(
    ("aliases", "text", "expected"),
    [
        (["Washington, D.C."], "in Washington D.C. today", "Washington D.C"),
        (["the beatles", "beatles"], "So The Beatles, the Beatles!", "The Beatles"),
        (["york", "new york", "new york city"], "A New York City bus", "New York City"),
        (["new york"], "It is new.\nYork is old. New York is big.", "New York"),
        (["émile zola"], "ÉMILE ZOLA", "ÉMILE ZOLA"),
        (["t shirt"], "a T-shirts shop sells a T-shirt", "T-shirt"),
        (["4"], "in 1984, at 4.", "4"),
        (["!!!"], "!!!", None),
    ],
)
def test_first_mention(aliases, text, expected):
    place = first_mention(aliases, text, words_of(text))
    assert (place and text[slice(*place)]) == expected


def test_documents_are_found_whatever_the_form_of_their_names(folder):
    written = unicodedata.normalize("NFD", "Évora.txt")
    (folder / "evidence" / "wikipedia" / written).write_text(
        "Évora lies far from the Tejo.", encoding="utf-8"
    )
    edit(folder, lambda root: root["Data"][0]["EntityPages"].append({"Filename": "évora.txt"}))
    assert convert(folder)[1]["tc_1--évora.txt"].answers == (Answer("Tejo", 24),)


def test_document_in_another_encoding_is_dropped(folder):
    (folder / "evidence" / "wikipedia" / "Cornwall.txt").write_bytes("St Ives – café".encode("cp1252"))
    report, examples = convert(folder)
    assert "qw_2--Cornwall.txt" not in examples
    assert ("Data[1] qw_2", "Cornwall.txt", "document is not UTF-8") in [
        (d.row, d.item, d.reason) for d in report.dropped
    ]


def test_verified_files_keep_their_verified_part_only(folder):
    def verify(root):
        root["VerifiedEval"] = True
        root["Data"][0]["QuestionPartOfVerifiedEval"] = True
        root["Data"][0]["EntityPages"][0]["DocPartOfVerifiedEval"] = False
        root["Data"][0]["SearchResults"][0]["DocPartOfVerifiedEval"] = True
        root["Data"][1]["QuestionPartOfVerifiedEval"] = False

    edit(folder, verify)
    report, examples = convert(folder)
    assert list(examples) == ["tc_1--12/12_34.txt"]
    assert report.dropped_by_reason()["question is not part of the verified set"] == 1
    assert report.dropped_by_reason()["document is not part of the verified set"] == 1


OTHER_FORM = "question is not as TriviaQA writes it"
OUTSIDE = "document's name leads out of the evidence folder"
NO_ANSWER = "question has no 'Answer', as in a test file"
UNUSABLE = [
    ("tc_1", OTHER_FORM, "`Question`", lambda one: one.pop("Question")),
    ("tc_1", OTHER_FORM, "`$.Answer`", lambda one: one["Answer"].pop("Value")),
    ("tc_1", OTHER_FORM, "`$.EntityPages[0]`", lambda one: one["EntityPages"][0].pop("Filename")),
    ("tc_1", OTHER_FORM, "`$.EntityPages`", lambda one: one.update(EntityPages="x")),
    ("tc_1", NO_ANSWER, "On which river", lambda one: one.pop("Answer")),
    ("../../x", OUTSIDE, "", lambda one: one["EntityPages"][0].update(Filename="../../x")),
]


def test_every_record_with_a_fault_is_listed_and_the_others_are_converted(folder):
    def spoil(root):
        for *_, change in UNUSABLE:
            record = json.loads(json.dumps(root["Data"][0]))
            change(record)
            root["Data"].append(record)
        root["Data"] += ["x"]

    wanted = convert(folder)[1]
    edit(folder, spoil)
    report, examples = convert(folder)
    assert examples == wanted
    listed = [d for d in report.dropped if int(d.row.split("]")[0].removeprefix("Data[")) > 3]
    listed = [d for d in listed if d.reason != "question and document listed twice" and "99/99" not in d.item]
    assert [(d.item, d.reason) for d in listed] == [
        *((item, reason) for item, reason, _, _ in UNUSABLE),
        ("", OTHER_FORM),
    ]
    assert all(detail in d.detail for d, (_, _, detail, _) in zip(listed, UNUSABLE, strict=False))


def test_a_test_file_is_refused_with_the_reason(folder):
    edit(folder, lambda root: [one.pop("Answer") for one in root["Data"]])
    told = r"out\.json: not written.*: question has no 'Answer', as in a test file \(4\)"
    with pytest.raises(SquadFormatError, match=told):
        convert(folder)
    assert [p.name for p in folder.parent.iterdir()] == ["triviaqa"]


def test_unreadable_question_file_is_refused(folder):
    path = folder / "qa" / "web-train.json"
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(SquadFormatError, match="not valid JSON at line"):
        convert(folder)
    path.write_bytes(b"")
    with pytest.raises(SquadFormatError, match="the file is empty; give a TriviaQA JSON file"):
        convert(folder)
    path.write_text('{"Data": {}}')
    with pytest.raises(SquadFormatError, match="Expected `array`, got `object`"):
        convert(folder)


def test_wrong_evidence_folder_is_refused(folder):
    with pytest.raises(OptionError, match="--evidence must be a folder that holds the folders wikipedia"):
        TriviaQAOptions(folder / "qa" / "web-train.json", folder / "evidence" / "web", folder / "out.json")


def test_a_full_disk_leaves_neither_data_nor_log(folder, monkeypatch):
    def full(path, content, check):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(squad, "write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        convert(folder)
    assert [p.name for p in folder.parent.iterdir()] == ["triviaqa"]
