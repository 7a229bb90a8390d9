package org.pocketqa.app;

import android.content.res.Resources;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import org.pocketqa.core.ModelFileException;
import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.Signature;
import org.tensorflow.lite.DataType;
import org.tensorflow.lite.Interpreter;
import org.tensorflow.lite.Tensor;

/** Checks that the model has each signature of its package, with the tensors that this app supports. */
final class SignatureCheck {
    private final Interpreter interpreter;
    private final Resources words;

    SignatureCheck(Interpreter interpreter, Resources words) {
        this.interpreter = interpreter;
        this.words = words;
    }

    void check(List<Signature> signatures) throws ModelFileException {
        List<String> present = Arrays.asList(interpreter.getSignatureKeys());
        for (Signature signature : signatures) {
            if (!present.contains(signature.name)) {
                throw new ModelFileException(words.getString(R.string.signature_missing, present.toString(), signature.name));
            }
            checkNames(signature, interpreter.getSignatureInputs(signature.name), ModelPackage.INPUTS);
            checkNames(signature, interpreter.getSignatureOutputs(signature.name), ModelPackage.OUTPUTS);
            for (String name : ModelPackage.INPUTS) {
                checkForm(signature, name, interpreter.getInputTensorFromSignature(name, signature.name), DataType.INT32);
            }
            for (String name : ModelPackage.OUTPUTS) {
                checkForm(signature, name, interpreter.getOutputTensorFromSignature(name, signature.name), DataType.FLOAT32);
            }
        }
    }

    private void checkNames(Signature signature, String[] seen, List<String> wanted) throws ModelFileException {
        TreeSet<String> names = new TreeSet<String>(Arrays.asList(seen));
        if (!names.equals(new TreeSet<String>(wanted))) {
            String shown = names.toString();
            throw new ModelFileException(words.getString(R.string.signature_tensors, signature.name, shown, wanted.toString()));
        }
    }

    private void checkForm(Signature signature, String name, Tensor tensor, DataType type) throws ModelFileException {
        int[] shape = {1, signature.length};
        if (tensor.dataType() != type || !Arrays.equals(tensor.shape(), shape)) {
            String seen = form(tensor.dataType(), tensor.shape());
            throw new ModelFileException(words.getString(R.string.tensor_form, name, signature.name, seen, form(type, shape)));
        }
    }

    private static String form(DataType type, int[] shape) {
        return type + " " + Arrays.toString(shape);
    }
}
