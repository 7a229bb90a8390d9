package org.pocketqa.core;

import java.util.List;

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
