package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.content.ContentResolver;
import android.net.Uri;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;

/** Texts are read one after the other; another app may hang. */
public class PassageTest {
    private static final byte[] TEXT = "a z c".getBytes(StandardCharsets.UTF_8);

    @Rule public final Phone phone = new Phone();

    private Workspace workspace;

    @Before
    public void start() throws IOException {
        phone.startWith(ModelBytes.small());
        workspace = phone.app.workspace;
        phone.read("the present one");
    }

    private void load(Uri uri) {
        phone.app.passages.load(new Document(phone.app, uri)::passage);
    }

    private void untilRead() {
        phone.until(() -> !workspace.reading());
    }

    @Test
    public void aDocumentIsRead() {
        load(phone.document(TEXT, "my.txt"));
        assertTrue(workspace.reading());
        assertFalse("no question meanwhile", workspace.ask("b"));
        untilRead();
        assertEquals("my.txt", workspace.passage().title);
        assertEquals("a z c", workspace.passage().text);
        assertEquals("z", phone.ask("b"));
    }

    @Test
    public void aTextThatHangsDoesNotHoldUpTheNext() throws InterruptedException {
        HeldStream hangs = new HeldStream(TEXT, false);
        load(phone.document(hangs, "hangs.txt"));
        Thread thread = hangs.reading.thread();
        phone.read("the next one");
        assertEquals("the next one", workspace.passage().text);
        hangs.reading.release();
        phone.ended(thread);
        assertEquals("it comes too late", "the next one", workspace.passage().text);
        assertNull(workspace.notice());
    }

    @Test
    public void aFailureThatComesTooLateIsNotTold() throws InterruptedException {
        HeldStream hangs = new HeldStream(TEXT, true);
        load(phone.document(hangs, "hangs.txt"));
        Thread thread = hangs.reading.thread();
        phone.read("the next one");
        hangs.close();
        phone.ended(thread);
        assertNull(workspace.notice());
    }

    @Test
    public void aTextThatHangsIsCancelledAndThePresentOneStays() throws InterruptedException {
        HeldStream hangs = new HeldStream(TEXT, false);
        load(phone.document(hangs, "hangs.txt"));
        Thread thread = hangs.reading.thread();
        phone.app.passages.cancel();
        assertFalse(workspace.reading());
        assertEquals("the", phone.ask("b").substring(0, 3)); // questions are answered
        hangs.reading.release();
        phone.ended(thread);
        assertEquals("the present one", workspace.passage().text);
        assertTrue("its answer too", workspace.result() != null);
    }

    @Test
    public void aTextThatFailsLeavesThePresentOne() {
        load(phone.document("  \n ".getBytes(StandardCharsets.UTF_8), "empty.txt"));
        untilRead();
        assertEquals("text_empty", workspace.notice());
        load(Uri.parse("content://documents/forbidden"));
        untilRead();
        assertEquals("fault_gone", workspace.notice());
        ContentResolver.Entry own = new ContentResolver.Entry(new ByteArrayInputStream(TEXT), "passage");
        load(phone.provided("file:///data/data/org.pocketqa.app/files/passage", own));
        untilRead();
        assertEquals("fault_gone", workspace.notice());
        assertEquals("the present one", workspace.passage().text);
    }

    @Test
    public void atAStartTheStoredTextIsThereIfAnotherAppsTextFailsOrIsCancelled() throws InterruptedException {
        phone.app.passages.restore();
        untilRead(); // so the present one is stored
        for (boolean cancelled : new boolean[] {false, true}) {
            Workspace started = new Workspace(phone.app, phone.app.engine, phone.app.settings);
            PassageLoader passages = new PassageLoader(phone.app, started);
            passages.restore();
            HeldStream hangs = new HeldStream(TEXT, true);
            passages.load(new Document(phone.app, phone.document(hangs, "hangs.txt"))::passage);
            Thread thread = hangs.reading.thread();
            if (cancelled) {
                passages.cancel();
            }
            phone.until(() -> passages.bundled() != null);
            assertEquals("the present one", started.passage().text);
            assertEquals("it is still being read", !cancelled, started.reading());
            hangs.close();
            phone.ended(thread);
            assertEquals("the present one", started.passage().text);
            assertFalse(started.reading());
            assertEquals("a failure is told", !cancelled, started.notice() != null);
        }
    }

    @Test
    public void aTextTooLargeForThisPhoneBecomesASentence() {
        phone.app.passages.load(
                () -> {
                    throw new OutOfMemoryError();
                });
        untilRead();
        assertEquals("fault_memory", workspace.notice());
        assertEquals("the present one", workspace.passage().text);
    }

    @Test
    public void anotherAppsNameIsCut() {
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < 150; i++) {
            name.append("\ud83d\ude00"); // one character with two UTF-16 units
        }
        assertEquals(name.substring(0, 200), titleOf(name.toString()));
        assertEquals(name.substring(0, 198) + "x", titleOf(name.substring(0, 198) + "x"));
        assertEquals("unnamed_file", titleOf(" "));
        assertEquals("unnamed_file", titleOf(null));
    }

    private String titleOf(String name) {
        load(phone.document(TEXT, name));
        untilRead();
        return workspace.passage().title;
    }
}
