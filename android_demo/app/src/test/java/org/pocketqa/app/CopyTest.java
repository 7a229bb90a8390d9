package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.content.ContentResolver;
import android.net.Uri;
import android.widget.Toast;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Collections;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;
import org.tensorflow.lite.Interpreter;

/** A picked model is copied into the app or refused; the other app may hang. */
public class CopyTest {
    private static final byte[] MODEL = ModelBytes.small();

    @Rule public final Phone phone = new Phone();

    private ModelCopier copier;

    @Before
    public void start() {
        phone.start();
        copier = phone.app.copier;
    }

    private void untilIdle() {
        phone.until(() -> copier.job() == null && phone.app.engine.state().loading == null);
    }

    @Test
    public void aCopyIsTakenIntoUse() throws IOException {
        phone.take("my.tflite", MODEL);
        assertEquals("small-fp32.tflite", phone.names());
        assertEquals(MODEL.length, phone.model("small-fp32.tflite").bytes);
        assertEquals(Arrays.asList("small-fp32.tflite"), phone.privateFiles());
        phone.start();
        assertEquals("small-fp32.tflite", phone.inUse());
    }

    @Test
    public void oneCopyAtATime() {
        HeldStream slow = new HeldStream(MODEL, true);
        phone.app.shelf.take(phone.document(slow, "slow.tflite"));
        slow.reading.thread();
        phone.app.shelf.take(phone.document(MODEL, "second.tflite"));
        assertEquals("slow.tflite", copier.job().name());
        assertEquals("copy_busy", Toast.shown);
        slow.reading.release();
        untilIdle();
        assertEquals("small-fp32.tflite", phone.inUse());
        assertEquals(1, Interpreter.OPENED.get());
    }

    @Test
    public void aCopyThatHangsIsCancelledAtOnceAndItsStreamClosed() throws InterruptedException {
        HeldStream hangs = new HeldStream(MODEL, true);
        phone.app.shelf.take(phone.document(hangs, "hangs.tflite"));
        Thread thread = hangs.reading.thread();
        copier.cancel();
        assertNull(copier.job());
        phone.ended(thread); // the closing ends the read
        assertNull(phone.problem());
        assertEquals(Collections.emptyList(), phone.privateFiles());
    }

    @Test
    public void whereClosingDoesNotHelpTheNextCopyGoesAhead() throws InterruptedException {
        HeldStream hangs = new HeldStream(MODEL, false);
        phone.app.shelf.take(phone.document(hangs, "hangs.tflite"));
        Thread thread = hangs.reading.thread();
        copier.cancel();
        phone.take("next.tflite", MODEL);
        hangs.reading.release();
        phone.ended(thread);
        assertEquals("small-fp32.tflite", phone.inUse());
        assertNull(phone.problem());
        assertEquals(Arrays.asList("small-fp32.tflite"), phone.privateFiles());
    }

    @Test
    public void aCancelWhileTheOtherAppOpensIsHeardAfterwards() throws InterruptedException {
        Held opening = new Held();
        HeldStream never = new HeldStream(MODEL, true);
        Uri uri =
                phone.document(
                        new ContentResolver.Entry(never, "slow.tflite") {
                            @Override
                            protected InputStream open() {
                                opening.here();
                                return super.open();
                            }
                        });
        phone.app.shelf.take(uri);
        Thread thread = opening.thread();
        copier.cancel();
        opening.release();
        phone.ended(thread); // without reading, which would wait for the test
        assertNull(phone.inUse());
        assertNull(phone.problem());
        assertEquals(Collections.emptyList(), phone.privateFiles());
    }

    @Test
    public void aCopyCancelledAtTheLastMomentIsDeleted() throws InterruptedException {
        HeldStream slow = new HeldStream(MODEL, true);
        phone.app.shelf.take(phone.document(slow, "slow.tflite"));
        Thread thread = slow.reading.thread();
        slow.reading.release();
        thread.join(); // copied and checked, but the main thread was not notified yet
        copier.cancel();
        assertEquals(1, phone.privateFiles().size());
        phone.until(() -> phone.privateFiles().isEmpty());
        assertNull(phone.app.engine.state().loading);
        assertNull(phone.inUse());
    }

    @Test
    public void aCopyThatFailsIsNamed() {
        byte[] cut = Arrays.copyOf(MODEL, MODEL.length - 1);
        phone.app.shelf.take(phone.document(cut, "cut.tflite"));
        assertNotNull(copier.job());
        untilIdle();
        assertTrue(phone.problem(), phone.problem().startsWith("cut.tflite: The file"));
        phone.app.shelf.take(Uri.parse("content://documents/forbidden"));
        untilIdle();
        assertEquals("unnamed_file: fault_gone", phone.problem());
        ContentResolver.Entry own = new ContentResolver.Entry(new ByteArrayInputStream(MODEL), "passage");
        phone.app.shelf.take(phone.provided("file:///data/data/org.pocketqa.app/files/passage", own));
        untilIdle();
        assertEquals("unnamed_file: fault_gone", phone.problem());
        HeldStream breaks = new HeldStream(MODEL, true);
        breaks.close();
        phone.app.shelf.take(phone.document(breaks, "breaks.tflite"));
        untilIdle();
        assertTrue(phone.problem(), phone.problem().startsWith("breaks.tflite: fault_storage["));
        assertEquals(Collections.emptyList(), phone.privateFiles());
    }

    @Test
    public void aModelThatAnotherAppSentIsUsedOnlyIfTheUserAgrees() throws IOException {
        phone.startWith(ModelBytes.small());
        String before = phone.model(phone.inUse()).sha256();
        phone.app.shelf.takeSent(phone.document(ModelBytes.changed(), "anything.bin"));
        phone.until(() -> phone.app.copier.job().question() != null);
        assertEquals("small-fp32.tflite", phone.app.copier.job().question().facts.fileName());
        assertNotNull(phone.app.shelf.model("small-fp32.tflite")); // so the question says that it replaces one
        phone.app.copier.cancel();
        phone.look();
        assertEquals(before, phone.model(phone.inUse()).sha256());
        phone.app.shelf.takeSent(phone.document(ModelBytes.changed(), "anything.bin"));
        phone.until(() -> phone.app.copier.job().question() != null);
        phone.app.copier.agree();
        phone.until(() -> phone.app.copier.job() == null && phone.app.engine.state().loading == null);
        phone.look();
        assertNotEquals(before, phone.model(phone.inUse()).sha256());
        phone.until(() -> phone.privateFiles().size() == 1);
    }

    @Test
    public void aShareIsAModelByItsTypeOrItsName() {
        assertTrue(Document.isModel("application/octet-stream", null));
        assertTrue(Document.isModel("*/*", Uri.parse("content://files/Model.TFLITE")));
        assertFalse(Document.isModel("text/plain", Uri.parse("content://files/notes.txt")));
        assertFalse(Document.isModel("text/plain", null));
    }
}
