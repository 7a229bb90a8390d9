"""Model card of a bundle, README.md, made from its manifest, settings and files.

Facts that these do not hold are left out or called unknown. A licence is given only when every part of the
model is known. The front matter is YAML (https://huggingface.co/docs/hub/model-cards); each value is
written as JSON, which is valid YAML.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap, zip_longest
from pathlib import Path
from typing import Any

from qa.bundles.card_use import embedding_form, how_to_use, in_transformers
from qa.bundles.manifest import (
    Ancestor,
    BundleReference,
    CheckpointReference,
    FileReference,
    Manifest,
    Parity,
    Scores,
    Tuning,
)
from qa.data.origins import DATA, LICENSE_NAMES, WEIGHTS, Origin
from qa.formats.precision import GROUP_SIZES, PRECISIONS, ROW_BITS
from qa.formats.registry import FORMATS
from qa.text.settings import QASettings

PROBE = "probe.json"
NOT_SEALED = ""
"""Hash of a bundle whose manifest is not written yet."""
EMBEDDINGS = {form: f"in {bits} bits" for form, bits in ROW_BITS.items()}
EMBEDDINGS |= {form: f"product-quantized, a byte for each {n} values" for form, n in GROUP_SIZES.items()}
# Options that name files or say how a run was started; the options of the teacher are in its own bundle.
NOT_SETTINGS = (
    "model",
    "models",
    "out",
    "teacher",
    "student_encoder",
    "data",
    "eval_data",
    "cache",
    "resume",
)
TEACHERS_SETTINGS = ("teacher_", "activation")

UNCALIBRATED = "Its score is not a probability of being right."
CALIBRATED = (
    "Its probability holds for questions like the held-out ones. Far from them it is too high or too low."
)
LIMITS = """## Limits

