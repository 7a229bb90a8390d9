"""Model card of a bundle, README.md, made from its manifest, settings and files.

Facts that these do not hold are left out or called unknown. A licence is given only when every part of the
model is known. The front matter is YAML (https://huggingface.co/docs/hub/model-cards); each value is
written as JSON, which is valid YAML.
"""

import html
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from qa.base.printable import on_one_line
from qa.bundles.manifest import (
    Ancestor,
    BundleReference,
    CheckpointReference,
    FileReference,
    Manifest,
    Scores,
    Tuning,
)
from qa.bundles.overlap import is_notable
from qa.data.origins import DATA, LICENSE_NAMES, WEIGHTS, Origin
from qa.formats.precision import GROUP_SIZES, PRECISIONS, ROW_BITS
from qa.formats.registry import ADAPTER, CONFIG, FORMATS, WHY_NOT_IN_TRANSFORMERS
from qa.text.settings import QASettings

PROBE = "probe.json"
NOT_SEALED = ""
"""Hash of a bundle whose manifest is not written yet."""
SHOWN_ANCESTORS = 3
EMBEDDINGS = {form: f"in {bits} bits" for form, bits in ROW_BITS.items()}
EMBEDDINGS |= {form: f"product-quantized, a byte for each {n} values" for form, n in GROUP_SIZES.items()}
# Options that name files or say how a run was started.
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
# Options of pruning that one method has, by their beginnings: the others' say nothing of the model.
METHODS_SETTINGS = {
    "structured": ("keep_", "target_", "importance_"),
    "magnitude": ("sparsity", "iterations"),
}
# Options of a teacher that distillation could fine-tune up to version 0.2, beside --teacher-encoder.
TEACHERS_SETTINGS = ("teacher_", "activation")


