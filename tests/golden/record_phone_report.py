"""Record what the app's benchmark shares, written by the app itself on this machine's JVM with LiteRT 1.4.

    make android-test      # once, for its classes and LiteRT
    PYTHONPATH=tests/support python tests/golden/record_phone_report.py --model BUNDLE

writes tests/golden/phone_report.json. Its times are of no phone and of no use but to be read.
"""

import argparse
from pathlib import Path

from app_process import AppProcess

from qa.bundles.bundle import open_bundle

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="TFLite bundle")
    with AppProcess(open_bundle(parser.parse_args().model, format="tflite").weights) as app:
        (Path(__file__).parent / "phone_report.json").write_text(app.benchmark() + "\n", encoding="ascii")
