import java.io.File
import org.pocketqa.core.LogitsModel
import org.pocketqa.core.ModelPackage
import org.pocketqa.core.QuestionAnswerer
import org.pocketqa.core.Signature
import org.tensorflow.lite.Interpreter

/** PocketQA over LiteRT's interpreter. Use it on one thread, not the main thread. */
class PocketQa(file: File, threads: Int = 2) : LogitsModel {
    private val model = ModelPackage.read(file) // first: a damaged file crashes the interpreter, and with it the app
    private val interpreter = Interpreter(file, Interpreter.Options().setNumThreads(threads))
    private val answerer = QuestionAnswerer(model, this)

    init {
        try {
            answerer.checkProbe() // throws ProbeException if this phone computes the model wrongly
        } catch (refused: Exception) {
            close()
            throw refused
        }
    }

    /** Returns the answer, cut from the passage; null: no answer in this text. */
    fun ask(passage: String, question: String): String? {
        val best = answerer.ask(passage, question, false) { _, _ -> }.best ?: return null
        return passage.substring(best.start, best.end)
    }

    override fun run(
        signature: Signature, ids: IntArray, mask: IntArray, types: IntArray, starts: FloatArray, ends: FloatArray,
    ) {
        val inputs = ModelPackage.INPUTS.zip(listOf(ids, mask, types).map { arrayOf(it) }).toMap()
        val outputs = ModelPackage.OUTPUTS.zip(listOf(starts, ends).map { arrayOf(it) }).toMap()
        interpreter.runSignature(inputs, outputs, signature.name)
    }

    override fun close() = interpreter.close()
}
