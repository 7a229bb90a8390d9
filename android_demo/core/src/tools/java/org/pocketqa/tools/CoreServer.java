package org.pocketqa.tools;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import org.pocketqa.core.LogitsModel;
import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.ProbeException;
import org.pocketqa.core.QuestionAnswerer;
import org.pocketqa.core.Signature;
import org.pocketqa.core.TextFile;
import org.pocketqa.core.TextFileException;
import org.pocketqa.core.Tokens;

/**
 * The app's core as a desktop process: `java org.pocketqa.tools.CoreServer model.tflite`, commands on stdin, replies on stdout.
 *
 * It has no LiteRT: for each window it requests the logits from its parent process. export/android/core_process.py is that process
 * and uses the same command letters.
 */
public final class CoreServer {
    private final Pipe pipe = new Pipe();
    private final DataInputStream in = pipe.in;
    private final DataOutputStream out = pipe.out;

    /** Serves until stdin ends. */
    public static void main(String[] args) throws IOException {
        new CoreServer().serve(new File(args[0]));
    }

    private void serve(File file) throws IOException {
        ModelPackage model;
        try {
            model = ModelPackage.read(file);
        } catch (IOException error) {
            pipe.sendError(error.getMessage());
            return;
        }
        QuestionAnswerer answerer = new QuestionAnswerer(model, new PipedModel());
        out.writeByte('M');
        out.flush();
        for (int command = in.read(); command >= 0; command = in.read()) {
            switch (command) {
                case 'T':
                    String text = pipe.readText();
                    send(text, model.tokenizer().encode(text));
                    break;
                case 'P':
                    probe(answerer);
                    break;
                case 'Q':
                    String passage = pipe.readText();
                    pipe.send(passage, answerer.ask(passage, pipe.readText(), pipe.in.readBoolean(), (done, total) -> {}));
                    break;
                case 'F':
                    readFile(pipe.readBytes());
                    break;
                default:
                    throw new IOException("unknown command " + command);
            }
            out.flush();
        }
    }

    private void readFile(byte[] bytes) throws IOException {
        try {
            pipe.sendText('F', TextFile.read(new ByteArrayInputStream(bytes), bytes.length));
        } catch (TextFileException error) {
            pipe.sendError(error.getMessage());
        }
    }

    private void probe(QuestionAnswerer answerer) throws IOException {
        try {
            double difference = answerer.checkProbe();
            out.writeByte('P');
            out.writeDouble(difference);
        } catch (ProbeException error) {
            pipe.sendError(error.getMessage());
        }
    }

    private void send(String text, Tokens tokens) throws IOException {
        CodePointOffsets offsets = new CodePointOffsets(text);
        out.writeByte('T');
        out.writeInt(tokens.size());
        for (int i = 0; i < tokens.size(); i++) {
            out.writeInt(tokens.id(i));
            out.writeInt(offsets.of(tokens.start(i)));
            out.writeInt(offsets.of(tokens.end(i)));
        }
    }

    /** Requests logits from the other side of the pipe. */
    private final class PipedModel implements LogitsModel {
        @Override
        public void run(Signature signature, int[] ids, int[] mask, int[] types, float[] startLogits, float[] endLogits) {
            try {
                out.writeByte('R');
                out.writeUTF(signature.name);
                out.writeInt(ids.length);
                for (int[] tensor : new int[][] {ids, mask, types}) {
                    for (int value : tensor) {
                        out.writeInt(value);
                    }
                }
                out.flush();
                for (float[] logits : new float[][] {startLogits, endLogits}) {
                    for (int i = 0; i < logits.length; i++) {
                        logits[i] = in.readFloat();
                    }
                }
            } catch (EOFException gone) {
                System.exit(1);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
