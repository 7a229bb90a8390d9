package org.pocketqa.core;

import java.util.HashMap;
import java.util.Map;

/** Computes the probability of "no answer" with the temperature and offset of a file, as qa/text/answers.py does. */
final class Calibration {
    private final double temperature;
    private final double offset;

    Calibration(double temperature, double offset) {
        this.temperature = temperature;
        this.offset = offset;
    }

    Calibration(Fields json) throws ModelFileException {
        temperature = json.number("temperature");
        offset = json.number("offset");
        if (!(temperature > 0)) {
            throw Fields.wrong("qa.json: calibration: temperature", "above 0", temperature);
        }
    }

    /** Returns the object that the constructor reads. */
    Map<String, Object> json() {
        Map<String, Object> json = new HashMap<String, Object>();
        json.put("temperature", temperature);
        json.put("offset", offset);
        return json;
    }

    /** Returns the probability that the passage has no answer. */
    double noAnswer(double nullDifference) {
        return 1 / (1 + Math.exp(-(nullDifference + offset) / temperature));
    }
}
