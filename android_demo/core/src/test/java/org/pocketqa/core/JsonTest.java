package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.Test;

public class JsonTest {
    @Test
    public void readsEveryKindOfValue() {
        Map<?, ?> object = (Map<?, ?>) Json.parse(" {\"a\" : [1, -2.5e1 ,true,false, null , {}, []],\r\n\t\"b\":\"x\"} ");
        List<?> items = Arrays.asList(1.0, -25.0, true, false, null, Collections.emptyMap(), Collections.emptyList());
        assertEquals(items, object.get("a"));
        assertEquals("x", object.get("b"));
        assertEquals(new ArrayList<>(Arrays.asList("a", "b")), new ArrayList<>(object.keySet()));
        assertNull(Json.parse("null"));
    }

    @Test
    public void readsNumbersAsTheyAre() {
        String[] texts = {"0", "-0", "10", "0.1", "1E2", "1e+2", "12.5e-1", "123456789012345678", "2.5E-320"};
        for (String text : texts) {
            assertEquals(Double.valueOf(text), Json.parse(text));
        }
        assertEquals(Double.POSITIVE_INFINITY, Json.parse("1e999"));
    }

    @Test
    public void readsEscapes() {
        assertEquals("\"\\/\b\f\n\r\t", Json.parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""));
        assertEquals("\u00e9\ud83d\ude00\udead", Json.parse("\"\\u00E9\\ud83d\\uDE00\\udead\""));
    }

    @Test
    public void theLastOfEqualNamesCounts() {
        assertEquals(Collections.singletonMap("a", 2.0), Json.parse("{\"a\": 1, \"a\": 2}"));
    }

    @Test
    public void whatIsNoJsonIsRefusedAtItsPlace() {
        refused("", 0);
        refused("  ", 2);
        refused("{\"a\" 1}", 5);
        refused("{a: 1}", 1);
        refused("{\"a\": 1,}", 8);
        refused("{\"a\": 1", 7);
        refused("[1, 2", 5);
        refused("[1,]", 3);
        refused("[1 2]", 3);
        refused("[1] 2", 4);
        refused("nul", 0);
        refused("nullify", 4);
        refused("True", 0);
        refused("'a'", 0);
        refused("\"a", 2);
        refused("\"a\nb\"", 2);
        refused("\"\\x\"", 3);
        refused("\"\\u12\"", 3);
        refused("\"\\u12g4\"", 3);
        refused("\"\\u+123\"", 3);
        refused("\"\\", 2);
    }

    @Test
    public void whatOtherReadersTakeForNumbersIsRefused() {
        String[] texts = {"NaN", "Infinity", "-Infinity", "-", "+1", ".5", "1.", "1e", "1e+", "01", "-01", "0x10", "1f", "1_0"};
        for (String text : texts) {
            assertThrows(text, IllegalArgumentException.class, () -> Json.parse(text));
        }
        assertThrows(IllegalArgumentException.class, () -> Json.parse("\u0661")); // an Arabic digit
    }

    @Test
    public void nestingHasAnEnd() {
        Json.parse(nested(33));
        String message = assertThrows(IllegalArgumentException.class, () -> Json.parse(nested(34))).getMessage();
        assertTrue(message, message.contains("at most 32 levels"));
        assertThrows(IllegalArgumentException.class, () -> Json.parse(nested(100000)));
        assertThrows(IllegalArgumentException.class, () -> Json.parse(nested(100000).replace("[", "{\"a\":")));
    }

    @Test
    public void aQuotedTextReadsBackAndIsAscii() {
        StringBuilder all = new StringBuilder();
        for (char c = 0; c < Character.MAX_VALUE; c++) {
            all.append(c);
        }
        String quoted = Json.write(all.toString());
        assertEquals(all.toString(), Json.parse(quoted));
        assertTrue(quoted.matches("[ -~]*"));
        assertEquals("\"a\\u0022b\\u005cc\\u000a\\u00e9\"", Json.write("a\"b\\c\n\u00e9"));
    }

    private static void refused(String text, int place) {
        String message = assertThrows(text, IllegalArgumentException.class, () -> Json.parse(text)).getMessage();
        assertTrue(text + ": " + message, message.startsWith("not JSON at character " + place + ": "));
    }

    private static String nested(int depth) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 2 * depth; i++) {
            text.append(i < depth ? '[' : ']');
        }
        return text.toString();
    }
}
