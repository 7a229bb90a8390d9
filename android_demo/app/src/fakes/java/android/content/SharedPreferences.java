package android.content;

public interface SharedPreferences {
    String getString(String key, String otherwise);

    int getInt(String key, int otherwise);

    Editor edit();

    interface Editor {
        Editor putString(String key, String value);

        Editor putInt(String key, int value);

        Editor remove(String key);

        void apply();

        boolean commit();
    }
}
