package org.tensorflow.lite;

import java.nio.ByteBuffer;

/** One input or output of an interpreter. */
public interface Tensor {
    /** Element type. */
    DataType dataType();

    /** Rank; 0 for a scalar. */
    int numDimensions();

    /** Size in bytes. */
    int numBytes();

    /** Number of elements. */
    int numElements();

    /** Size of each dimension. */
    int[] shape();

    /** Shape before any resizing; -1 where a dimension is free. */
    int[] shapeSignature();

    /** Index in the subgraph. */
    int index();

    /** Name in the model. */
    String name();

    /** Scale and zero point; both 0 for a float tensor. */
    QuantizationParams quantizationParams();

    /** The data, valid only until the next run or resize. */
    ByteBuffer asReadOnlyBuffer();

    /** real value = scale * (stored value - zero point). */
    class QuantizationParams {
        public QuantizationParams(float scale, int zeroPoint) {
            throw new UnsupportedOperationException("stub");
        }

        /** Scale. */
        public float getScale() {
            throw new UnsupportedOperationException("stub");
        }

        /** Zero point. */
        public int getZeroPoint() {
            throw new UnsupportedOperationException("stub");
        }
    }
}
