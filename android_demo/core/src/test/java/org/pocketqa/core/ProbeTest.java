package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.Test;

/** The probe on the logits of two real runtimes: one computes wrongly without an error, one correctly. */
public class ProbeTest {
    private static final String WRONG = "tflite-runtime 2.14.0";
    private static final String RIGHT = "ai-edge-litert 2.3.0";
    private static final List<Signature> SIGNATURES =
            Arrays.asList(new Signature("a", 128, false), new Signature("b", 192, false), new Signature("c", 256, false), new Signature("d", 384, false));

    private final Map<?, ?> recorded;

    public ProbeTest() throws IOException {
        recorded = (Map<?, ?>) Golden.json("probe_old_runtime.json");
    }

    /** Returns recorded logits for the windows of a probe, after checking the inputs. */
    private static final class Replay implements LogitsModel {
        private final List<?> windows;
        private final List<?> logits;
        private int next;

        private Replay(Object probe, List<?> logits) {
            windows = (List<?>) ((Map<?, ?>) probe).get("windows");
            this.logits = logits == null ? windows : logits;
        }

        @Override
        public void run(Signature signature, int[] ids, int[] mask, int[] types, float[] startLogits, float[] endLogits) {
            Map<?, ?> window = (Map<?, ?>) windows.get(next);
            List<?> inputIds = (List<?>) window.get("input_ids");
            int n = inputIds.size();
            assertEquals(n <= 128 ? 128 : n <= 192 ? 192 : n <= 256 ? 256 : 384, signature.length);
            for (int i = 0; i < ids.length; i++) {
                assertEquals(i < n ? ((Double) inputIds.get(i)).intValue() : 0, ids[i]);
                assertEquals(i < n ? 1 : 0, mask[i]);
                assertEquals(i >= (Double) window.get("context_begin") && i < n ? 1 : 0, types[i]);
            }
            Map<?, ?> recording = (Map<?, ?>) logits.get(next++);
            fill(startLogits, (List<?>) recording.get("start_logits"));
            fill(endLogits, (List<?>) recording.get("end_logits"));
        }

        private static void fill(float[] logits, List<?> numbers) {
            Arrays.fill(logits, Float.NaN); // logits of padding do not matter
            for (int i = 0; i < numbers.size(); i++) {
                logits[i] = ((Double) numbers.get(i)).floatValue();
            }
        }
    }

    @Test
    public void aRuntimeThatComputesRightlyMayAnswer() throws Exception {
        double difference = check("int8", replay(RIGHT));
        assertTrue("" + difference, difference > 0.001 && difference < 0.25 / 3);
    }

    @Test
    public void aRuntimeThatComputesWronglyMayNot() {
        String message = refused("int8", replay(WRONG));
        assertTrue(message, message.contains("computes this int8 model wrongly"));
        assertTrue(message, message.contains("at most 0.250 is allowed"));
        double seen = Double.parseDouble(message.replaceFirst(".* by ([0-9.]+) of .*", "$1"));
        assertTrue(message, seen > 1);
    }

    @Test
    public void aRuntimeOfInt8DoesNotPassForFp32() {
        String message = refused("fp32", replay(RIGHT));
        assertTrue(message, message.contains("at most 0.000100 is allowed"));
    }

    @Test
    public void theRecordedLogitsThemselvesPass() throws Exception {
        assertEquals(0, check("fp32", new Replay(recorded.get("probe"), null)), 0);
        Object probe = Golden.json("android/package/probe.json");
        ModelPackage model = ModelPackage.read(ModelFiles.good());
        assertEquals(0, new QuestionAnswerer(model, new Replay(probe, null)).checkProbe(), 0);
    }

    @Test
    public void theWorstWindowCounts() {
        for (int wrong = 0; wrong < SIGNATURES.size(); wrong++) { // the others equal PyTorch's
            List<Object> logits = new ArrayList<>((List<?>) ((Map<?, ?>) recorded.get("probe")).get("windows"));
            logits.set(wrong, recording(WRONG).get(wrong));
            assertTrue(refused("int8", new Replay(recorded.get("probe"), logits)).contains("wrongly"));
        }
    }

