package org.pocketqa.tools;

/** Converts UTF-16 offsets (Java) of a text to code point offsets (Python). */
final class CodePointOffsets {
    private final int[] codePointAt;

    CodePointOffsets(String text) {
        codePointAt = new int[text.length() + 1];
        for (int i = 0, count = 0; i <= text.length(); i++) {
            codePointAt[i] = count;
            boolean insidePair =
                    i + 1 < text.length() && Character.isHighSurrogate(text.charAt(i)) && Character.isLowSurrogate(text.charAt(i + 1));
            count += insidePair ? 0 : 1;
        }
    }

    int of(int offset) {
        return codePointAt[offset];
    }
}
