package org.pocketqa.core;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.Charset;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/** Makes valid and faulty model files: a fake model, then a zip as Python's zipfile appends it. */
final class ModelFiles {
    static final String INFO = "qa.json";
    static final String VOCABULARY = "vocab.txt";
    static final String CHARACTERS = "characters.json";
    static final String PROBE = "probe.json";
    static final List<String> MEMBERS = Arrays.asList(INFO, VOCABULARY, CHARACTERS, PROBE);

    private static final Charset UTF_8 = Charset.forName("UTF-8");
    private static final byte[] MODEL = model();
    private static final int LOCAL = 0x04034b50;
    private static final int ENTRY = 0x02014b50;
    private static final int END = 0x06054b50;
    private static final int END_BYTES = 22;

    // A model of 36 tokens: small enough to damage each byte in turn.
    private static final String SMALL_INFO =
            "{\"format\": 2, \"name\": \"small\", \"precision\": \"fp32\","
                    + " \"parameters\": {\"total\": 1234, \"without_embeddings\": 234},"
                    + " \"settings\": {\"max_length\": 16, \"doc_stride\": 4, \"max_question_length\": 4, \"n_best\": 3,"
                    + " \"max_answer_length\": 5, \"null_threshold\": null},"
                    + " \"signatures\": [{\"name\": \"qa8\", \"length\": 8}, {\"name\": \"qa12\", \"length\": 12},"
                    + " {\"name\": \"qa16\", \"length\": 16}],"
                    + " \"inputs\": [\"input_ids\", \"attention_mask\", \"token_type_ids\"],"
                    + " \"outputs\": [\"start_logits\", \"end_logits\"],"
                    + " \"special_tokens\": {\"[CLS]\": 2, \"[SEP]\": 3, \"[PAD]\": 9, \"[UNK]\": 1},"
                    + " \"normalizer\": {\"clean_text\": true, \"handle_chinese_chars\": true,"
                    + " \"strip_accents\": null, \"lowercase\": true},"
                    + " \"wordpiece\": {\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 100},"
                    + " \"model\": {\"bytes\": 1, \"sha256\": \"\"}}";
    // Ids 10 to 35 are a to z.
    private static final String SMALL_VOCABULARY =
            "?\n[UNK]\n[CLS]\n[SEP]\n.\n##b\n##c\n\u00fc\n##\u00fc\n[PAD]\n"
                    + "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\nu\nv\nw\nx\ny\nz\n";
    private static final String SMALL_CHARACTERS =
            "{\"tokenizers\": \"0.23.3\","
                    + " \"removed\": [[0, 8], [65533, 65533]], \"spaces\": [[9, 10], [32, 32]], \"ideographs\": [[19968, 40959]],"
                    + " \"marks\": [[768, 879]], \"lowercase\": [[65, 97], [90, 122], [304, 105, 775]],"
                    + " \"whitespace\": [[32, 32]], \"punctuation\": [[33, 47], [63, 64], [91, 96]],"
                    + " \"decompositions\": [[233, 101, 769], [7879, 101, 803, 770]],"
                    + " \"combining\": [[769, 770, 230], [803, 803, 220]]}";
    private static final String SMALL_PROBE =
            "{\"tolerance\": {\"fp32\": 0.0001, \"int8\": 0.25},"
                    + " \"windows\": [{\"input_ids\": [2, 10, 3, 11, 3], \"context_begin\": 3,"
                    + " \"start_logits\": [0.5, -1, -1.5, 3.25, -2], \"end_logits\": [0.25, -1, -2, 2.5, -1]},"
                    + probeWindow(10) + ", " + probeWindow(16) + "]}";

    private final List<Member> members = new ArrayList<>();
    private byte[] model = MODEL;

    private static final class Member {
        private final String name;
        private byte[] content;
        private boolean stored;

        private Member(String name, byte[] content) {
            this.name = name;
            this.content = content;
        }
    }