- Extractive: an answer is a piece of the passage, word for word. It can be wrong. {probability}
- It was trained on the data named above. Expect lower accuracy on other domains. It was not examined for bias.
- PocketQA cuts a passage longer than a window into several windows. Other tools truncate it by default."""


def model_card(manifest: Manifest, settings: QASettings, weights: Path, name: str) -> str:
    """Return the card of a bundle that is about to be sealed as `name`.

    The folder of `weights` holds all files of the bundle except the card.
    """
    chain = [manifest.as_ancestor(BundleReference(name=name, sha256=NOT_SEALED)), *manifest.ancestors]
    origins = dict(_origins(chain))
    sections = [
        front_matter(manifest, origins, weights.parent, name),
        _facts(manifest, settings, weights, name),
        "## Made of\n\n" + "\n".join(starmap(_made_of, zip_longest(chain, chain[1:]))),
        _figures(chain, manifest.parity),
        how_to_use(manifest.format, weights.parent, name),
        LIMITS.format(probability=CALIBRATED if settings.calibration else UNCALIBRATED),
        _licence(origins, (weights.parent / PROBE).is_file()),
    ]
    return "\n\n".join(sections) + "\n"


def front_matter(manifest: Manifest, origins: Mapping[str, Origin | None], folder: Path, name: str) -> str:
    """Return the metadata that a hub reads for its search and its figures."""
    known = [origin for origin in origins.values() if origin]
    data = [origin for origin in known if origin in DATA.values()]
    library = FORMATS[manifest.format].library
    if in_transformers(manifest.format, folder):
        library = "transformers"
    values = {
        "license": license_of(origins),
        "language": "en" if data and None not in origins.values() else None,
        "library_name": library,
        "pipeline_tag": "question-answering",
        "base_model": _unique(origin.hub_name for origin in known if origin not in data),
        "datasets": _unique(origin.hub_name for origin in data),
        "tags": ["pocketqa", "extractive-qa", manifest.format, manifest.precision, manifest.stage],
        "model-index": _model_index(manifest.scores, name),
    }
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items() if value]
    return "\n".join(["---", *lines, "---"])


def _unique(names: Iterator[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))


def _model_index(scores: Scores | None, name: str) -> list[dict[str, Any]]:
    """Return the scores of the bundle as the hub reads them; empty when it was not scored."""
    if scores is None:
        return []
    data = scores.data
    dataset = {"type": data.dataset or "file", "name": _data_title(data), "args": {"sha256": data.sha256}}
    metrics = [
        {"type": "exact_match", "name": "EM", "value": round(scores.exact, 2)},
        {"type": "f1", "name": "F1", "value": round(scores.f1, 2)},
    ]
    task = {"type": "question-answering", "name": "Extractive question answering"}
    return [{"name": name, "results": [{"task": task, "dataset": dataset, "metrics": metrics}]}]


def _data_title(data: FileReference) -> str:
    known = DATA.get(data.published or "")
    return f"{data.name} ({known.title})" if known else data.name


def _facts(manifest: Manifest, settings: QASettings, weights: Path, name: str) -> str:
    counts = manifest.parameters
    precision = manifest.precision
    no_answer = "never: it always answers"
    if settings.null_threshold is not None:
        no_answer = f"when null score - best score exceeds {settings.null_threshold:.4g}"
        if settings.strict_threshold is not None:
            no_answer += f"; in mode strict, {settings.strict_threshold:.4g}"
    calibration = settings.calibration
    facts = {
        "parameters": f"{counts.total:,} ({counts.without_embeddings:,} without embeddings)",
        "weights": f"`{weights.name}`, {weights.stat().st_size:,} bytes",
        "precision": f"{precision}: {PRECISIONS[precision].in_words}",
        "word embeddings": EMBEDDINGS.get(manifest.embeddings or embedding_form(weights.parent) or ""),
        "runtime": FORMATS[manifest.format].runtime,
        "windows": f"{settings.max_length} tokens, question at most {settings.max_question_length}, step {settings.doc_stride}",
        "answers": f"at most {settings.max_answer_length} tokens",
        "no answer": no_answer,
        "thresholds": manifest.tuning and _tuned_on(manifest.tuning),
        "probabilities": calibration
        and f"temperature {calibration.temperature:.4g}, offset {calibration.offset:.4g}",
    }
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items() if value is not None)
    intro = "Extractive question answering: given a question and a passage, it answers with a piece of the passage."
    return f"# {name}\n\n{intro} Made by PocketQA; this card says what `manifest.json` holds.\n\n| | |\n| :-- | :-- |\n{rows}"


def _tuned_on(tuning: Tuning) -> str:
    """Say on how many questions the thresholds were tuned, and how surely."""
    low, high = tuning.null_threshold_interval
    origin = f"questions of {_reference(tuning.data)}" if tuning.data else "held-out questions"
    return (
        f"tuned on {tuning.n_questions:,} {origin} ({tuning.n_unanswerable:,} without an answer, articles: "
        f"{tuning.n_articles}); 95 % interval {low:.3g} to {high:.3g}, bootstrap over {tuning.resampled}"
    )


def _made_of(stage: Ancestor, before: Ancestor | None) -> str:
    """Describe one stage in a line; `before` is the stage that it started from."""
    if before and (stage.stage, stage.config) == (before.stage, before.config):
        return f"- **{stage.name}**, same model as the next entry, stored in another precision"
    parts = [f"- **{stage.name}**", f"stage {stage.stage or 'unknown'}"]
    if stage.sha256 != NOT_SEALED:
        parts.append(f"bundle {_short(stage.sha256)}")
    if stage.encoder:
        parts.append(f"from encoder {_reference(stage.encoder)}")
    if stage.source:
        parts.append(f"from source {_reference(stage.source)}")
    if stage.teacher:
        parts.append(f"taught by {_reference(stage.teacher)}")
    if stage.averaged:
        *first, last = map(_reference, stage.averaged)
        parts.append(f"the mean of {', '.join(first)} and {last}")
    if stage.training_data:
        parts.append(f"trained on {_reference(stage.training_data)}")
    if stage.qat:
        parts.append(f"quantization-aware training in {stage.qat.precision}")
    shown = {
        key: value
        for key, value in (stage.config or {}).items()
        if value not in (None, False) and key not in NOT_SETTINGS
    }
    settings = [f"{key} {value}" for key, value in shown.items() if not key.startswith(TEACHERS_SETTINGS)]
    return ", ".join(parts) + (f"; settings: {', '.join(settings)}" if settings else "")


def _reference(thing: FileReference | CheckpointReference | BundleReference) -> str:
    """Return name and hash of data, an encoder or a bundle; only the file name of a path (privacy)."""
    sha256 = thing.files.get("model.safetensors") if isinstance(thing, CheckpointReference) else thing.sha256
    path = Path(thing.name)
    name = path.name if path.is_absolute() or ".." in path.parts else str(path)
    return f"`{name}`" + (f" ({_short(sha256)})" if sha256 else "")


def _short(sha256: str) -> str:
    return f"SHA-256 {sha256[:16]}…"


def _figures(chain: Sequence[Ancestor], parity: Parity | None) -> str:
    made = chain[0]
    lines = ["## Figures", ""]
    if made.scores is None:
        lines += [
            f"{made.name} itself was not scored when it was made; `python -m qa.evaluate` scores it.",
            "",
        ]
    if made.qat:
        lines += [
            f"Its weights are those of an {made.qat.precision} export. Its scores were measured with float "
            "activations.",
            "",
        ]
    if parity:
        lines += [
            f"On {parity.n_windows} real windows its logits differed from those of its PyTorch parent by "
            f"at most {parity.relative_difference:.2g} of their deviation; "
            f"{parity.equal_spans:.1%} of the best spans were equal.",
            "",
        ]
    scored = [(stage.name, stage.scores) for stage in chain if stage.scores]
    if scored:
        lines += [
            "| model | data | questions | articles | EM | F1 |",
            "| :-- | :-- | --: | --: | --: | --: |",
        ]
        lines += [_scores_row(name, scores) for name, scores in scored]
        lines += [
            "",
            "In percent, as the official script of SQuAD counts. Intervals: 95 %, bootstrap over articles.",
        ]
        lines += _calibration(made.scores)
    return "\n".join(lines).strip()


def _calibration(scores: Scores | None) -> list[str]:
    """Return the calibration errors of a scored and calibrated model."""
    if scores is None or scores.calibration_error is None:
        return []
    before = f", {scores.uncalibrated_calibration_error:.1f} before calibration"
    return [
        "",
        f"Expected calibration error of its probabilities on {scores.data.name}: {scores.calibration_error:.1f} "
        f"percentage points{before}.",
    ]


def _scores_row(name: str, scores: Scores) -> str:
    n_articles = "–" if scores.n_articles is None else str(scores.n_articles)
    cells = [name, _data_title(scores.data), f"{scores.total:,}", n_articles]
    for value, ends in ((scores.exact, scores.exact_interval), (scores.f1, scores.f1_interval)):
        cells.append(f"{value:.2f}" + (f" ({ends[0]:.1f} to {ends[1]:.1f})" if ends else ""))
    return "| " + " | ".join(cells) + " |"


def _origins(chain: Sequence[Ancestor]) -> Iterator[tuple[str, Origin | None]]:
    """Yield every part that a model was made of, with its origin, or None where that is unknown."""
    for stage in chain:
        if stage.encoder:
            yield f"encoder {_reference(stage.encoder)}", WEIGHTS.get(stage.encoder.sha256)
        if stage.source:
            yield f"checkpoint {_reference(stage.source)}, and what that was trained on", None
        if stage.training_data:
            known = DATA.get(stage.training_data.published or "")
            yield f"training data {_reference(stage.training_data)}", known
        if stage.teacher and stage.teacher.lineage:
            yield from _origins(stage.teacher.lineage)
        elif stage.teacher and stage.teacher.sha256 not in [other.sha256 for other in chain]:
            yield f"teacher {_reference(stage.teacher)}", None
    if not (chain[-1].encoder or chain[-1].source):
        yield f"what {chain[-1].name} started from", None


def license_of(origins: Mapping[str, Origin | None]) -> str | None:
    """Return the strictest licence of the parts; None when the licence of any part is unknown."""
    licenses = {origin.license if origin else None for origin in origins.values()}
    strictest = ("cc-by-sa-4.0", "cc-by-4.0", "apache-2.0")
    return None if None in licenses else next(name for name in strictest if name in licenses)


WHOLE_KNOWN = "The whole has the strictest licence of its parts: {}."
WHOLE_UNKNOWN = """So no licence is given for the whole. Find out what is unknown before you pass this model on. A model
trained on SQuAD, or on questions made from it, must name SQuAD (CC BY-SA 4.0)."""


def _licence(origins: Mapping[str, Origin | None], has_probe: bool) -> str:
    parts = dict(origins)
    whole = license_of(parts)
    if has_probe:
        parts["windows in `probe.json`, as token ids"] = DATA["embedded"]
    lines = ["## Licence and attribution", ""]
    for part, origin in parts.items():
        known = (
            f"{origin.title}, {LICENSE_NAMES[origin.license]}: {origin.credit}"
            if origin
            else "licence unknown to PocketQA"
        )
        lines.append(f"- {part}: {known}")
    return "\n".join([*lines, "", WHOLE_KNOWN.format(LICENSE_NAMES[whole]) if whole else WHOLE_UNKNOWN])
