"""Check that the Android app accepts a model and answers as Python does, on the JVM of this machine.

python -m export.android --model runs/demo/student-pruned-tflite-int8
python -m export.android --model runs/demo/student-pruned-tflite-int8 --push

The second command puts the model on a phone and opens the app on it.

The app's Java core reads the file, tokenizes, cuts windows, chooses signatures and decodes, as it does on a
phone; only the logits come from this machine's LiteRT. Python answers the same questions, and everything must
be equal.
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("export android")
