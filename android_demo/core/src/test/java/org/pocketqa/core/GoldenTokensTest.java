package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.Test;

/** Tokens and offsets of the training tokenizer, for a few thousand real and generated texts over all of Unicode. */
public class GoldenTokensTest {
    @Test
    public void everyTextHasTheTrainingTokenizersIdsAndOffsets() throws Exception {
        WordPieceTokenizer tokenizer = ModelPackage.read(ModelFiles.good()).tokenizer();
        List<?> rows = (List<?>) Golden.json("android/tokens.json.gz");
        assertTrue("texts: " + rows.size(), rows.size() > 1500);
        for (Object row : rows) {
            Map<?, ?> wanted = (Map<?, ?>) row;
            String text = (String) wanted.get("text");
            Tokens tokens = tokenizer.encode(text);
            List<Integer> ids = new ArrayList<>();
            List<Integer> starts = new ArrayList<>();
            List<Integer> ends = new ArrayList<>();
            for (int i = 0; i < tokens.size(); i++) {
                ids.add(tokens.id(i));
                starts.add(text.codePointCount(0, tokens.start(i)));
                ends.add(text.codePointCount(0, tokens.end(i)));
            }
            String shown = Json.write(text);
            assertEquals("ids of " + shown, integers(wanted.get("ids")), ids);
            assertEquals("starts of " + shown, integers(wanted.get("starts")), starts);
            assertEquals("ends of " + shown, integers(wanted.get("ends")), ends);
        }
    }

    @Test
    public void anAnswerKeepsTheAccentBehindItsLastLetter() throws Exception {
        WordPieceTokenizer tokenizer = ModelPackage.read(ModelFiles.good()).tokenizer();
        for (Object row : (List<?>) Golden.json("android/accents.json")) {
            Map<?, ?> recorded = (Map<?, ?>) row;
            String text = (String) recorded.get("text");
            Tokens tokens = tokenizer.encodePassage(text, null);
            List<Integer> ends = new ArrayList<>();
            for (int i = 0; i < tokens.size(); i++) {
                ends.add(text.codePointCount(0, tokens.end(i)));
            }
            assertEquals(Json.write(text), integers(recorded.get("answer_ends")), ends);
        }
    }

    private static List<Integer> integers(Object numbers) {
        List<Integer> integers = new ArrayList<>();
        for (Object number : (List<?>) numbers) {
            integers.add(((Double) number).intValue());
        }
        return integers;
    }
}
