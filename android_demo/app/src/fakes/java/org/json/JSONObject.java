package org.json;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.pocketqa.core.Json;

/** Android's own JSON, as far as the app reads and writes it: objects of strings and lists. */
public class JSONObject {
    private final Map<String, Object> values = new LinkedHashMap<>();

    public JSONObject() {}

    public JSONObject(String text) throws JSONException {
        this(parsed(text));
    }

    JSONObject(Map<?, ?> values) {
        for (Map.Entry<?, ?> value : values.entrySet()) {
            this.values.put((String) value.getKey(), value.getValue());
        }
    }

    private static Map<?, ?> parsed(String text) throws JSONException {
        try {
            return (Map<?, ?>) Json.parse(text);
        } catch (IllegalArgumentException | ClassCastException damaged) {
            throw new JSONException("no object: " + damaged.getMessage());
        }
    }

    public String getString(String name) throws JSONException {
        if (!(values.get(name) instanceof String)) {
            throw new JSONException("no string " + name);
        }
        return (String) values.get(name);
    }

    public JSONArray getJSONArray(String name) throws JSONException {
        if (!(values.get(name) instanceof List)) {
            throw new JSONException("no list " + name);
        }
        return new JSONArray((List<?>) values.get(name));
    }

    public JSONObject put(String name, Object value) throws JSONException {
        values.put(name, value);
        return this;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<String, Object> value : values.entrySet()) {
            text.append(text.length() == 0 ? "{" : ", ").append(quoted(value.getKey())).append(": ");
            text.append(value.getValue() instanceof String ? quoted((String) value.getValue()) : value.getValue());
        }
        return text + "}";
    }

    static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\r", "\\r") + '"';
    }
}