def model_card(manifest: Manifest, settings: QASettings, weights: Path, name: str) -> str:
    """Return the card of a bundle that is about to be sealed as `name`.

    The folder of `weights` holds all files of the bundle except the card.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = weights.parent
    config = _read(folder / CONFIG)
    tokenizer = _read(folder / "tokenizer_config.json").get("tokenizer_class")
    chain = [manifest.as_ancestor(BundleReference(name=name, sha256=NOT_SEALED)), *manifest.ancestors]
    origins = dict(_origins(chain))
    in_transformers = manifest.format == "pytorch" and "architectures" in config
    probe = {"windows in `probe.json`, as token ids": DATA["embedded"]} if (folder / PROBE).is_file() else {}
    sources: dict[Origin | None, list[str]] = {}
    for part, origin in (origins | probe).items():
        sources.setdefault(origin, []).append(part)
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    as_json = partial(json.dumps, ensure_ascii=False)
    templates.filters |= {"json": as_json, "reference": _reference, "short": _short, "title": _data_title}
    templates.filters |= {"text": _in_markdown, "quoted": _in_quotes, "shell": shlex.quote}
    return templates.get_template("card.md.j2").render(
        name=name,
        is_notable=is_notable,
        manifest=manifest,
        settings=settings,
        front_matter=front_matter(manifest, origins, in_transformers, name, license_of(origins | probe)),
        facts=_facts(manifest, settings, weights),
        chain=chain,
        nearest=_nearest(chain),
        settings_of=_settings_of,
        use_of_data=_use_of_data,
        in_transformers=in_transformers,
        why_not_in_transformers=config.get(
            WHY_NOT_IN_TRANSFORMERS, "its config.json names no class of transformers"
        ),
        packaged=is_zipfile(weights),
        has_config=(folder / CONFIG).is_file(),
        has_adapter=(folder / ADAPTER).is_file(),
        has_byte_pairs=tokenizer == "PreTrainedTokenizerFast",
        sources=sources,
        license=license_of(origins | probe),
        LICENSE_NAMES=LICENSE_NAMES,
    )


def _nearest(chain: Sequence[Ancestor]) -> Sequence[Ancestor]:
    """Return the stages to show, nearest first. They end at a mean, since several models lie behind it."""
    shown = chain[: 1 + SHOWN_ANCESTORS]
    # A stored copy of a mean names the same models as the mean itself, which follows it.
    means = [
        n
        for n, stage in enumerate(shown, start=1)
        if stage.averaged and (n == len(chain) or stage.averaged != chain[n].averaged)
    ]
    return shown[: means[0]] if means else shown


def front_matter(
    manifest: Manifest,
    origins: Mapping[str, Origin | None],
    in_transformers: bool,
    name: str,
    license: str | None,
) -> dict[str, Any]:
    """Return the metadata that a hub reads for its search and its figures; empty values are left out."""
    known = [origin for origin in origins.values() if origin]
    data = [origin for origin in known if origin in DATA.values()]
    return {
        "license": license,
        "language": "en" if data and None not in origins.values() else None,
        "library_name": "transformers" if in_transformers else FORMATS[manifest.format].library,
        "pipeline_tag": "question-answering",
        "base_model": _unique(origin.hub_name for origin in known if origin not in data),
        "datasets": _unique(origin.hub_name for origin in data),
        "tags": ["pocketqa", "extractive-qa", manifest.format, manifest.precision, manifest.stage],
        "model-index": _model_index(manifest.scores, name),
    }


def _unique(names: Iterator[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))


def _model_index(scores: Scores | None, name: str) -> list[dict[str, Any]]:
    """Return the scores of the bundle as the hub reads them; empty without scores on new texts."""
    if scores is None or is_notable(scores.train_overlap):
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


def _facts(manifest: Manifest, settings: QASettings, weights: Path) -> dict[str, str | None]:
    """Return the rows of the first table; None where there is nothing to say."""
    counts = manifest.parameters
    precision = manifest.precision
    no_answer = "never: it always answers"
    if settings.null_threshold is not None:
        no_answer = f"when null score - best score exceeds {settings.null_threshold:.4g}"
        if settings.strict_threshold is not None:
            no_answer += f"; in mode strict, {settings.strict_threshold:.4g}"
    calibration = settings.calibration
    return {
        "parameters": f"{counts.total:,} ({counts.without_embeddings:,} without embeddings)",
        "weights": f"`{weights.name}`, {weights.stat().st_size:,} bytes",
        "precision": f"{precision}: {PRECISIONS[precision].in_words}",
        "in fp32": ", ".join(manifest.structure.fp32_layers if manifest.structure else ()) or None,
        "word embeddings": EMBEDDINGS.get(manifest.embeddings or embedding_form(weights.parent) or ""),
        "runtime": FORMATS[manifest.format].runtime,
        "windows": (
            f"{settings.max_length} tokens, question at most {settings.max_question_length}, step "
            f"{settings.doc_stride}"
        ),
        "answers": f"at most {settings.max_answer_length} tokens",
        "no answer": no_answer,
        "thresholds": _tuned_on(manifest.tuning) if manifest.tuning else None,
        "probabilities": (
            f"temperature {calibration.temperature:.4g}, offset {calibration.offset:.4g}"
            if calibration
            else None
        ),
    }


def _tuned_on(tuning: Tuning) -> str:
    """Say on how many questions the thresholds were tuned, and how surely."""
    low, high = tuning.null_threshold_interval
    files = " and ".join(map(_reference, tuning.files))
    origin = f"questions of {files}" if files else "held-out questions"
    if tuning.of_parent:
        return f"those of the model that it was trained from, tuned on {tuning.n_questions:,} {origin}"
    return (
        f"tuned on {tuning.n_questions:,} {origin} ({tuning.n_unanswerable:,} without an answer, articles: "
        f"{tuning.n_articles}); 95 % interval {low:.3g} to {high:.3g}, bootstrap over {tuning.resampled}"
    )


def _use_of_data(stage: Ancestor) -> str:
    """Return in words what a stage did with its training data."""
    config = stage.config or {}
    if config.get("epochs") != 0:
        return "trained on"
    return "rounded with windows of" if config.get("calibration_windows") else "with held-out questions of"


def _settings_of(stage: Ancestor) -> list[tuple[str, Any]]:
    """Return the options that decided what a stage made."""
    config = stage.config or {}
    hidden: tuple[str, ...] = TEACHERS_SETTINGS if "teacher_encoder" in config else ()
    if (own := str(config.get("method"))) in METHODS_SETTINGS:
        hidden += tuple(start for name, starts in METHODS_SETTINGS.items() if name != own for start in starts)
    return [
        (key, value)
        for key, value in config.items()
        if value is not None and value is not False and key not in NOT_SETTINGS and not key.startswith(hidden)
    ]


def _in_markdown(text: object) -> str:
    """Return a text on one line that adds no HTML, table cell, heading or code span to a Markdown file."""
    return html.escape(on_one_line(str(text)).strip(), quote=False).replace("|", "\\|").replace("`", "'")


def _in_code(text: str) -> str:
    """Return a text to stand in a code span of Markdown, in a table too."""
    return on_one_line(text).replace("|", "\\|").replace("`", "'")


def _in_quotes(text: str) -> str:
    """Return a text to stand in a string of Python or JavaScript, in quotation marks of either kind."""
    return re.sub(r"""(["'\\])""", r"\\\1", on_one_line(text))


def _reference(thing: FileReference | CheckpointReference | BundleReference) -> str:
    """Return name and hash of data, an encoder or a bundle; only the file name of a path (privacy)."""
    sha256 = thing.files.get("model.safetensors") if isinstance(thing, CheckpointReference) else thing.sha256
    path = Path(thing.name)
    name = path.name if path.is_absolute() or ".." in path.parts else str(path)
    return f"`{_in_code(name)}`" + (f" ({_short(sha256)})" if sha256 else "")


def _short(sha256: str) -> str:
    return f"SHA-256 {sha256[:16]}…"


def _origins(chain: Sequence[Ancestor]) -> Iterator[tuple[str, Origin | None]]:
    """Yield every part that a model was made of, with its origin, or None where that is unknown."""
    for stage in chain:
        if stage.encoder:
            yield f"encoder {_reference(stage.encoder)}", WEIGHTS.get(stage.encoder.sha256)
        if stage.source:
            yield f"checkpoint {_reference(stage.source)}, and what that was trained on", None
        if stage.training_data:
            files = stage.training_data.origins
            for file in files:
                part = f", questions of {_reference(file)}" if len(files) > 1 else ""
                yield f"training data {_reference(stage.training_data)}{part}", DATA.get(file.dataset or "")
        if stage.teacher and stage.teacher.lineage:
            yield from _origins(stage.teacher.lineage)
        elif stage.teacher and stage.teacher.sha256 not in [other.sha256 for other in chain]:
            yield f"teacher {_reference(stage.teacher)}", None
    # The origin is not always the last: models that are averaged share one, and their stages follow.
    if not any(stage.encoder or stage.source for stage in chain):
        yield f"what {_in_markdown(chain[-1].name)} started from", None


def license_of(origins: Mapping[str, Origin | None]) -> str | None:
    """Return the strictest licence of the parts; None when the licence of any part is unknown."""
    licenses = {origin.license if origin else None for origin in origins.values()}
    strictest = ("cc-by-sa-4.0", "cc-by-4.0", "apache-2.0")
    return None if None in licenses else next(name for name in strictest if name in licenses)


def embedding_form(folder: Path) -> str | None:
    """Return the form of the quantized embedding table of a PyTorch bundle; None when it is not quantized."""
    return _read(folder / CONFIG).get("word_table")


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
