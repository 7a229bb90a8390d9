package org.pocketqa.core;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Computes probabilities from scores with the temperature and offset of a file, as qa/text/answers.py does. */
final class Calibration {
    private final double temperature;
    private final double offset;

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

    /** Returns the probability of each candidate (best first): its share, by softmax, of what "no answer" leaves. */
    double[] answers(List<Candidate> candidates, double nullScore) {
        double[] shares = new double[candidates.size()];
        double sum = 0;
        for (int i = 0; i < shares.length; i++) {
            shares[i] = Math.exp(candidates.get(i).score - candidates.get(0).score);
            sum += shares[i];
        }
        for (int i = 0; i < shares.length; i++) {
            shares[i] *= (1 - noAnswer(nullScore - candidates.get(0).score)) / sum;
        }
        return shares;
    }
}
