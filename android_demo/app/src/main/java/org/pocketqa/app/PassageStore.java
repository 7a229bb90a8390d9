package org.pocketqa.app;

import android.content.Context;
import android.util.AtomicFile;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Reader;
import java.io.Writer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.pocketqa.core.Fields;
import org.pocketqa.core.Json;

/** Stores the passage over restarts in a private file: a line of JSON, then the text. One background thread only. */
final class PassageStore {
    private static final Charset UTF_8 = StandardCharsets.UTF_8;
    private static final int BLOCK = 1 << 14;

    private final Context context;

    PassageStore(Context context) {
        this.context = context;
    }

    private AtomicFile file() { // the old file stays until the new one is complete
        return new AtomicFile(new File(context.getFilesDir(), "passage"));
    }

    void write(Passage passage) throws IOException {
        AtomicFile file = file();
        FileOutputStream out = file.startWrite();
        boolean whole = false;
        try {
            Writer writer = new BufferedWriter(new OutputStreamWriter(out, UTF_8), BLOCK);
            writer.write(header(passage));
            writer.write('\n');
            writer.write(passage.text);
            writer.flush();
            out.getFD().sync(); // AtomicFile only logs a failure here
            whole = true;
        } finally {
            if (whole) {
                file.finishWrite(out);
            } else {
                file.failWrite(out);
            }
        }
    }

    /** Reads the stored passage. Throws FileNotFoundException if there is none. */
    Passage read() throws IOException {
        try (Reader reader = new BufferedReader(new InputStreamReader(file().openRead(), UTF_8), BLOCK)) {
            StringBuilder header = new StringBuilder();
            for (int c = reader.read(); c >= 0 && c != '\n'; c = reader.read()) {
                header.append((char) c);
            }
            StringBuilder text = new StringBuilder();
            char[] block = new char[BLOCK];
            for (int n = reader.read(block); n >= 0; n = reader.read(block)) {
                text.append(block, 0, n);
            }
            Fields fields = Fields.parse("the stored passage", header.toString());
            return new Passage(fields.string("title"), fields.string("source"), text.toString(), fields.strings("questions"));
        }
    }

    private static String header(Passage passage) {
        Map<String, Object> fields = new HashMap<String, Object>();
        fields.put("title", passage.title);
        fields.put("source", passage.source);
        fields.put("questions", passage.questions);
        return Json.write(fields); // one line, because JSON escapes line ends
    }
}
