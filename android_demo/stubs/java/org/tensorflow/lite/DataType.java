package org.tensorflow.lite;

/** Element type of a {@link Tensor}. */
public enum DataType {
    FLOAT32,
    INT32,
    UINT8,
    INT64,
    STRING,
    BOOL,
    INT16,
    INT8;

    /** Bytes of one element, -1 where that varies (BOOL, STRING). */
    public int byteSize() {
        throw new UnsupportedOperationException("stub");
    }
}
