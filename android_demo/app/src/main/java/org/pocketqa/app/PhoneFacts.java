package org.pocketqa.app;

import android.content.Context;
import android.content.pm.PackageManager;
import android.os.Build;
import java.util.LinkedHashMap;
import java.util.Map;

/** Facts about this phone and this build, for a benchmark's JSON. */
final class PhoneFacts {
    private PhoneFacts() {}

    static Map<String, Object> phone() {
        Map<String, Object> phone = new LinkedHashMap<String, Object>();
        phone.put("name", Build.MANUFACTURER + " " + Build.MODEL);
        phone.put("android", Build.VERSION.RELEASE);
        phone.put("processor", processor());
        phone.put("abi", Build.SUPPORTED_ABIS[0]);
        phone.put("cores", Runtime.getRuntime().availableProcessors());
        phone.put("build", Build.FINGERPRINT);
        return phone;
    }

    // These fields exist from Android 12 on; the class library of this build is older.
    private static String processor() {
        try {
            return (String) Build.class.getField("SOC_MODEL").get(null);
        } catch (ReflectiveOperationException untold) {
            return Build.HARDWARE;
        }
    }

    /** Returns the version of this app. */
    static String version(Context context) {
        try {
            return context.getPackageManager().getPackageInfo(context.getPackageName(), 0).versionName;
        } catch (PackageManager.NameNotFoundException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
