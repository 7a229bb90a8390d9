"""Distil a teacher into a student: prune or build the student, then train it.

    python -m distill.run
    python -m distill.run --teacher-encoder bert-base-uncased --data squad --out runs/new
    python -m distill.run --teacher runs/mine --data train-v1.1.json --eval-data dev-v1.1.json --out runs/real

The teacher is given, fine-tuned first, or the shipped one.
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("distill")
