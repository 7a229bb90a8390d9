package org.pocketqa.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** JSON object of a model file or of an app file, read field by field. Errors name a missing field or a field of the wrong type. */
public final class Fields {
    private static final int LONGEST_SHOWN = 200;
    // Characters that could rearrange or split a line on the screen: control, format and line-end characters, and halves of
    // surrogate pairs. It is a list, because Unicode's categories differ between versions.
    private static final Pattern UNSHOWABLE =
            Pattern.compile(
                    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff"
                            + "\\ufff9-\\ufffb\\x{e0000}-\\x{e007f}]");

    private final String where;
    private final Map<?, ?> members;

    private Fields(String where, Map<?, ?> members) {
        this.where = where;
        this.members = members;
    }

    /** Reads the object in a member of the package. */
    public static Fields parse(String where, String text) throws ModelFileException {
        try {
            return of(where, Json.parse(text));
        } catch (IllegalArgumentException error) {
            throw new ModelFileException(where + " in the file is damaged (" + error.getMessage() + "). Export the model again.");
        }
    }

    /** Returns `value` as an object; `where` names it in errors. */
    public static Fields of(String where, Object value) throws ModelFileException {
        if (!(value instanceof Map)) {
            throw wrong(where, "an object", value);
        }
        return new Fields(where, (Map<?, ?>) value);
    }

    boolean has(String name) {
        return members.get(name) != null;
    }

    boolean isNull(String name) throws ModelFileException {
        return value(name) == null;
    }

    Fields object(String name) throws ModelFileException {
        return of(path(name), value(name));
    }

    public String string(String name) throws ModelFileException {
        Object value = value(name);
        if (!(value instanceof String)) {
            throw wrong(path(name), "text", value);
        }
        return (String) value;
    }

    /** Returns a short text to show, of one line. */
    String shortString(String name) throws ModelFileException {
        String value = string(name);
        if (value.length() > LONGEST_SHOWN) {
            throw wrong(path(name), "at most " + LONGEST_SHOWN + " characters long", value);
        }
        if (UNSHOWABLE.matcher(value).find() || hasLoneSurrogate(value)) {
            throw wrong(path(name), "without control characters", UNSHOWABLE.matcher(value).replaceAll("\ufffd"));
        }
        return value;
    }

    private static boolean hasLoneSurrogate(String text) {
        for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            int codePoint = text.codePointAt(i);
            if (codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE) {
                return true;
            }
        }
        return false;
    }

    boolean bool(String name) throws ModelFileException {
        Object value = value(name);
        if (!(value instanceof Boolean)) {
            throw wrong(path(name), "true or false", value);
        }
        return (Boolean) value;
    }

    double number(String name) throws ModelFileException {
        return number(path(name), value(name));
    }

    public int integer(String name, int least, int most) throws ModelFileException {
        return integer(path(name), value(name), least, most);
    }

    long count(String name) throws ModelFileException {
        double value = number(name);
        if (value != Math.rint(value) || value < 0 || value > 1e15) {
            throw wrong(path(name), "a count", value);
        }
        return (long) value;
    }

    public List<?> list(String name) throws ModelFileException {
        return list(path(name), value(name));
    }

    public List<String> strings(String name) throws ModelFileException {
        List<String> items = new ArrayList<String>();
        for (Object item : list(name)) {
            if (!(item instanceof String)) {
                throw wrong(path(name), "a list of texts", item);
            }
            items.add((String) item);
        }
        return items;
    }

    int[] integers(String name, int least, int most) throws ModelFileException {
        return integers(path(name), value(name), least, most);
    }

    float[] floats(String name) throws ModelFileException {
        List<?> items = list(name);
        float[] numbers = new float[items.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) number(path(name), items.get(i));
            if (Float.isInfinite(numbers[i])) {
                throw wrong(path(name), "a list of 32-bit numbers", items.get(i));
            }
        }
        return numbers;
    }

    static int[] integers(String where, Object value, int least, int most) throws ModelFileException {
        List<?> items = list(where, value);
        int[] numbers = new int[items.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = integer(where, items.get(i), least, most);
        }
        return numbers;
    }

    private static List<?> list(String where, Object value) throws ModelFileException {
        if (!(value instanceof List)) {
            throw wrong(where, "a list", value);
        }
        return (List<?>) value;
    }

    static double number(String where, Object value) throws ModelFileException {
        if (!(value instanceof Double) || ((Double) value).isInfinite()) {
            throw wrong(where, "a number", value);
        }
        return (Double) value;
    }

    private static int integer(String where, Object value, int least, int most) throws ModelFileException {
        double number = number(where, value);
        if (number != Math.rint(number) || number < least || number > most) {
            throw wrong(where, "a whole number from " + least + " to " + most, value);
        }
        return (int) number;
    }

    private Object value(String name) throws ModelFileException {
        if (!members.containsKey(name)) {
            throw new ModelFileException(path(name) + " is missing in the file. Export the model again.");
        }
        return members.get(name);
    }

    private String path(String name) {
        return where + ": " + name;
    }

    static ModelFileException wrong(String where, String wanted, Object seen) {
        return new ModelFileException(where + " must be " + wanted + ", but is " + shown(seen) + ". Export the model again.");
    }

    /** Returns a value of the file, shortened for an error message. */
    static String shown(Object seen) {
        String shown = String.valueOf(seen);
        shown = seen instanceof Double && shown.endsWith(".0") ? shown.substring(0, shown.length() - 2) : shown;
        return shown.length() > 60 ? shown.substring(0, 60) + "\u2026" : shown;
    }
}
