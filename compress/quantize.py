"""What each precision means on each runtime: one table, and the names used in flags, files, rows and Java."""

PRECISION_OF_FLAG = {"none": "fp32", "fp16": "fp16", "int8": "int8", "int8-weights": "int8-weights", "int4": "int4"}

# (precision, runtime) -> what is stored and what is computed. Inputs are integers and logits float32 throughout. Word embeddings
# may be stored in fewer bits than the weights (export.word_table), which the manifest says beside the precision.
MEANING = {
    ("fp32", "onnx"): "float32 weights and arithmetic",
    ("fp32", "tflite"): "float32 weights and arithmetic",
    ("fp16", "onnx"): "float16 weights; float16 arithmetic where the CPU has kernels, else casts to float32",
    ("fp16", "tflite"): "float16 weights, turned to float32 when the model is loaded",
    # An LSTM becomes ONNX Runtime's DynamicQuantizeLSTM: the same for its two matrices, its input and its state.
    ("int8", "onnx"): "int8 weights by output channel, int8 embeddings by row; activations quantized as it runs, by tensor",
    ("int8", "tflite"): "int8 weights by output channel and int8 embeddings by row; activations quantized as it runs, by token, "
    "and in the products of attention with scales measured on training windows",
    # ONNX Runtime 1.31 turns these products into its own operator for int8 weights and float activations.
    ("int8-weights", "onnx"): "int8 weights by output channel and int8 embeddings by row; float32 activations",
    ("int8-weights", "tflite"): "int8 weights by output channel and int8 embeddings by row, dequantized; float32 arithmetic",
    # Not in blocks: LiteRT 1.4 computes those wrongly. Not in ONNX: ONNX Runtime's int4 product takes twice as long as its int8.
    ("int4", "tflite"): "int4 weights by output channel and int4 word embeddings by row, clipped for the least squared error; "
    "other tables int8; activations quantized as it runs, by token, and in the products of attention with scales measured on "
    "training windows",
}
