"""Compare bundles: size, accuracy, EM and F1 retained against the teacher, and latency of the same files.

    python benchmarks/compare.py                            # all that make demo left in runs/demo
    python benchmarks/compare.py runs/teacher runs/student-tflite-int8 --data dev-v1.1.json
    python benchmarks/compare.py runs/student-tflite-int8 --target ssh:pi@raspberrypi.local
    python benchmarks/compare.py runs/student-tflite-int8 --target qemu:neoverse-n1
    python benchmarks/compare.py runs/student-tflite-int8 --phone-report pixel8.json
    python benchmarks/compare.py --report \\
        --rows benchmarks/results/amd-epyc-2core.jsonl --data dev-v1.1.json.gz

Every measurement is appended to a file of results. Tables go to stdout and an HTML page is written beside the
file. --target runs exports on another machine. The last two commands measure nothing: one imports what the
app measured on a phone, the other writes the page again.
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("compare")
