package android.content.res;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Returns as a text the name of its resource with its arguments, such as "fault_storage[disk full]". */
public class Resources {
    private static final Map<Integer, String> NAMES = names();

    public String getString(int id) {
        return NAMES.get(id);
    }

    public String getString(int id, Object... values) {
        return NAMES.get(id) + Arrays.toString(values);
    }

    private static Map<Integer, String> names() {
        Map<Integer, String> names = new HashMap<>();
        try {
            for (Field field : Class.forName("org.pocketqa.app.R$string").getFields()) {
                names.put(field.getInt(null), field.getName());
            }
        } catch (ReflectiveOperationException missing) {
            throw new AssertionError(missing);
        }
        return names;
    }
}
