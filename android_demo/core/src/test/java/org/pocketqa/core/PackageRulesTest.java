package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The rules of packaged files that the page has too (tests/golden/android/package_rules.json). */
public class PackageRulesTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();

    private final Map<?, ?> rules;

    public PackageRulesTest() throws IOException {
        rules = (Map<?, ?>) Golden.json("android/package_rules.json");
    }

    @Test
    public void everyRuleHolds() throws IOException {
        for (Object item : (List<?>) rules.get("cases")) {
            Map<?, ?> rule = (Map<?, ?>) item;
            String member = (String) rule.get("member");
            ModelFiles files = stored();
            Object value = Json.parse(files.text(member));
            change(value, (List<?>) rule.get("path"), rule.containsKey("value"), rule.get("value"));
            File file = files.put(member, Json.write(value)).write(folder.newFile());
            if ((Boolean) rule.get("accepted")) {
                try {
                    ModelPackage.read(file);
                } catch (ModelFileException refusal) {
                    throw new AssertionError(rule.toString(), refusal);
                }
            } else {
                ModelPackageTest.checkMessage(
                        assertThrows(rule.toString(), ModelFileException.class, () -> ModelPackage.read(file)).getMessage());
            }
            file.delete();
        }
    }

    @Test
    public void aFileMayBeStricterThanItsPrecisionButNotLaxer() throws IOException {
        assertEquals(rules.get("tolerances"), Probe.TOLERANCES);
        for (Object item : (List<?>) rules.get("allowed")) {
            Map<?, ?> rule = (Map<?, ?>) item;
            ModelFiles files = stored();
            Object info = Json.parse(files.text(ModelFiles.INFO));
            Object probe = Json.parse(files.text(ModelFiles.PROBE));
            change(info, Arrays.asList("precision"), true, rule.get("precision"));
            change(probe, Arrays.asList("tolerance"), true, rule.get("tolerance"));
            files.put(ModelFiles.INFO, Json.write(info)).put(ModelFiles.PROBE, Json.write(probe));
            assertEquals(rule.toString(), rule.get("allowed"), ModelPackage.read(files.write(folder.newFile())).probe.tolerance);
        }
    }

    @Test
    public void theSealCoversAllBytesBeforeThePackage() throws IOException {
        for (int bytes : new int[] {0, 8, 299, 301}) {
            ModelFiles files = ModelFiles.small();
            byte[] whole = files.bytes();
            Map<String, Object> seal = new HashMap<>();
            File part = ModelFiles.write(folder.newFile(), Arrays.copyOf(whole, bytes));
            try (RandomAccessFile opened = new RandomAccessFile(part, "r")) {
                seal.put("sha256", Sha256.of(opened, bytes));
            }
            seal.put("bytes", (double) bytes);
            Object info = Json.parse(files.text(ModelFiles.INFO));
            change(info, Arrays.asList("model"), true, seal);
            File file = files.put(ModelFiles.INFO, Json.write(info)).write(folder.newFile());
            assertThrows("" + bytes, ModelFileException.class, () -> ModelPackage.read(file));
        }
    }

    /** Returns the recorded package without compression, which would take most of the time. */
    private static ModelFiles stored() throws IOException {
        ModelFiles files = ModelFiles.golden();
        for (String name : ModelFiles.MEMBERS) {
            files.store(name);
        }
        return files;
    }

    /** Replaces the value at a path, or removes it. */
    @SuppressWarnings("unchecked")
    private static void change(Object value, List<?> path, boolean present, Object replacement) {
        Object place = value;
        for (Object key : path.subList(0, path.size() - 1)) {
            place = key instanceof String ? ((Map<?, ?>) place).get(key) : ((List<?>) place).get(((Double) key).intValue());
        }
        Object last = path.get(path.size() - 1);
        if (last instanceof Double) {
            ((List<Object>) place).set(((Double) last).intValue(), replacement);
        } else if (present) {
            ((Map<String, Object>) place).put((String) last, replacement);
        } else {
            ((Map<String, Object>) place).remove(last);
        }
    }
}
