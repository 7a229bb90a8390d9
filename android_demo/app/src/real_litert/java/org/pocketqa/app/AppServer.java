package org.pocketqa.app;

import android.content.FakePreferences;
import android.os.Looper;
import java.io.File;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.pocketqa.tools.Pipe;

/**
 * The app without its screens on the real LiteRT, as a desktop process: `java org.pocketqa.app.AppServer FOLDER`.
 *
 * FOLDER/files is the app's private storage; FOLDER/shared has one pushed model. The command letters are CoreServer's, but it
 * computes the logits itself. tests/support/app_process.py is the other side.
 */
public final class AppServer {
    private final PocketQaApp app = new PocketQaApp();
    private final Pipe pipe = new Pipe();

    /** Serves until stdin ends. */
    public static void main(String[] args) {
        System.setOut(System.err); // stdout is used by the pipe
        try {
            new AppServer().serve(new File(args[0]));
        } catch (Throwable fault) {
            fault.printStackTrace();
            System.exit(1);
        }
        System.exit(0); // the app's threads never end
    }

    private void serve(File folder) throws IOException, InterruptedException {
        Looper.prepareMainLooper();
        app.files = new File(folder, "files");
        app.externalFiles = new File(folder, "shared");
        app.preferences = new FakePreferences();
        app.onCreate();
        until(() -> app.passages.bundled() != null && !app.workspace.reading());
        until(() -> app.shelf.looks == 0 && app.copier.job() == null && app.engine.state().loading == null);
        EngineState state = app.engine.state();
        if (state.model == null) {
            pipe.sendError(state.problem.sentence);
            return;
        }
        pipe.out.writeByte('M');
        pipe.out.flush();
        for (int command = pipe.in.read(); command >= 0; command = pipe.in.read()) {
            if (command == 'P') {
                pipe.out.writeByte('P');
                pipe.out.writeDouble(app.engine.state().model.probeDifference);
                pipe.out.flush();
            } else if (command == 'Q') {
                ask(pipe.readText(), pipe.readText(), pipe.in.readBoolean());
            } else if (command == 'B') {
                benchmark();
            } else {
                throw new IOException("unknown command " + command);
            }
        }
    }

    private void ask(String passage, String question, boolean readAll) throws IOException, InterruptedException {
        app.settings.setReadAll(readAll);
        app.passages.load(() -> Passage.own("title", "source", passage, app.getResources()));
        until(() -> !app.workspace.reading());
        app.workspace.ask(question);
        until(() -> app.engine.state().job == null);
        Result result = app.workspace.result();
        if (result == null) {
            pipe.sendError(app.workspace.notice());
        } else {
            pipe.send(passage, result.answers);
        }
    }

    /** Sends the JSON of a benchmark, without the name of this machine. */
    private void benchmark() throws IOException, InterruptedException {
        app.benchmarks.start();
        until(() -> app.benchmarks.job() == null);
        if (app.benchmarks.measured() == null) {
            pipe.sendError(app.benchmarks.notice());
            return;
        }
        Map<String, Object> machine = new LinkedHashMap<>();
        machine.put("name", "no phone: a JVM on " + System.getProperty("os.name"));
        machine.put("android", "none");
        machine.put("processor", System.getProperty("os.arch"));
        machine.put("abi", System.getProperty("os.arch"));
        machine.put("cores", Runtime.getRuntime().availableProcessors());
        machine.put("build", "none");
        pipe.sendText('J', app.benchmarks.measured().json("test", "1.4.0", machine));
    }

    private static void until(BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            Looper.POSTED.take().run();
        }
    }
}
