package org.pocketqa.core;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Package of a sideloaded .tflite: the zip at its end, read and checked (written by export/android/package.py). */
public final class ModelPackage {
    private static final int FORMAT = 2;
    /** Names of the input and output tensors that this app supports. */
    public static final List<String> INPUTS =
            Collections.unmodifiableList(Arrays.asList("input_ids", "attention_mask", "token_type_ids"));

    public static final List<String> OUTPUTS = Collections.unmodifiableList(Arrays.asList("start_logits", "end_logits"));
    private static final byte[] MAGIC = {'T', 'F', 'L', '3'};
    private static final int MAGIC_AT = 4;
    /** Number of bytes that `checkMagic` reads. */
    static final int MAGIC_BYTES = 8;
    // A damaged or hostile file must not fill the memory. A vocabulary of 250,000 tokens takes 2 MB, the others 100 KB.
    private static final int MOST_VOCABULARY_BYTES = 4000000;
    private static final int MOST_TOKENS = 250000;
    private static final int MOST_JSON_BYTES = 500000;

    public final ModelFacts facts;
    /** Number of bytes of the model before the package, and their SHA-256 in hexadecimal. */
    final long modelBytes;

    final String modelSha256;
    public final QASettings settings;
    /** Signatures, ascending by length; the last fits the longest window. */
    public final List<Signature> signatures;

    private final WordPieceTokenizer tokenizer;
    final Probe probe;

    private ModelPackage(Fields info, String vocabulary, String characters, String probeText) throws ModelFileException {
        facts = new ModelFacts(info);
        modelBytes = info.object("model").count("bytes");
        modelSha256 = info.object("model").string("sha256");
        settings = new QASettings(info.object("settings"));
        checkTensors("inputs", info.strings("inputs"), INPUTS);
        checkTensors("outputs", info.strings("outputs"), OUTPUTS);
        signatures = Collections.unmodifiableList(readSignatures(info, settings.maxLength));
        CharacterTables tables = new CharacterTables(Fields.parse("characters.json", characters));
        tokenizer = new WordPieceTokenizer(info, lines(vocabulary), tables);
        probe = new Probe(Fields.parse("probe.json", probeText), facts.precision, signatures, tokenizer.vocabularySize());
    }

    /** Reads and verifies a file. Throws ModelFileException with a message for the user. */
    public static ModelPackage read(File path) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path, "r")) {
            checkMagic(file);
            ZipTail zip = new ZipTail(file);
            Fields info = info(zip);
            ModelPackage model =
                    new ModelPackage(
                            info,
                            zip.text("vocab.txt", MOST_VOCABULARY_BYTES),
                            zip.text("characters.json", MOST_JSON_BYTES),
                            zip.text("probe.json", MOST_JSON_BYTES));
            if (model.modelBytes != zip.begin() || !Sha256.of(file, model.modelBytes).equals(model.modelSha256)) {
                throw new ModelFileException(
                        "The model was damaged after it was exported (its SHA-256 is not the one recorded). "
                                + "Copy the file again.");
            }
            return model;
        }
    }

    /** Returns qa.json of a package in the format that this app reads. */
    static Fields info(ZipTail zip) throws IOException {
        Fields info = Fields.parse("qa.json", zip.text("qa.json", MOST_JSON_BYTES));
        int format = info.integer("format", 0, Integer.MAX_VALUE);
        if (format != FORMAT) {
            throw new ModelFileException(
                    "The package has format " + format + ", this app reads " + FORMAT + ". Export the model again, or update the app.");
        }
        return info;
    }

    /** Returns the tokenizer of this model. */
    public WordPieceTokenizer tokenizer() {
        return tokenizer;
    }

    /** Checks that the file begins like a TFLite model. Throws ModelFileException if not. */
    static void checkMagic(RandomAccessFile file) throws IOException {
        byte[] magic = new byte[MAGIC.length];
        if (file.length() >= MAGIC_BYTES) {
            file.seek(MAGIC_AT);
            file.readFully(magic);
        }
        if (!Arrays.equals(magic, MAGIC)) {
            throw new ModelFileException(
                    file.length() == 0
                            ? "The file is empty. Copy it again."
                            : "This is not a TFLite model. Choose a model.tflite that python -m export.tflite made.");
        }
    }

    private static void checkTensors(String kind, List<String> seen, List<String> wanted) throws ModelFileException {
        if (!seen.equals(wanted)) {
            throw new ModelFileException(
                    "The model has the " + kind + " " + Fields.shown(seen) + ", but this app supports " + wanted
                            + ". Choose a PocketQA model.");
        }
    }

    private static List<Signature> readSignatures(Fields info, int maxLength) throws ModelFileException {
        List<Signature> signatures = new ArrayList<Signature>();
        int before = 0;
        for (Object item : info.list("signatures")) {
            Fields signature = Fields.of("qa.json: signatures", item);
            before = signature.integer("length", before + 1, maxLength);
            boolean anyLength = signature.has("any_length") && signature.bool("any_length");
            signatures.add(new Signature(signature.string("name"), before, anyLength));
        }
        if (before != maxLength) {
            throw Fields.wrong("qa.json: signatures", "ascending up to the longest window, " + maxLength, before);
        }
        return signatures;
    }

    private static List<String> lines(String text) throws ModelFileException {
        List<String> lines = new ArrayList<String>();
        for (int from = 0; from < text.length(); ) {
            int end = text.indexOf('\n', from);
            end = end < 0 ? text.length() : end;
            if (lines.size() == MOST_TOKENS) {
                throw Fields.wrong("vocab.txt", "at most " + MOST_TOKENS + " tokens", "longer");
            }
            lines.add(text.substring(from, end));
            from = end + 1;
        }
        return lines;
    }
}
