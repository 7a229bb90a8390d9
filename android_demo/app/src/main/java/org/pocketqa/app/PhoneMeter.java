package org.pocketqa.app;

import android.content.Context;
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import org.pocketqa.core.Meter;

/** Reads the clock, temperature and memory of this phone. */
final class PhoneMeter implements Meter {
    private static final String RESIDENT = "VmRSS:"; // in kB, see proc(5)

    private final Object power;

    PhoneMeter(Context context) {
        power = context.getSystemService(Context.POWER_SERVICE);
    }

    @Override
    public long nanos() {
        return System.nanoTime();
    }

    /** Returns the thermal status (Android 10 and later). Uses reflection, because the class library of this build is older. */
    @Override
    public Integer thermalStatus() {
        try {
            return (Integer) power.getClass().getMethod("getCurrentThermalStatus").invoke(power);
        } catch (ReflectiveOperationException | RuntimeException untold) {
            return null;
        }
    }

    @Override
    public Long memoryBytes() {
        try (BufferedReader status = new BufferedReader(new FileReader("/proc/self/status"))) {
            for (String line = status.readLine(); line != null; line = status.readLine()) {
                if (line.startsWith(RESIDENT)) {
                    return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
                }
            }
            return null;
        } catch (IOException | NumberFormatException untold) {
            return null;
        }
    }
}
