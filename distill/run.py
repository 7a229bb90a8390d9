"""Distil a teacher into a student: prune or build the student, then train it.

    python -m distill.run
    python -m distill.run --teacher runs/mine --data train-v1.1.json --eval-data dev-v1.1.json --out runs/real

The teacher is given, or the shipped one. A new one is fine-tuned first:

    python -m distill.finetune --model bert-base-uncased --data squad --out runs/teacher
    python -m distill.run --teacher runs/teacher --data squad --out runs/new
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("distill")
