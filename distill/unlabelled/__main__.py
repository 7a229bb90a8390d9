"""More training questions: without gold answers, for a teacher to label, and copies that keep their answers.

    python -m distill.unlabelled --data squad_v2 --passages 1 --reworded 1 --out more.json
    python -m distill.unlabelled --data everyday --passages 0 --same-kind 2 --typed 1 --noisy 1 --out OUT

OUT has all questions of the data, and new ones marked "unlabelled": each question with other passages of its
article (`ID-passage1`) or of other articles of its category (`ID-passage1k`), and with its own passage, some
of whose words are replaced by similar ones (`ID-reworded1`; after TinyBERT, Jiao et al. 2020). Only
distillation takes a file with these.

Copies have answers: each question as people type it (`ID-typed1`), and each passage as it arrives on a phone
(`ID-noisy1`). Without unlabelled questions, fine-tuning takes the file too. Neither kind is ever held out.
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("unlabelled")
