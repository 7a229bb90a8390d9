package org.pocketqa.core;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Converts JSON (RFC 8259) from and to Map, List, String, Number, Boolean and null. The JDK has no JSON parser. */
public final class Json {
    private static final int DEEPEST = 32;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Parses a text. Throws IllegalArgumentException with the position when the text is not JSON. */
    public static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        json.skipSpace();
        if (json.at < text.length()) {
            throw json.error("the end");
        }
        return value;
    }

    /** Writes a value as JSON on one line. Numbers are read as Double and written in their own type. */
    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map) {
            String before = "{";
            for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
                quote((String) member.getKey(), out.append(before));
                write(member.getValue(), out.append(": "));
                before = ", ";
            }
            out.append(before.equals("{") ? "{}" : "}");
        } else if (value instanceof List) {
            String before = "[";
            for (Object item : (List<?>) value) {
                write(item, out.append(before));
                before = ", ";
            }
            out.append(before.equals("[") ? "[]" : "]");
        } else if (value instanceof String) {
            quote((String) value, out);
        } else {
            out.append(value);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (char c : text.toCharArray()) {
            boolean plain = c >= ' ' && c < 0x7F && c != '"' && c != '\\';
            out.append(plain ? String.valueOf(c) : String.format(Locale.ROOT, "\\u%04x", (int) c));
        }
        out.append('"');
    }

    private Object value(int depth) {
        if (depth > DEEPEST) {
            throw error("at most " + DEEPEST + " levels");
        }
        skipSpace();
        switch (at < text.length() ? text.charAt(at) : ' ') {
            case '{':
                return object(depth);
            case '[':
                return array(depth);
            case '"':
                return string();
            case 't':
                return literal("true", Boolean.TRUE);
            case 'f':
                return literal("false", Boolean.FALSE);
            case 'n':
                return literal("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> members = new LinkedHashMap<String, Object>();
        at++;
        skipSpace();
        if (take('}')) {
            return members;
        }
        do {
            skipSpace();
            if (at >= text.length() || text.charAt(at) != '"') {
                throw error("a name in quotes");
            }
            String name = string();
            skipSpace();
            if (!take(':')) {
                throw error("a colon");
            }
            members.put(name, value(depth + 1));
            skipSpace();
        } while (take(','));
        if (!take('}')) {
            throw error("a comma or }");
        }
        return members;
    }

    private List<Object> array(int depth) {
        List<Object> items = new ArrayList<Object>();
        at++;
        skipSpace();
        if (take(']')) {
            return items;
        }
        do {
            items.add(value(depth + 1));
            skipSpace();
        } while (take(','));
        if (!take(']')) {
            throw error("a comma or ]");
        }
        return items;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        at++;
        while (at < text.length()) {
            char c = text.charAt(at++);
            if (c == '"') {
                return out.toString();
            }
            if (c < ' ') {
                at--;
                throw error("no control character in a string");
            }
            out.append(c == '\\' ? escaped() : c);
        }
        throw error("a closing quote");
    }

    private char escaped() {
        char c = at < text.length() ? text.charAt(at++) : ' ';
        int plain = "\"\\/bfnrt".indexOf(c);
        if (plain >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(plain);
        }
        if (c == 'u' && at + 4 <= text.length() && text.substring(at, at + 4).matches("[0-9a-fA-F]{4}")) {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 4, at), 16);
        }
        throw error("an escape");
    }

    private Object literal(String word, Object meaning) {
        if (!text.startsWith(word, at)) {
            throw error("a value");
        }
        at += word.length();
        return meaning;
    }

    private Double number() {
        int from = at;
        take('-');
        int whole = at;
        digits();
        if (at > whole + 1 && text.charAt(whole) == '0') {
            at = whole;
            throw error("no leading zero");
        }
        if (take('.')) {
            digits();
        }
        if (take('e') || take('E')) {
            if (!take('+')) {
                take('-');
            }
            digits();
        }
        return Double.valueOf(text.substring(from, at));
    }

    private void digits() {
        int from = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == from) {
            throw error("a value");
        }
    }

    private boolean take(char c) {
        boolean there = at < text.length() && text.charAt(at) == c;
        at += there ? 1 : 0;
        return there;
    }

    private void skipSpace() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private IllegalArgumentException error(String wanted) {
        return new IllegalArgumentException("not JSON at character " + at + ": " + wanted + " was expected");
    }
}