    private ModelFiles() {}

    /** Returns a valid file of the recorded package, deleted when the tests end. */
    static File good() throws IOException {
        File file = File.createTempFile("good", ".tflite");
        file.deleteOnExit();
        return golden().write(file);
    }

    /**
     * A window of `n` tokens for a probe; the start logit of each is its position, the end logit the negative of it.
     *
     * White space before the colons leaves the members of the small file's first window the only ones that `change` finds.
     */
    static String probeWindow(int n) {
        StringBuilder ids = new StringBuilder("2, 10, 3");
        StringBuilder starts = new StringBuilder("0, 1, 2");
        StringBuilder ends = new StringBuilder("0, -1, -2");
        for (int i = 3; i < n; i++) {
            ids.append(", 12");
            starts.append(", ").append(i);
            ends.append(", ").append(-i);
        }
        return String.format(
                "{\"input_ids\" : [%s], \"context_begin\" : 3, \"start_logits\" : [%s], \"end_logits\" : [%s]}", ids, starts, ends);
    }

    /** Returns the recorded package of a real model: 30,522 tokens and all of Unicode. */
    static ModelFiles golden() throws IOException {
        ModelFiles files = new ModelFiles();
        for (String name : MEMBERS) {
            files.put(name, Golden.text("android/package/" + name));
        }
        return files.fit();
    }

    /** Returns a package of a few kilobytes: windows of 8, 12 or 16 tokens, a vocabulary of letters. */
    static ModelFiles small() {
        return new ModelFiles()
                .put(INFO, SMALL_INFO)
                .put(VOCABULARY, SMALL_VOCABULARY)
                .put(CHARACTERS, SMALL_CHARACTERS)
                .put(PROBE, SMALL_PROBE)
                .fit();
    }

    /** Returns the small model with one signature that takes any length up to 16. */
    static ModelFiles anyLength() throws IOException {
        return small()
                .change(INFO, "{\"name\": \"qa8\", \"length\": 8}, {\"name\": \"qa12\", \"length\": 12},", "")
                .change(INFO, "{\"name\": \"qa16\", \"length\": 16}", "{\"name\": \"qa\", \"length\": 16, \"any_length\": true}");
    }

    String text(String name) {
        return new String(member(name).content, UTF_8);
    }

    /** Sets the content of a member, or adds the member. */
    ModelFiles put(String name, String content) {
        return put(name, content.getBytes(UTF_8));
    }

    ModelFiles put(String name, byte[] content) {
        for (Member member : members) {
            if (member.name.equals(name)) {
                member.content = content;
                return this;
            }
        }
        members.add(new Member(name, content));
        return this;
    }

    /** Replaces a part of a member; the part must occur exactly once. */
    ModelFiles change(String name, String old, String replacement) {
        String text = text(name);
        if (text.indexOf(old) < 0 || text.indexOf(old) != text.lastIndexOf(old)) {
            throw new AssertionError(old + " is not there just once: " + text);
        }
        return put(name, text.replace(old, replacement));
    }

    ModelFiles remove(String name) {
        members.remove(member(name));
        return this;
    }

    /** Adds a second member of a name. */
    ModelFiles twice(String name) {
        members.add(new Member(name, member(name).content));
        return this;
    }

    /** Stores a member without compression. */
    ModelFiles store(String name) {
        member(name).stored = true;
        return this;
    }

    /** Replaces the bytes of the model; qa.json keeps the old size and hash. */
    ModelFiles model(byte[] bytes) {
        model = bytes;
        return this;
    }

    File write(File file) throws IOException {
        return write(file, bytes());
    }

    static File write(File file, byte[] bytes) throws IOException {
        try (FileOutputStream out = new FileOutputStream(file)) {
            out.write(bytes);
        }
        return file;
    }

