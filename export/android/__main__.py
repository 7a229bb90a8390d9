"""Will the Android app take this model, and answer as Python does? Runs the app's Java core here, on the JVM.

    python -m export.android --model runs/demo/student-pruned-tflite-int8
    python -m export.android --model runs/demo/student-pruned-tflite-int8 --push

The last puts it on a phone, and opens the app on it.

The core reads the file, tokenizes, cuts windows, chooses signatures and decodes, as it does on a phone; only
the logits come from this machine's LiteRT. Python answers the same questions, and everything must be equal.
"""

from export.android.stage import main
from qa.base.cli import run_command

if __name__ == "__main__":
    run_command(main)
