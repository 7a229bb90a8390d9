package org.pocketqa.tools;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.Charset;
import org.pocketqa.core.Answers;
import org.pocketqa.core.Candidate;

/** stdin and stdout of a server. Numbers are big-endian. Input follows its length. Offsets count code points. */
public final class Pipe {
    private static final Charset UTF_8 = Charset.forName("UTF-8");

    public final DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    public final DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));

    /** Reads a text as UTF-16, because an unpaired surrogate, which a text on a phone may contain, has no UTF-8. */
    public String readText() throws IOException {
        char[] units = new char[in.readInt()];
        for (int i = 0; i < units.length; i++) {
            units[i] = in.readChar();
        }
        return new String(units);
    }

    public byte[] readBytes() throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return bytes;
    }

    /** Writes the answers to a question about the passage. */
    public void send(String passage, Answers answers) throws IOException {
        CodePointOffsets offsets = new CodePointOffsets(passage);
        out.writeByte('A');
        out.writeInt(answers.windows);
        out.writeInt(answers.windowsInText);
        out.writeBoolean(answers.best != null);
        out.writeDouble(answers.nullScore);
        out.writeInt(answers.candidates.size());
        for (Candidate candidate : answers.candidates) {
            out.writeDouble(candidate.score);
            out.writeInt(offsets.of(candidate.start));
            out.writeInt(offsets.of(candidate.end));
            out.writeDouble(candidate.share);
        }
        out.flush();
    }

    public void sendError(String sentence) throws IOException {
        sendText('E', sentence);
    }

    /** Writes a text in UTF-8, after its number of bytes. */
    public void sendText(char letter, String text) throws IOException {
        out.writeByte(letter);
        byte[] bytes = String.valueOf(text).getBytes(UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
        out.flush();
    }
}
