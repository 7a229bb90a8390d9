package android.content;

import android.os.Looper;
import java.util.HashMap;
import java.util.Map;

/** Preferences of one process. `apply` writes at once; a test that needs an older state copies it before. */
public final class FakePreferences implements SharedPreferences {
    private final Map<String, Object> values;

    public FakePreferences() {
        this(new HashMap<>());
    }

    private FakePreferences(Map<String, Object> values) {
        this.values = values;
    }

    /** Returns the state that the next process would find. */
    public synchronized FakePreferences copy() {
        return new FakePreferences(new HashMap<>(values));
    }

    private synchronized Object get(String key) {
        return values.get(key);
    }

    private synchronized void putAll(Map<String, Object> changes) {
        for (Map.Entry<String, Object> change : changes.entrySet()) {
            if (change.getValue() == null) {
                values.remove(change.getKey());
            } else {
                values.put(change.getKey(), change.getValue());
            }
        }
    }

    @Override
    public String getString(String key, String otherwise) {
        Object value = get(key);
        return value == null ? otherwise : (String) value;
    }

    @Override
    public int getInt(String key, int otherwise) {
        Object value = get(key);
        return value == null ? otherwise : (Integer) value;
    }

    @Override
    public Editor edit() {
        Map<String, Object> changes = new HashMap<>();
        return new Editor() {
            @Override
            public Editor putString(String key, String value) {
                changes.put(key, value);
                return this;
            }

            @Override
            public Editor putInt(String key, int value) {
                changes.put(key, value);
                return this;
            }

            @Override
            public Editor remove(String key) {
                changes.put(key, null);
                return this;
            }

            @Override
            public void apply() {
                putAll(changes);
            }

            @Override
            public boolean commit() {
                Looper.refuseMain("commit waits for the disk");
                putAll(changes);
                return true;
            }
        };
    }
}
