package org.tensorflow.lite;

/** Element type of a {@link Tensor}. */
public enum DataType {
    FLOAT32,
    INT32,
    STRING
}
