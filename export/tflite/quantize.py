"""fp32 .tflite -> fp16, int8, int8-weights or int4; qa.formats.precision says what each means.

ai-edge-quantizer quantizes the weights with min/max scales, for int4 after they were clipped. No calibration
data is needed.
"""

import re
from collections.abc import Collection

import numpy as np

from compress.scales import least_squares_bounds
from export.tflite.file import TFLiteFile
from export.tflite.quiet import quietly
from qa.base.errors import UnsupportedExport


def quantize(fp32: TFLiteFile, precision: str, fp32_linears: Collection[str] = ()) -> TFLiteFile:
    """Return an fp32 file, which stays as it is, in a precision.

    Linears with an output of these names stay in fp32. UnsupportedExport for a precision without a recipe.
    """
    if precision in ("fp32", "int4"):  # passes change the one in place, and clipping the other
        fp32 = fp32.copy()
    if precision == "fp32":
        return fp32
    if precision == "int4":
        clip_for_int4(fp32, fp32_linears)
    with quietly():
        from ai_edge_quantizer import algorithm_manager, qtyping, quantizer, recipe

        algorithms = algorithm_manager.AlgorithmName
        operators = qtyping.TFLOperationName
        job = quantizer.Quantizer(fp32.content)
        if precision == "fp16":
            job.add_weight_only_config(
                ".*", operators.ALL_SUPPORTED, num_bits=16, algorithm_key=algorithms.FLOAT_CASTING
            )
        elif precision == "int8-weights":
            job.load_quantization_recipe(recipe.weight_only_wi8_afp32())
        elif precision in ("int8", "int4"):
            # Min/max stores the integers of QAT (relative squared error of the shipped student:
            # 2e-15). DEQUANTIZED_WEIGHT_RECOVERY refuses them: it finds 261 values in a row, not 256.
            job.load_quantization_recipe(recipe.dynamic_wi8_afp32())
        else:
            raise UnsupportedExport(f"--quantize {precision}: export/tflite/quantize.py does not know it")
        if precision == "int4":
            job.add_dynamic_config(".*", operators.FULLY_CONNECTED, num_bits=4)
        for name in finished_lookups(fp32):
            job.update_quantization_recipe(
                re.escape(name), operators.EMBEDDING_LOOKUP, algorithm_key=algorithms.NO_QUANTIZE
            )
        for name in fp32_linears:
            job.update_quantization_recipe(
                re.escape(name), operators.FULLY_CONNECTED, algorithm_key=algorithms.NO_QUANTIZE
            )
        result = job.quantize(enable_progress_bar=False, enable_progress_report=False)
        return TFLiteFile(result.quantized_model)


def clip_for_int4(file: TFLiteFile, fp32_linears: Collection[str] = ()) -> None:
    """Clip the matrices of all other Linears, so that their min/max scales have the least squared error.

    Positions and token types are small and stay int8: with every table in int4 a trained model lost 1.7 F1.
    """
    # Squared error of the shipped teacher's Linears, relative to their squares: 0.0181. With
    # ai-edge-quantizer 0.10 it is 0.0204 (OCTAV), 0.0258 (MSE) and 0.0313 (min/max).
    matrices = {
        weight.buffer: weight.values
        for weight in file.weights()
        if weight.operator == "FULLY_CONNECTED" and weight.output not in fp32_linears
    }
    for matrix in matrices.values():
        bounds = least_squares_bounds(matrix, 4)
        np.clip(matrix, -bounds, bounds, out=matrix)


def finished_lookups(file: TFLiteFile) -> list[str]:
    """Return the names of look-ups in tables that stay as they are: integers, and their column of scales.

    export.embeddings makes such tables.
    """
    return [
        weight.output
        for weight in file.weights()
        if weight.operator == "EMBEDDING_LOOKUP" and (weight.type == "INT8" or weight.shape[1] == 1)
    ]