    /** Returns the complete file (APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16); offsets start at its first byte. */
    byte[] bytes() {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        ByteArrayOutputStream directory = new ByteArrayOutputStream();
        file.write(model, 0, model.length);
        for (Member member : members) {
            byte[] name = member.name.getBytes(UTF_8);
            byte[] data = member.stored ? member.content : deflate(member.content);
            CRC32 crc = new CRC32();
            crc.update(member.content);
            ByteBuffer common = buffer(26); // fields of both headers
            common.putShort((short) 20).putShort((short) 0).putShort((short) (member.stored ? 0 : 8)).putInt(0x00210000);
            common.putInt((int) crc.getValue()).putInt(data.length).putInt(member.content.length);
            common.putShort((short) name.length).putShort((short) 0);
            int localAt = file.size();
            append(file, buffer(4).putInt(LOCAL), common, ByteBuffer.wrap(name), ByteBuffer.wrap(data));
            ByteBuffer rest = buffer(14).putShort((short) 0).putInt(0).putInt(0x81a40000).putInt(localAt);
            append(directory, buffer(6).putInt(ENTRY).putShort((short) 0x0314), common, rest, ByteBuffer.wrap(name));
        }
        int directoryAt = file.size();
        short count = (short) members.size();
        ByteBuffer end = buffer(END_BYTES).putInt(END).putInt(0).putShort(count).putShort(count);
        end.putInt(directory.size()).putInt(directoryAt).putShort((short) 0);
        append(file, ByteBuffer.wrap(directory.toByteArray()), end);
        return file.toByteArray();
    }

    /** Returns the start of the end record in a file without a comment. */
    static int endOf(byte[] file) {
        return file.length - END_BYTES;
    }

    /** Returns the start of a member's entry in the directory. */
    static int entryOf(byte[] file, String name) {
        ByteBuffer in = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = in.getInt(endOf(file) + 16); in.getInt(at) == ENTRY; at += 46 + in.getShort(at + 28)) {
            if (name.equals(new String(file, at + 46, in.getShort(at + 28), UTF_8))) {
                return at;
            }
        }
        throw new AssertionError("no entry " + name);
    }

    /** Overwrites two or four bytes of a file, the lowest first. */
    static byte[] patch(byte[] file, int at, int bytes, long value) {
        for (int i = 0; i < bytes; i++) {
            file[at + i] = (byte) (value >> 8 * i);
        }
        return file;
    }

    static byte[] deflate(byte[] content) {
        Deflater deflater = new Deflater(9, true);
        deflater.setInput(content);
        deflater.finish();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] block = new byte[1 << 16];
        while (!deflater.finished()) {
            out.write(block, 0, deflater.deflate(block));
        }
        deflater.end();
        return out.toByteArray();
    }

    private Member member(String name) {
        for (Member member : members) {
            if (member.name.equals(name)) {
                return member;
            }
        }
        throw new AssertionError("no member " + name);
    }

    /** Writes size and hash of the fake model into qa.json. */
    private ModelFiles fit() {
        StringBuilder hash = new StringBuilder();
        try {
            for (byte b : MessageDigest.getInstance("SHA-256").digest(MODEL)) {
                hash.append(String.format("%02x", b));
            }
        } catch (NoSuchAlgorithmException error) {
            throw new AssertionError(error);
        }
        String told = "\"model\": {\"bytes\": " + MODEL.length + ", \"sha256\": \"" + hash + "\"}";
        return put(INFO, text(INFO).replaceFirst("\"model\": \\{[^}]*\\}", told));
    }

    private static byte[] model() {
        byte[] model = new byte[300];
        for (int i = 0; i < model.length; i++) {
            model[i] = (byte) (31 * i);
        }
        System.arraycopy("TFL3".getBytes(UTF_8), 0, model, 4, 4);
        return model;
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static void append(ByteArrayOutputStream out, ByteBuffer... parts) {
        for (ByteBuffer part : parts) {
            out.write(part.array(), 0, part.capacity());
        }
    }
}
