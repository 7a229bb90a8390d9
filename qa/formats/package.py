"""Members of a packaged file, as types with bounds.

The exporter reads its own files with them, and `pocketqa.load` the files of others. The app
(ModelPackage.java) and the page (package.mjs) have parsers of their own. Both open whatever passes here.
"""

import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from msgspec import Meta, Struct

from qa.formats.precision import PRECISIONS
from qa.formats.tensors import INPUTS, OUTPUTS
from qa.formats.tflite import ANY_LENGTH, signature_name

PACKAGE_FORMAT = 2
# Tables of characters.json
RANGES = ("removed", "spaces", "ideographs", "marks", "whitespace", "punctuation")
MAPPINGS = ("decompositions", "lowercase")
COMBINING = "combining"
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
LONGEST_NAME = 100  # on a phone's screen
LONGEST_MAPPING = 18  # the longest compatibility decomposition that Unicode has; canonical ones are shorter
# Characters that could rearrange or split a line on a screen: control, format and line-end characters, and
# halves of surrogate pairs. It is a list, because Unicode's categories differ between versions.
UNSHOWABLE = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
LARGEST = sys.float_info.max
LARGEST_FLOAT32 = (2 - 2**-23) * 2.0**127

Name = Annotated[str, Meta(max_length=LONGEST_NAME, pattern=rf"\A[^{UNSHOWABLE.pattern[1:-1]}]*\Z")]
Precision = Annotated[str, Meta(pattern=rf"\A({'|'.join(PRECISIONS)})\Z")]
Finite = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
# With gt=0 msgspec compares with the least denormal, which equals 0 where a library flushes them to zero.
Positive = Annotated[float, Meta(ge=sys.float_info.min, le=LARGEST)]
Float32 = Annotated[float, Meta(ge=-LARGEST_FLOAT32, le=LARGEST_FLOAT32)]
Count = Annotated[int, Meta(ge=0, le=10**15)]
Length = Annotated[int, Meta(ge=1, le=8192)]
TokenId = Annotated[int, Meta(ge=0, lt=MOST_TOKENS)]
CodePoint = Annotated[int, Meta(ge=0, le=0x10FFFF)]
Range = tuple[CodePoint, CodePoint]
RangeOfClass = tuple[CodePoint, CodePoint, Annotated[int, Meta(ge=1, le=254)]]
Mapping = Annotated[list[CodePoint], Meta(min_length=2, max_length=1 + LONGEST_MAPPING)]


class Calibration(Struct):
    """Temperature and offset of the probabilities."""

    temperature: Positive
    offset: Finite


class Settings(Struct):
    """Settings of a model's task, `qa.text.settings.QASettings`."""

    max_length: Length
    doc_stride: Length
    max_question_length: Length
    max_answer_length: Length
    n_best: Annotated[int, Meta(ge=1, le=MOST_SETTINGS["n_best"])]
    null_threshold: Finite | None
    strict_threshold: Finite | None = None
    calibration: Calibration | None = None


class Signature(Struct, frozen=True, omit_defaults=True):
    """A way to call the file: one graph, and the window lengths that it takes."""

    name: Annotated[str, Meta(pattern=r"\Aqa[0-9]*\Z")]
    length: Length
    """Tokens of the longest window; the only length unless `any_length`."""
    any_length: bool = False
    """True where the inputs can be resized to any length up to `length`."""


def fixed_signatures(lengths: Sequence[int]) -> list[Signature]:
    """Return a signature for each length."""
    return [Signature(signature_name(length), length) for length in lengths]


def any_length_signature(longest: int) -> Signature:
    """Return the signature of a file that takes windows of any length up to the longest."""
    return Signature(ANY_LENGTH, longest, any_length=True)


class Normalizer(Struct, forbid_unknown_fields=True):
    """Switches of BertNormalizer: the app and the page know these only."""

    clean_text: bool
    handle_chinese_chars: bool
    lowercase: bool
    strip_accents: bool | None


class WordPiece(Struct, forbid_unknown_fields=True):
    """Settings of WordPiece: the app and the page know these only."""

    continuing_subword_prefix: str
    max_input_chars_per_word: Annotated[int, Meta(ge=1, le=LONGEST_WORD)]


class Parameters(Struct):
    """Number of parameters."""

    total: Count
    without_embeddings: Count


class Model(Struct):
    """Bytes before the package."""

    bytes: Count
    sha256: str


class Info(Struct):
    """File qa.json."""

    format: Annotated[int, Meta(ge=PACKAGE_FORMAT, le=PACKAGE_FORMAT)]
    name: Name
    precision: Precision
    parameters: Parameters
    settings: Settings
    inputs: list[str]
    outputs: list[str]
    signatures: list[Signature]
    special_tokens: dict[str, TokenId]
    normalizer: Normalizer
    wordpiece: WordPiece
    model: Model

    def __post_init__(self) -> None:
        if (tuple(self.inputs), tuple(self.outputs)) != (INPUTS, OUTPUTS):
            raise ValueError(f"inputs and outputs must be {INPUTS} and {OUTPUTS}")
        lengths = self.lengths
        if not lengths or lengths != sorted({*lengths, self.settings.max_length}):
            raise ValueError(f"signatures must ascend up to the longest window, {self.settings.max_length}")

    @property
    def lengths(self) -> list[int]:
        """Length of each signature, in tokens."""
        return [signature.length for signature in self.signatures]


class Characters(Struct):
    """File characters.json, as `export.android.characters.character_tables` describes it."""

    tokenizers: str
    removed: list[Range]
    spaces: list[Range]
    ideographs: list[Range]
    marks: list[Range]
    whitespace: list[Range]
    punctuation: list[Range]
    combining: list[RangeOfClass]
    decompositions: list[Mapping]
    lowercase: list[Mapping]

    def __post_init__(self) -> None:
        for name in (*RANGES, COMBINING):
            ends = [(first, last) for first, last, *_ in getattr(self, name)]
            ascend = all(last < first for (_, last), (first, _) in pairwise(ends))
            if not ascend or any(first > last for first, last in ends):
                raise ValueError(f"ranges of {name} are out of order")
        for name in MAPPINGS:
            if not all(before[0] < after[0] for before, after in pairwise(getattr(self, name))):
                raise ValueError(f"code points of {name} are out of order")


class ProbeWindow(Struct):
    """Recorded window: its tokens, where its context begins, and the logits of PyTorch, (T,) each."""

    input_ids: Annotated[list[Annotated[int, Meta(ge=0, lt=2**31)]], Meta(min_length=1)]
    context_begin: Annotated[int, Meta(ge=0)]
    start_logits: list[Float32]
    end_logits: list[Float32]

    def __post_init__(self) -> None:
        if not self.context_begin <= len(self.input_ids) == len(self.start_logits) == len(self.end_logits):
            raise ValueError("a window and its logits have other lengths")


class Probe(Struct):
    """File probe.json, of `qa.runtime.probe.write_probe`."""

    windows: Annotated[list[ProbeWindow], Meta(min_length=1)]
    tolerance: dict[str, Positive] = {}
    """Largest root-mean-square difference by precision, in standard deviations of the logits within a
    window."""

    def allowed(self, precision: str) -> float:
        """Return the tolerance for a file of this precision, at most that of the precision itself."""
        most = PRECISIONS[precision].probe_tolerance
        return min(most, self.tolerance.get(precision, most))
