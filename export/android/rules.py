"""Rules of the members of a package, which the app (ModelPackage.java) and the page (package.mjs) have too.

tests/golden/android/package_rules.json has cases for all three.
"""

from typing import Any

from export.android.fields import Fields, wrong
from qa.base.errors import BundleError
from qa.formats.precision import PRECISIONS
from qa.formats.tensors import INPUTS, OUTPUTS
from qa.runtime.probe import Probe, ProbeWindow, check_covers
from qa.text.settings import Calibration, QASettings
from qa.text.tokenization import BERT

# A damaged or hostile file must not fill a phone's memory or time.
MOST_TOKENS = 250_000
LONGEST_WORD = 1000  # the time per word grows with the cube of its length
MOST_SETTINGS = {
    "max_length": 8192,
    "doc_stride": 8192,
    "max_question_length": 8192,
    "max_answer_length": 8192,
    "n_best": 256,
}
SWITCHES = ("clean_text", "handle_chinese_chars", "lowercase")


def check_facts(info: Fields) -> str:
    """Check what is shown of a model; return its precision."""
    info.short_text("name")
    precision = info.short_text("precision")
    if precision not in PRECISIONS:
        raise wrong(info.path("precision"), f"one of {', '.join(PRECISIONS)}", precision)
    info.object("parameters").count("total")
    if info.has("f1"):
        info.number("f1")
    return precision


def read_settings(info: Fields) -> QASettings:
    """Return the settings of a package."""
    json = info.object("settings")
    values: dict[str, Any] = {name: json.integer(name, 1, most) for name, most in MOST_SETTINGS.items()}
    is_null = json.value("null_threshold") is None
    values["null_threshold"] = None if is_null else json.number("null_threshold")
    if json.has("strict_threshold"):
        values["strict_threshold"] = json.number("strict_threshold")
    try:
        if json.has("calibration"):
            calibration = json.object("calibration")
            values["calibration"] = Calibration(
                calibration.number("temperature"), calibration.number("offset")
            )
        return QASettings(**values)
    except ValueError as error:
        raise BundleError(f"{json.where}: {error}; export the model again") from None


def read_lengths(info: Fields, settings: QASettings) -> list[int]:
    """Check tensors and signatures; return the ascending lengths of the signatures, in tokens."""
    for name, supported in (("inputs", INPUTS), ("outputs", OUTPUTS)):
        if info.list(name) != list(supported):
            raise wrong(info.path(name), f"{', '.join(supported)}", info.list(name))
    lengths = [0]
    for item in info.list("signatures"):
        signature = Fields(info.path("signatures"), item)
        lengths.append(signature.integer("length", lengths[-1] + 1, settings.max_length))
        signature.text("name")
        if signature.has("any_length"):
            signature.switch("any_length")
    if lengths[-1] != settings.max_length:
        longest = f"ascending up to the longest window, {settings.max_length}"
        raise wrong(info.path("signatures"), longest, lengths[1:])
    return lengths[1:]


def check_tokenizer(info: Fields, tokens: list[str], where: str) -> None:
    """Check the tokenizer's switches and that the vocabulary fits them; `where` names the vocabulary."""
    normalizer = info.object("normalizer")
    for name in SWITCHES:
        normalizer.switch(name)
    if normalizer.value("strip_accents") is not None:
        normalizer.switch("strip_accents")
    wordpiece = info.object("wordpiece")
    wordpiece.text("continuing_subword_prefix")
    wordpiece.integer("max_input_chars_per_word", 1, LONGEST_WORD)
    if len(tokens) > MOST_TOKENS:
        raise wrong(where, f"at most {MOST_TOKENS} tokens", len(tokens))
    if len(set(tokens)) != len(tokens):
        raise BundleError(f"{where}: has a token twice; export the model again")
    special = info.object("special_tokens")
    for token in BERT.names:
        index = special.integer(token, 0, MOST_TOKENS)
        if index >= len(tokens) or tokens[index] != token:
            raise BundleError(f"{where}: has no {token} at its id; export the model again")


def read_probe(json: Fields, precision: str, lengths: list[int], n_tokens: int) -> Probe:
    """Return the probe of a package, with the tolerance of the package's precision."""
    tolerance = {}
    if json.has("tolerance") and json.object("tolerance").has(precision):
        tolerance[precision] = json.object("tolerance").number(precision)
        if tolerance[precision] <= 0:
            raise wrong(json.path("tolerance"), "above 0", tolerance[precision])
    where = json.path("windows")
    windows = [_probe_window(Fields(where, item), lengths[-1], n_tokens) for item in json.list("windows")]
    check_covers(windows, lengths, json.where)
    return Probe(windows, tolerance)


def _probe_window(json: Fields, longest: int, n_tokens: int) -> ProbeWindow:
    ids = json.integers("input_ids", 0, n_tokens - 1)
    window = ProbeWindow(
        ids,
        json.integer("context_begin", 0, len(ids)),
        json.floats("start_logits"),
        json.floats("end_logits"),
    )
    if not (1 <= len(ids) <= longest and ids.shape == window.start_logits.shape == window.end_logits.shape):
        raise wrong(json.where, f"as long as their logits, from 1 to {longest}", len(ids))
    return window
