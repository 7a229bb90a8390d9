package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.List;
import org.junit.Test;

/** Windows computed by hand: first token + number of tokens, then an x for each token that has most context there. */
public class WindowsTest {
    @Test
    public void aShortPassageIsOneWindow() throws Exception {
        assertEquals("0+5 xxxxx", shown(2, 5, 10, 3)); // 10 tokens minus [CLS], two of the question, two [SEP]
        assertEquals("0+1 x", shown(2, 1, 10, 3));
    }

    @Test
    public void anEmptyPassageIsOneEmptyWindow() throws Exception {
        assertEquals("0+0 ", shown(2, 0, 10, 3));
        Window window = make(0, 0, TestSettings.of(10, 3, 2, 20, 30)).get(0);
        assertEquals(2, window.contextBegin);
        assertEquals(3, window.size()); // [CLS] [SEP] [SEP]
    }

    @Test
    public void aLongPassageIsCutAtTheStride() throws Exception {
        // Contexts of tokens 0-4, 3-7 and 6-8 in their windows: 0 1 2 1 0, 0 1 2 1 0 and 0 1 0. Token 3 has more context in the
        // first (1 to 0), 4 in the second (1 to 0), 6 in the second (1 to 0), 7 in the third (1 to 0), 8 is only there.
        assertEquals("0+5 xxxx. | 3+5 .xxx. | 6+3 .xx", shown(2, 9, 10, 3));
    }

    @Test
    public void oneTokenTooManyMakesAnotherWindow() throws Exception {
        assertEquals("0+5 xxxx. | 3+3 .xx", shown(2, 6, 10, 3));
    }

    @Test
    public void ofEqualContextsTheFirstWindowHasTheToken() throws Exception {
        // Token 3 has one token on either side in both windows.
        assertEquals("0+5 xxxx. | 2+5 ..xxx", shown(2, 7, 10, 2));
    }

    @Test
    public void atTheEdgeOfTwoWindowsTheFirstHasTheToken() throws Exception {
        assertEquals("0+5 xxxxx | 4+2 .x", shown(2, 6, 10, 4));
    }

    @Test
    public void aStrideBeyondTheWindowLeavesNothingOut() throws Exception {
        assertEquals("0+5 xxxxx | 5+5 xxxxx | 10+2 xx", shown(2, 12, 10, 100));
    }

    @Test
    public void windowsOfOneToken() throws Exception {
        assertEquals("0+1 x | 1+1 x | 2+1 x", shown(6, 3, 10, 1));
    }

    @Test
    public void everyTokenHasOneWindowThatSeesItBest() throws Exception {
        QASettings settings = TestSettings.of(40, 7, 8, 20, 30);
        for (int tokens = 0; tokens < 200; tokens++) {
            int[] owners = new int[tokens];
            int end = 0;
            for (Window window : make(5, tokens, settings)) {
                assertTrue(window.size() <= 40 && window.firstToken <= end);
                end = window.firstToken + window.tokenCount;
                for (int k = 0; k < window.tokenCount; k++) {
                    owners[window.firstToken + k] += window.hasMaxContext(k) ? 1 : 0;
                }
            }
            assertEquals(tokens, end);
            for (int owner : owners) {
                assertEquals(1, owner);
            }
        }
    }

    /** A twelve-token question leaves 369 of 384: windows of 369 and 242 tokens, so BERT's 1 % of the length decides. */
    @Test
    public void theLongerWindowHasTheTokenWhereContextsDifferByOne() throws Exception {
        List<Window> windows = make(12, 370, TestSettings.of(384, 128, 64, 20, 30));
        assertEquals(2, windows.size());
        for (int token = 0; token < 370; token++) {
            // Token 300: 68 + 3.69 in the first, 69 + 2.42 in the second.
            assertEquals("token " + token, token < 369, token < 369 && windows.get(0).hasMaxContext(token));
            assertEquals("token " + token, token == 369, token >= 128 && windows.get(1).hasMaxContext(token - 128));
        }
    }

    /** Returns the windows of a complete passage; `questionTokens` is the length of the truncated question. */
    static List<Window> make(int questionTokens, int passageTokens, QASettings settings) {
        return Windows.over(Windows.spans(questionTokens, passageTokens, settings), Windows.contextBegin(questionTokens));
    }

    private static String shown(int question, int passage, int maxLength, int docStride) throws Exception {
        List<Window> windows = make(question, passage, TestSettings.of(maxLength, docStride, maxLength - 5, 20, 30));
        StringBuilder out = new StringBuilder();
        for (Window window : windows) {
            assertEquals(question + 2, window.contextBegin);
            assertEquals(question + 3 + window.tokenCount, window.size());
            out.append(out.length() == 0 ? "" : " | ");
            out.append(window.firstToken).append('+').append(window.tokenCount).append(' ');
            for (int k = 0; k < window.tokenCount; k++) {
                out.append(window.hasMaxContext(k) ? 'x' : '.');
            }
        }
        return out.toString();
    }
}
