package org.json;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;

public class JSONArray {
    private final List<Object> values;

    public JSONArray(Collection<?> values) {
        this.values = new ArrayList<>(values);
    }

    public int length() {
        return values.size();
    }

    public String getString(int index) throws JSONException {
        return (String) values.get(index);
    }

    public JSONObject getJSONObject(int index) throws JSONException {
        return new JSONObject((Map<?, ?>) values.get(index));
    }

    @Override
    public String toString() {
        List<String> texts = new ArrayList<>();
        for (Object value : values) {
            texts.add(JSONObject.quoted((String) value));
        }
        return texts.toString();
    }
}
