package org.pocketqa.tools;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.nio.charset.Charset;
import org.pocketqa.core.Answers;
import org.pocketqa.core.Candidate;
import org.pocketqa.core.LogitsModel;
import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.ProbeException;
import org.pocketqa.core.Progress;
import org.pocketqa.core.QuestionAnswerer;
import org.pocketqa.core.Signature;
import org.pocketqa.core.Tokens;

/**
 * The app's core as a desktop process: `java org.pocketqa.tools.CoreServer model.tflite`, commands on stdin, replies on stdout.
 *
 * It has no LiteRT: for each window it asks whoever started it for the logits. export/core_process.py is the other side and
 * has the same letters. Numbers are big-endian, texts are UTF-8 after their length, offsets count code points.
 */
public final class CoreServer {
    private static final Charset UTF_8 = Charset.forName("UTF-8");

    private final DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    private final DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));

    /** Serves until stdin ends. */
    public static void main(String[] args) throws IOException {
        new CoreServer().serve(new File(args[0]));
    }

    private void serve(File file) throws IOException {
        ModelPackage model;
        try {
            model = ModelPackage.read(file);
        } catch (IOException error) {
            sendError(error);
            return;
        }
        QuestionAnswerer answerer = new QuestionAnswerer(model, new PipedModel());
        out.writeByte('M');
        out.flush();
        for (int command = in.read(); command >= 0; command = in.read()) {
            switch (command) {
                case 'T':
                    String text = readText();
                    send(text, model.tokenizer().encode(text));
                    break;
                case 'P':
                    probe(answerer);
                    break;
                case 'Q':
                    String passage = readText();
                    send(passage, answerer.ask(passage, readText(), new NoProgress()));
                    break;
                default:
                    throw new IOException("unknown command " + command);
            }
            out.flush();
        }
    }

    private void probe(QuestionAnswerer answerer) throws IOException {
        try {
            double difference = answerer.checkProbe();
            out.writeByte('P');
            out.writeDouble(difference);
        } catch (ProbeException error) {
            sendError(error);
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

    private void send(String passage, Answers answers) throws IOException {
        CodePointOffsets offsets = new CodePointOffsets(passage);
        out.writeByte('A');
        out.writeInt(answers.windows);
        out.writeBoolean(answers.best != null);
        out.writeDouble(answers.nullScore);
        out.writeInt(answers.candidates.size());
        for (Candidate candidate : answers.candidates) {
            out.writeDouble(candidate.score);
            out.writeInt(offsets.of(candidate.start));
            out.writeInt(offsets.of(candidate.end));
        }
    }

    private void sendError(IOException error) throws IOException {
        out.writeByte('E');
        byte[] bytes = String.valueOf(error.getMessage()).getBytes(UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
        out.flush();
    }

    private String readText() throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return new String(bytes, UTF_8);
    }

    /** Asks the other side of the pipe for the logits. */
    private final class PipedModel implements LogitsModel {
        @Override
        public void run(Signature signature, int[] ids, int[] mask, int[] types, float[] startLogits, float[] endLogits) {
            try {
                out.writeByte('R');
                out.writeUTF(signature.name);
                out.writeInt(signature.length);
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

    private static final class NoProgress implements Progress {
        @Override
        public void windowDone(int done, int total) {}
    }
}
