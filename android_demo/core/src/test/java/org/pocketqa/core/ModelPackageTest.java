package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;
import static org.pocketqa.core.ModelFiles.CHARACTERS;
import static org.pocketqa.core.ModelFiles.INFO;
import static org.pocketqa.core.ModelFiles.MEMBERS;
import static org.pocketqa.core.ModelFiles.PROBE;
import static org.pocketqa.core.ModelFiles.VOCABULARY;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.Random;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Valid files, and files with every fault that a copy, another program or an attacker may cause. */
public class ModelPackageTest {
    private static final Charset UTF_8 = Charset.forName("UTF-8");

    @Rule public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void everyFieldOfASmallPackage() throws IOException {
        ModelFiles files = ModelFiles.small().change(INFO, "\"null_threshold\": null", "\"null_threshold\": -1.5");
        ModelPackage model = read(files.bytes());
        assertEquals("small", model.facts.name);
        assertEquals("fp32", model.facts.precision);
        assertEquals(1234, model.facts.parameters);
        assertEquals(300, model.modelBytes);
        assertTrue(model.modelSha256.matches("[0-9a-f]{64}"));
        assertEquals(16, model.settings.maxLength);
        assertEquals(4, model.settings.docStride);
        assertEquals(4, model.settings.maxQuestionLength);
        assertEquals(3, model.settings.nBest);
        assertEquals(5, model.settings.maxAnswerLength);
        assertEquals(Double.valueOf(-1.5), model.settings.nullThreshold);
        assertEquals(3, model.signatures.size());
        assertEquals("qa8", model.signatures.get(0).name);
        assertEquals(8, model.signatures.get(0).length);
        assertEquals("qa16", model.signatures.get(2).name);
        assertEquals(16, model.signatures.get(2).length);
        assertEquals(36, model.tokenizer().vocabularySize());
        assertEquals(2, model.tokenizer().clsId);
        assertEquals(3, model.tokenizer().sepId);
        assertEquals(9, model.tokenizer().padId);
        assertNull(read(ModelFiles.small().bytes()).settings.nullThreshold);
    }

    @Test
    public void aMemberMayBeStoredAndOthersMayBeThere() throws IOException {
        String expected = described(read(ModelFiles.small().bytes()));
        ModelFiles files = ModelFiles.small().put("README.txt", "more");
        for (String name : MEMBERS) {
            files.store(name);
        }
        assertEquals(expected, described(read(files.bytes())));
    }

    @Test
    public void whatIsNoModelIsNamed() throws IOException {
        refused(new byte[0], "The file is empty");
        refused("A text, not a model.".getBytes(UTF_8), "not a TFLite model", "export.tflite");
        refused(new byte[] {(byte) 0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0, 13, 'I', 'H', 'D', 'R'}, "not a TFLite model");
        refused("1234TFL".getBytes(UTF_8), "not a TFLite model");
        refused("1234TFL3".getBytes(UTF_8), "no package at its end");
        byte[] zip = ModelFiles.small().model(new byte[0]).bytes();
        refused(zip, "not a TFLite model");
        File missing = new File(folder.getRoot(), "missing.tflite");
        assertThrows(FileNotFoundException.class, () -> ModelPackage.read(missing));
        assertThrows(FileNotFoundException.class, () -> ModelPackage.read(folder.getRoot()));
    }

    @Test
    public void aFileThatWasCutOffIsRefusedAtEveryLength() throws IOException {
        byte[] small = ModelFiles.small().bytes();
        File path = folder.newFile();
        for (int length = small.length - 1; length >= 0; length--) {
            ModelFiles.write(path, Arrays.copyOf(small, length));
            String message = assertThrows("" + length, ModelFileException.class, () -> ModelPackage.read(path)).getMessage();
            assertTrue(message, length < 8 || message.contains("no package at its end"));
        }
        byte[] golden = ModelFiles.golden().bytes();
        for (int length = golden.length - 1; length >= 0; length -= 4999) {
            ModelFiles.write(path, Arrays.copyOf(golden, length));
            assertThrows("" + length, ModelFileException.class, () -> ModelPackage.read(path));
        }
    }

    /** Some bytes have no effect (a time stamp, a local header's sizes). A change of any other byte must be detected. */
    @Test
    public void aByteThatWasChangedIsNoticedOrChangesNothing() throws IOException {
        byte[] small = ModelFiles.small().bytes();
        int unnoticed = 0;
        for (int change : new int[] {1, 0x80, 0xFF}) {
            unnoticed += tryBytes(small, 0, 1, change);
        }
        assertTrue(unnoticed + " of " + small.length, unnoticed < 3 * 4 * 60); // four members, two headers of some 40 bytes
        byte[] golden = ModelFiles.golden().bytes();
        tryBytes(golden, new Random(7).nextInt(997), 997, 0x10);
    }

