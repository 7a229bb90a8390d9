package org.pocketqa.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.Test;

/** Probabilities and decisions in each mode, with a calibration and without. They must equal those that Python recorded. */
public class CalibrationTest {
    private static final double EXACT = 1e-12;

    @Test
    public void everyRowHasPythonsProbabilitiesAndDecisions() throws Exception {
        List<?> rows = (List<?>) Golden.json("calibration.json");
        assertTrue("rows: " + rows.size(), rows.size() >= 100);
        for (Object item : rows) {
            Map<?, ?> row = (Map<?, ?>) item;
            Map<?, ?> given = (Map<?, ?>) row.get("settings");
            QASettings settings = new QASettings(Fields.of("row", given));
            List<Candidate> candidates = new ArrayList<Candidate>();
            for (Object candidate : (List<?>) row.get("candidates")) {
                double[] values = numbers((List<?>) candidate);
                candidates.add(new Candidate(values[0], 2 * candidates.size(), 2 * candidates.size() + 1, values[1]));
            }
            double nullScore = (Double) row.get("null_score");
            for (Mode mode : Mode.values()) {
                Double threshold = settings.threshold(mode);
                Answers answers = new Answers(candidates, nullScore, threshold, settings.calibration, 1, 1, 1, 1, 0, 0, 0);
                Map<?, ?> wanted = (Map<?, ?>) ((Map<?, ?>) row.get("modes")).get(mode.name().toLowerCase(Locale.ROOT));
                assertEquals(row.toString(), wanted.get("answered"), answers.best != null);
                assertArrayEquals(row.toString(), numbers((List<?>) wanted.get("probabilities")), answers.probabilities(), EXACT);
                assertEquals(row.toString(), (Double) wanted.get("no_answer"), answers.noAnswerProbability(), EXACT);
                assertEquals(row.toString(), given.containsKey("calibration"), answers.calibrated());
            }
        }
    }

    @Test
    public void aFileWithoutTheseSettingsHasNoStrictModeAndNoCalibration() throws Exception {
        QASettings settings = ModelPackage.read(ModelFiles.good()).settings;
        assertEquals(settings.nullThreshold, settings.threshold(Mode.BALANCED));
        assertEquals(null, settings.threshold(Mode.ANSWERING));
        assertThrows(IllegalArgumentException.class, () -> settings.threshold(Mode.STRICT));
        assertEquals(null, settings.calibration);
    }

    @Test
    public void aTemperatureMustBeAboveZero() {
        String text = "{\"temperature\": 0, \"offset\": 1}";
        assertThrows(ModelFileException.class, () -> new Calibration(Fields.parse("calibration", text)));
    }

    private static double[] numbers(List<?> values) {
        double[] numbers = new double[values.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (Double) values.get(i);
        }
        return numbers;
    }
}
