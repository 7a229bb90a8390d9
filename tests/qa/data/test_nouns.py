"""Nouns of hand-picked sentences, and what is noted about each."""

import sys

import pytest

from qa.base.errors import OptionError
from qa.data.augment.nouns import nouns, sentences


def test_common_nouns_plurals_and_whole_names():
    text = "In 1870 the monks sold two bells to Mr. John Smith of St. Louis, who gave the money away."
    found = nouns(text)
    assert [(n.text, n.tag) for n in found] == [
        ("monks", "NNS"),
        ("bells", "NNS"),
        ("Mr. John Smith", "NNP"),
        ("St. Louis", "NNP"),
        ("money", "NN"),
    ]
    assert all(text[n.start : n.end] == n.text for n in found)


def test_what_is_asked_for_is_marked():
    marked = [
        (n.text, n.is_asked_for)
        for n in nouns("Which old river crosses the valley, and how many boats are there?")
    ]
    assert marked == [("river", True), ("valley", False), ("boats", True)]


def test_compounds_dates_and_sentence_openings_are_marked():
    found = {
        n.text: n
        for n in nouns("Monks sang on 28 January. The hockey team of the village saw the rural areas.")
    }
    assert found["Monks"].opens_sentence
    assert found["January"].in_compound
    assert found["hockey"].in_compound
    assert found["areas"].in_compound
    assert not found["village"].in_compound


def test_sentences_do_not_end_behind_abbreviations():
    text = 'He met Dr. A. Smith. "Well!" It rained'
    assert [text[s:e] for s, e in sentences(text)] == ["He met Dr. A. Smith. ", '"Well!" ', "It rained"]
    assert sentences("") == []
    assert nouns("") == []


def test_missing_tagger_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "textblob.en", None)
    with pytest.raises(OptionError, match=r"pip install 'pocketqa\[augment\]'"):
        nouns("A fox.")