    private int tryBytes(byte[] good, int first, int step, int change) throws IOException {
        String expected = described(read(good));
        File path = ModelFiles.write(folder.newFile(), good);
        int unnoticed = 0;
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            for (int at = first; at < good.length; at += step) {
                file.seek(at);
                file.write(good[at] ^ change);
                try {
                    assertEquals("byte " + at, expected, described(ModelPackage.read(path)));
                    unnoticed++;
                } catch (ModelFileException error) {
                    checkMessage(error.getMessage());
                }
                file.seek(at);
                file.write(good[at]);
            }
        }
        return unnoticed;
    }

    @Test
    public void aModelThatChangedIsRefused() throws IOException {
        byte[] file = ModelFiles.small().bytes();
        for (int at : new int[] {0, 8, 299}) {
            byte[] changed = file.clone();
            changed[at] ^= 4;
            refused(changed, "damaged after it was exported", "Copy the file again");
        }
        refused(ModelFiles.small().change(INFO, "\"bytes\": 300", "\"bytes\": 299").bytes(), "damaged after it was exported");
        refused(ModelFiles.small().change(INFO, "\"bytes\": 300", "\"bytes\": 1e15").bytes(), "damaged after it was exported");
        refused(ModelFiles.small().change(INFO, "\"bytes\": 300", "\"bytes\": 1e16").bytes(), "model: bytes must be a count");
    }

    @Test
    public void everyMemberMustBeThereOnce() throws IOException {
        for (String name : MEMBERS) {
            refused(ModelFiles.small().remove(name).bytes(), "has no " + name);
            refused(ModelFiles.small().twice(name).bytes(), name + " appears twice");
        }
    }

    @Test
    public void everyMemberMustBeTextOfItsKind() throws IOException {
        for (String name : MEMBERS) {
            byte[] malformed = (ModelFiles.small().text(name) + "\n?").getBytes(UTF_8);
            malformed[malformed.length - 1] = (byte) 0xFF;
            refused(ModelFiles.small().put(name, malformed).bytes(), name + " is not UTF-8 text");
        }
        for (String name : new String[] {INFO, CHARACTERS, PROBE}) {
            refused(ModelFiles.small().put(name, "").bytes(), name, "not JSON at character 0");
            refused(ModelFiles.small().put(name, "[1]").bytes(), name + " must be an object");
            refused(ModelFiles.small().put(name, ModelFiles.small().text(name) + "}").bytes(), name, "the end was expected");
            refused(ModelFiles.small().put(name, repeated("[", 100000)).bytes(), name, "at most 32 levels");
            refused(ModelFiles.small().put(name, repeated("{\"a\":", 50000)).bytes(), name, "at most 32 levels");
        }
        refused(ModelFiles.small().put(VOCABULARY, "").bytes(), "vocab.txt: the line of [CLS] must be 3, but is missing");
    }

    @Test
    public void everyFieldMustBeThere() throws IOException {
        refusedInfo("\"name\": \"small\"", "\"_\": 1", "qa.json: name is missing");
        String[] names = {"format", "precision", "parameters", "total", "settings", "max_length", "doc_stride",
            "max_question_length", "n_best", "max_answer_length", "null_threshold", "signatures", "inputs", "outputs",
            "special_tokens", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "normalizer", "clean_text", "handle_chinese_chars",
            "strip_accents", "lowercase", "wordpiece", "continuing_subword_prefix", "max_input_chars_per_word", "model",
            "sha256"};
        for (String name : names) {
            refused(ModelFiles.small().change(INFO, "\"" + name + "\":", "\"_\":").bytes(), "qa.json", name + " is missing");
        }
        String[] tables = {"removed", "spaces", "ideographs", "marks", "lowercase", "whitespace", "punctuation",
            "decompositions", "combining", "tokenizers"};
        for (String name : tables) {
            byte[] file = ModelFiles.small().change(CHARACTERS, "\"" + name + "\":", "\"_\":").bytes();
            refused(file, "characters.json", name + " is missing");
        }
        String[] parts = {"windows", "input_ids", "context_begin", "start_logits", "end_logits"};
        for (String name : parts) {
            refused(ModelFiles.small().change(PROBE, "\"" + name + "\":", "\"_\":").bytes(), "probe.json", name + " is missing");
        }
    }

    @Test
    public void anotherFormatIsRefusedBeforeAllElse() throws IOException {
        byte[] old = ModelFiles.small().put(INFO, "{\"format\": 1}").remove(CHARACTERS).bytes();
        refused(old, "format 1", "reads 2", "Export the model again");
        refused(ModelFiles.small().put(INFO, "{\"format\": 3}").bytes(), "format 3", "reads 2", "update the app");
        refusedInfo("\"format\": 2", "\"format\": \"2\"", "format must be a");
    }

    @Test
    public void otherTensorsAreRefused() throws IOException {
        String swapped = "\"attention_mask\", \"input_ids\"";
        refusedInfo("\"input_ids\", \"attention_mask\"", swapped, "inputs [attention_mask, input_ids, token_type_ids]");
        refusedInfo(", \"token_type_ids\"", "", "inputs [input_ids, attention_mask], but this app supports [input_ids");
        refusedInfo("\"end_logits\"]", "\"end_logits\", \"pooled\"]", "outputs [start_logits, end_logits, pooled]");
        refusedInfo("\"start_logits\"", "7", "outputs must be a list of texts, but is 7");
        refusedInfo("\"input_ids\"", "\"" + repeated("x", 400000) + "\"", "inputs [xxx");
    }

    @Test
    public void signaturesMustAscendToTheLongestWindow() throws IOException {
        String all = signatures(8, 12, 16);
        refusedInfo(all, signatures(12, 8, 16), "from 13 to 16, but is 8.");
        refusedInfo(all, signatures(16, 16), "from 17 to 16, but is 16.");
        refusedInfo(all, signatures(12), "ascending up to the longest window, 16, but is 12");
        refusedInfo(all, "", "ascending up to the longest window, 16, but is 0");
        refusedInfo(all, signatures(17), "from 1 to 16, but is 17.");
        refusedInfo(all, signatures(0, 16), "from 1 to 16, but is 0.");
        refusedInfo(all, "{\"length\": 16}", "signatures: name is missing");
        refusedInfo(all, "16", "signatures must be an object, but is 16");
    }

    private static String signatures(int... lengths) {
        StringBuilder out = new StringBuilder();
        for (int length : lengths) {
            String one = String.format("{\"name\": \"qa%d\", \"length\": %d}", length, length);
            out.append(out.length() == 0 ? "" : ", ").append(one);
        }
        return out.toString();
    }

    @Test
    public void aVocabularyThatDoesNotFitIsRefused() throws IOException {
        refusedInfo("\"[CLS]\": 2", "\"[CLS]\": 3", "the line of [CLS] must be 4, but is 3");
        refusedInfo("\"[PAD]\": 9", "\"[PAD]\": 36", "the line of [PAD] must be 37, but is 10");
        refused(ModelFiles.small().change(VOCABULARY, "[UNK]", "[unk]").bytes(), "the line of [UNK] must be 2, but is missing");
        byte[] doubled = ModelFiles.small().change(VOCABULARY, "z\n", "a\n").bytes();
        refused(doubled, "vocab.txt must be a list of different tokens, but is a, twice");
        refused(ModelFiles.small().put(VOCABULARY, ModelFiles.small().text(VOCABULARY) + "\n\n").bytes(), "different tokens");
        refused(ModelFiles.small().put(VOCABULARY, repeated("\n", 3000000)).bytes(), "vocab.txt must be at most 250000 tokens");
        refused(ModelFiles.small().put(VOCABULARY, repeated("x", 5000000)).bytes(), "vocab.txt claims 5000000 bytes");
        read(ModelFiles.small().put(VOCABULARY, ModelFiles.small().text(VOCABULARY).replaceFirst("\n$", "")).bytes());
    }

    /** Each of these needs many times its size in memory and must fit into -Xmx64m. */
    @Test
    public void theLargestMembersFitTheMemory() throws IOException {
        String[] items = {"[[]],", "[0],", "{\"\":{}},", "{\"a\":0},", "1,", "\"\","};
        for (String item : items) {
            String list = "[" + repeated(item, 499990 / item.length()) + "1]";
            refused(ModelFiles.small().put(PROBE, list).bytes(), "probe.json must be an object");
        }
        refused(ModelFiles.small().put(PROBE, "[" + repeated("1,", 250000) + "1]").bytes(), "probe.json claims 500003 bytes");
        StringBuilder many = new StringBuilder(ModelFiles.small().text(VOCABULARY));
        for (int i = 36; i < 250000; i++) {
            many.append("\u4e00").append(i).append('\n');
        }
        assertEquals(250000, read(ModelFiles.small().put(VOCABULARY, many.toString()).bytes()).tokenizer().vocabularySize());
    }

    @Test
    public void aProbeThatDoesNotFitIsRefused() throws IOException {
        refusedProbe("[2, 10, 3, 11, 3]", "[2, 10, 3, 11]", "as long as their logits");
        refusedProbe("[2, 10, 3, 11, 3]", "[2, 10, 3, 36, 3]", "from 0 to 35, but is 36");
        refusedProbe("[2, 10, 3, 11, 3]", "[2, 10, 3, -1, 3]", "from 0 to 35, but is -1");
        refusedProbe("\"context_begin\": 3", "\"context_begin\": 6", "context_begin must be a whole number from 0 to 5");
        refusedProbe("[0.5, -1, -1.5, 3.25, -2]", "[0.5, -1, -1.5, 3.25]", "as long as their logits");
        refusedProbe("0.5", "1e300", "32-bit numbers");
        refusedProbe("0.5", "1e999", "must be a number");
        refusedProbe("0.5", "null", "must be a number");
        refusedProbe("0.5", "NaN", "not JSON");
        refusedProbe("\"fp32\": 0.0001", "\"fp32\": 0", "above 0");
        refusedProbe("\"fp32\": 0.0001", "\"fp32\": -1", "above 0");
        refusedProbe("\"fp32\": 0.0001", "\"fp32\": 1e999", "must be a number");
        refusedProbe("\"windows\": [", "\"windows\": [], \"_\": [", "no window for the signature qa8");
        refused(probed(8, 12, 17), "from 1 to 16");
    }

    private void refusedInfo(String old, String replacement, String... words) throws IOException {
        refused(ModelFiles.small().change(INFO, old, replacement).bytes(), words);
    }

    private void refusedProbe(String old, String replacement, String... words) throws IOException {
        refused(ModelFiles.small().change(PROBE, old, replacement).bytes(), words);
    }

    private ModelPackage read(byte[] file) throws IOException {
        return ModelPackage.read(ModelFiles.write(folder.newFile(), file));
    }

    private void refused(byte[] file, String... words) throws IOException {
        String message;
        try {
            read(file);
            fail("should have been refused: " + Arrays.toString(words));
            return;
        } catch (ModelFileException error) {
            message = error.getMessage();
        }
        checkMessage(message);
        for (String word : words) {
            assertTrue(message + " should say: " + word, message.contains(word));
        }
    }

    /** A message has one or two lines for a small screen, and says what to do. */
    static void checkMessage(String message) {
        assertTrue(message, message.length() < 300 && message.indexOf('\n') < 0 && message.endsWith("."));
        assertTrue(message, message.matches(".*(Copy|Choose|Export|update).*"));
    }

    /** Returns all visible contents of a package. */
    private static String described(ModelPackage model) {
        StringBuilder out = new StringBuilder();
        out.append(model.facts.name).append(model.facts.precision).append(model.facts.parameters);
        out.append(model.modelBytes).append(model.modelSha256);
        QASettings s = model.settings;
        out.append(Arrays.asList(s.maxLength, s.docStride, s.maxQuestionLength, s.nBest, s.maxAnswerLength, s.nullThreshold));
        for (Signature signature : model.signatures) {
            out.append(signature.name).append(signature.length);
        }
        Tokens tokens = model.tokenizer().encode("A na\u00efve \u4e00 e\u0301 zebra, b? \u1ec7");
        for (int i = 0; i < tokens.size(); i++) {
            out.append(' ').append(tokens.id(i)).append('@').append(tokens.start(i)).append('-').append(tokens.end(i));
        }
        assertNotEquals(0, tokens.size());
        return out.toString();
    }

    private static String repeated(String text, int times) {
        StringBuilder out = new StringBuilder(text.length() * times);
        for (int i = 0; i < times; i++) {
            out.append(text);
        }
        return out.toString();
    }

    @Test
    public void aSignatureWithoutAWindowInTheProbeIsRefused() throws IOException {
        assertEquals("small", read(probed(13, 5, 9)).facts.name);
        refused(probed(9, 13), "probe.json has no window for the signature qa8,", "Export the model again");
        refused(probed(8, 13, 16), "no window for the signature qa12,");
        refused(probed(5, 8, 9, 12), "no window for the signature qa16,");
    }

    /** Returns the small file with a probe of windows of these lengths. */
    private static byte[] probed(int... sizes) {
        StringBuilder windows = new StringBuilder();
        for (int n : sizes) {
            windows.append(windows.length() == 0 ? "" : ", ").append(ModelFiles.probeWindow(n));
        }
        return ModelFiles.small().put(PROBE, "{\"tolerance\": {\"fp32\": 0.1}, \"windows\": [" + windows + "]}").bytes();
    }
}