    @Test
    public void logitsThatAreNoNumbersNeverPass() {
        for (float wrong : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
            LogitsModel right = replay(RIGHT);
            String message =
                    refused(
                            "int8",
                            (signature, ids, mask, types, start, end) -> {
                                right.run(signature, ids, mask, types, start, end);
                                end[5] = wrong;
                            });
            assertTrue(message, message.contains("differ from PyTorch's by Infinity"));
        }
    }

    @Test
    public void constantLogitsNeverPass() {
        for (float constant : new float[] {0, -5, 1e30f}) {
            refused(
                    "int8",
                    (signature, ids, mask, types, start, end) -> {
                        Arrays.fill(start, constant);
                        Arrays.fill(end, constant);
                    });
        }
    }

    @Test
    public void swappedOrUntouchedOutputsNeverPass() {
        LogitsModel right = replay(RIGHT);
        refused("int8", (signature, ids, mask, types, start, end) -> right.run(signature, ids, mask, types, end, start));
        refused("int8", (signature, ids, mask, types, start, end) -> {});
    }

    @Test
    public void theDifferenceIsRelativeToTheDeviation() {
        float[] reference = {-1, 1, -1, 1}; // standard deviation 1
        assertEquals(0.25, Probe.relativeDifference(reference, new float[] {-0.75f, 1.25f, -0.75f, 1.25f}), 1e-12);
        assertEquals(0.25, Probe.relativeDifference(reference, new float[] {-0.5f, 1, -1, 1}), 1e-12);
        float[] wide = {8, 12, 8, 12}; // standard deviation 2
        assertEquals(0.125, Probe.relativeDifference(wide, new float[] {8.25f, 12.25f, 7.75f, 11.75f}), 1e-12);
        assertEquals(0, Probe.relativeDifference(reference, new float[] {-1, 1, -1, 1, 77}), 0); // a longer window's padding
        assertEquals(Double.POSITIVE_INFINITY, Probe.relativeDifference(reference, new float[] {Float.NaN, 1, -1, 1}), 0);
        assertEquals(500000, Probe.relativeDifference(new float[] {3, 3}, new float[] {3.5f, 3.5f}), 0); // standard deviation 0
    }

    private Replay replay(String runtime) {
        return new Replay(recorded.get("probe"), recording(runtime));
    }

    private List<?> recording(String runtime) {
        Map<?, ?> recordings = (Map<?, ?>) recorded.get("recordings");
        return (List<?>) ((Map<?, ?>) recordings.get(runtime)).get("logits");
    }

    private String refused(String precision, LogitsModel model) {
        return assertThrows(ProbeException.class, () -> check(precision, model)).getMessage();
    }

    private double check(String precision, LogitsModel model) throws IOException {
        Probe probe = new Probe(Fields.of("probe.json", recorded.get("probe")), precision, SIGNATURES, 30522);
        return probe.check(new WindowRunner(model, SIGNATURES, 0));
    }

    @Test
    public void theToleranceIsTheFilesOwn() throws Exception {
        // Every logit differs by the same amount, so the relative difference is `share`.
        for (double share : new double[] {0.24, 0.26}) {
            LogitsModel shifted = shiftedBy(share);
            if (share < 0.25) {
                assertEquals(share, check("int8", shifted), 1e-4);
            } else {
                assertTrue(refused("int8", shifted).contains("by 0.260 of their standard deviation"));
            }
        }
    }

    /** Returns the recorded logits; each window's are shifted by a share of their standard deviation. */
    private LogitsModel shiftedBy(double share) {
        Replay right = new Replay(recorded.get("probe"), null);
        return (signature, ids, mask, types, start, end) -> {
            right.run(signature, ids, mask, types, start, end);
            for (float[] logits : new float[][] {start, end}) {
                double sum = 0;
                double squares = 0;
                int n = 0;
                for (; n < ids.length && mask[n] == 1; n++) {
                    sum += logits[n];
                    squares += (double) logits[n] * logits[n];
                }
                double deviation = Math.sqrt(squares / n - sum / n * (sum / n));
                for (int i = 0; i < n; i++) {
                    logits[i] += (float) (share * deviation);
                }
            }
        };
    }
}
