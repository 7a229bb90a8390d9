"""The student in models/ as the page takes it: LiteRT.js cannot resize, so every length has a signature.

The page that users make has four lengths; two are enough to choose between, and take half the time to export.
"""

from export.options import TFLiteOptions
from export.tflite.exporter import export
from qa.base import shipped

LENGTHS = (128, 384)


def export_page_model(folder):
    """Export the student to a bundle in `folder`."""
    student = shipped.FOLDER / shipped.STUDENT
    return export(TFLiteOptions(model=student, quantize="int8", lengths=LENGTHS, out=folder / shipped.ASKED))
