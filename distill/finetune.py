"""Fine-tune a model on questions with gold answers: a pre-trained encoder under a fresh head, or a model that
answers already.

    python -m distill.finetune --data squad_v2 --out runs/teacher
    python -m distill.finetune --model runs/teacher --data football.json --out runs/football
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("finetune")
