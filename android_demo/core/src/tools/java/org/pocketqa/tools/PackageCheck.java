package org.pocketqa.tools;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.Charset;
import org.pocketqa.core.ModelFileException;
import org.pocketqa.core.ModelPackage;

/** Reads model files whose paths come on stdin, and prints "ok" or the reason why the app refuses one, a line each. */
public final class PackageCheck {
    private PackageCheck() {}

    /** Checks all files; any other exception than a refusal is a fault and ends the process. */
    public static void main(String[] args) throws IOException {
        Charset utf8 = Charset.forName("UTF-8");
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in, utf8));
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        for (String path = paths.readLine(); path != null; path = paths.readLine()) {
            out.println(verdict(new File(path)));
        }
    }

    private static String verdict(File file) throws IOException {
        try {
            ModelPackage.read(file);
            return "ok";
        } catch (ModelFileException refusal) {
            return "refused: " + refusal.getMessage().replace('\n', ' ').replace('\r', ' ');
        }
    }
}
