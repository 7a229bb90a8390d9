"""More unanswerable questions for training, made from answerable ones as QeRMIT proposes (Chang & Ai 2019,
3.4 and 5).

    python -m qa.data.augment --data squad --share 0.2 --out squad-augmented.json

Half of the added questions are asked of a passage of another article (`ID-swapped`), where no answer of
theirs stands; one that several articles are asked ("Who scored first?") is not moved, since it fits anywhere.
The other half keep their passage and have one noun, a name counting as one, replaced by another of the
passage (`ID-noun`): of the same kind (singular, plural, name), and from a sentence that holds no answer,
since what is said of both nouns is said there. The replaced noun is one that the passage uses too, and not
the one that says what is asked for ("which river").

Part of speech is a tagger's word (qa/data/augment/nouns.py), and nobody checks the questions. Of 50 with a
replaced noun out of the shipped excerpt (seed 4), read one by one, 47 had a noun for a noun, and 5 were still
answered by their passage; 9 more read so oddly that the old answer might pass, most of them with a common
noun replaced, which is why a name goes first where there is one. Of 50 swapped ones (seed 1) none was
answered. OUT.added.tsv lists every added question with its source, its kind and its change.
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("augment")
