package org.tensorflow.lite;

/** One input or output of an interpreter. */
public interface Tensor {
    DataType dataType();

    int[] shape();
}
