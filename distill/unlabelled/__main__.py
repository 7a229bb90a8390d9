"""More training questions without gold answers: a student learns from its teacher's answers to them.

    python -m distill.unlabelled --data squad_v2 --passages 1 --reworded 1 --out more.json

OUT has all questions of the data, and new ones marked "unlabelled": each question with other passages of its
article (`ID-passage1`), and with its own passage, some of whose words are replaced by similar ones
(`ID-reworded1`; after TinyBERT, Jiao et al. 2020). Only distillation takes such a file.
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("unlabelled")
