"""Import a question-answering checkpoint of transformers, from a folder or the Hugging Face hub.

    python -m qa.bundles.hf_import --model deepset/minilm-uncased-squad2 --out runs/minilm

Every stage imports a checkpoint by itself. The bundle is then kept in the cache; its key is the hash of the
checkpoint's files. Only config.json, safetensors and tokenizer files are read, and no code of the checkpoint
is run.
"""

import hashlib
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qa.base.cli import one_line
from qa.base.commands import run_command
from qa.base.errors import BundleError, OptionError
from qa.base.files import check_is_no_device, file_sha256, in_a_folder_here
from qa.base.shipped import is_shipped
from qa.bundles.bundle import MANIFEST, SETTINGS, Bundle, check_new_bundle, new_bundle, open_bundle
from qa.bundles.manifest import CheckpointReference, Manifest, StageRecord, recorded_name
from qa.bundles.next_export import say_next_export
from qa.data.datasets import cache_folder
from qa.formats.registry import CONFIG
from qa.text.settings import QASettings, WindowOptions
from qa.text.tokenization import save_tokenizer

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
STAGE = "checkpoint"
CHECKPOINT_CONFIGS = (CONFIG, "adapter_config.json")
# Raise it when the same files give another bundle.
CACHE_VERSION = 4


@dataclass(frozen=True)
class CheckpointOptions(WindowOptions):
    """Make a bundle of a question-answering checkpoint of Hugging Face transformers."""

    model: str
    """Checkpoint: a folder with config.json, model.safetensors and the tokenizer's files, or a hub name."""
    out: Path
    """Bundle to create."""
    null_threshold: float | None = None
    """No-answer threshold: there is no answer when null score - best score exceeds it. 0 is usual for a model
    trained on SQuAD 2.0. By default the model always answers."""

    def __post_init__(self) -> None:
        QASettings(**self.settings())

    def settings(self) -> dict[str, Any]:
        """Return the settings that were given."""
        return {"null_threshold": self.null_threshold, **self.lengths()}


def open_model(name: str | Path, format: str | None = None) -> Bundle:
    """Open the bundle at a path, or import the checkpoint there or on the hub.

    BundleError or OptionError when it is neither, or of another `format`; DownloadError when the hub cannot
    be reached.
    """
    if not is_checkpoint(name):
        return open_bundle(Path(name), format)
    bundle = cached_bundle(str(name))
    return bundle if format in (None, bundle.format) else open_bundle(bundle.path, format)


def is_checkpoint(name: str | Path) -> bool:
    """Return True for a folder with a checkpoint's or adapter's config that is no bundle, and for a hub name.

    A path into an existing folder is no hub name: a typing error must not fetch a stranger's model.
    """
    path = Path(name)
    if path.exists():
        of_a_bundle = any((path / name).is_file() for name in (MANIFEST, SETTINGS))
        return not of_a_bundle and any((path / name).is_file() for name in CHECKPOINT_CONFIGS)
    is_name = HUB_NAME.fullmatch(str(name)) is not None and path.suffix not in (".tflite", ".onnx")
    return is_name and not in_a_folder_here(path)


def output_beside(name: str | Path, suffix: str) -> Path:
    """Return the default output of a stage: beside the model; in runs/ for hub names and shipped models."""
    path = Path(name)
    if is_shipped(path) or (not path.exists() and is_checkpoint(name)):
        return Path("runs") / f"{path.name}-{suffix}"
    if path.name in ("", ".."):
        path = path.resolve()
    if not path.name:
        raise OptionError(f"--model {name}: the root of a disk is no model; give a model's folder")
    return path.with_name(f"{path.name}-{suffix}")


def cached_bundle(name: str) -> Bundle:
    """Return the cached bundle of a checkpoint; import it when it is not in the cache."""
    try:
        from qa.models.pretrained import checkpoint_folder
    except ModuleNotFoundError as error:
        what = (
            "is a checkpoint" if Path(name).exists() else "no such file or folder here; on the hub it is one"
        )
        raise OptionError(
            f"{name}: {what}, which needs {error.name}: pip install 'pocketqa[train]'"
        ) from None
    folder = checkpoint_folder(name)
    key = [CACHE_VERSION, sorted(source_files(folder).items())]
    digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
    cached = cache_folder() / "checkpoints" / digest / Path(name).resolve().name
    return opened_in_cache(cached, lambda: import_checkpoint(name, folder, cached, {}))


def opened_in_cache(cached: Path, make: Callable[[], Bundle]) -> Bundle:
    """Return a bundle of the cache; `make` makes it when it is not there or is damaged."""
    if cached.exists():
        with suppress(BundleError):
            return open_bundle(cached)
        shutil.rmtree(cached, ignore_errors=True)  # damaged
    try:
        return make()
    except (BundleError, OSError) as error:
        if cached.exists():
            return open_bundle(cached)  # another thread or process was faster
        if isinstance(error, OSError):
            why = f"cannot be written ({one_line(error)})"
            raise OptionError(f"{cached}: {why}; set XDG_CACHE_HOME to a folder that can be") from None
        raise


def source_files(folder: Path) -> dict[str, str]:
    """Return the SHA-256, by name, of the files that decide what a checkpoint computes."""
    from qa.models.pretrained import CHECKPOINT_FILES

    files = [path for path in sorted(folder.iterdir()) if path.name in CHECKPOINT_FILES]
    for path in files:
        check_is_no_device(path)
    return {path.name: file_sha256(path) for path in files}


def import_checkpoint(name: str, folder: Path, out: Path, settings: dict[str, Any]) -> Bundle:
    """Write a bundle of the checkpoint in `folder`; `settings` override the defaults.

    OptionError when the checkpoint cannot be used.
    """
    from qa.models.model import QAModel
    from qa.models.pretrained import load_question_answering

    encoder, head, tokenizer = load_question_answering(name, folder)
    model = QAModel(encoder, "linear")
    model.head.load_state_dict({f"output.{key}": tensor for key, tensor in head.items()})
    defaults = {"max_length": min(QASettings().max_length, encoder.max_length)}
    qa_settings = QASettings(**(defaults | settings))
    encoder.check_length(qa_settings.max_length)
    recorded = StageRecord(
        format="pytorch",
        precision="fp32",
        stage=STAGE,
        source=CheckpointReference(name=recorded_name(name), files=source_files(folder)),
        parameters=model.count_parameters(),
    )
    with new_bundle(out, recorded) as draft:
        model.save_pretrained(draft.path)
        save_tokenizer(tokenizer, draft.path, qa_settings.max_length, encoder.inputs)
        qa_settings.save(draft.path / SETTINGS)
    return draft.bundle


def say_that_it_always_answers(settings: QASettings, manifest: Manifest) -> None:
    """Say on stderr when a model made of an imported checkpoint has no threshold, and how to tune one.

    A checkpoint may have learnt to decline, which its files do not tell. A model trained here has no
    threshold only where all its training questions have an answer.
    """
    imported = manifest.source or any(ancestor.source for ancestor in manifest.ancestors)
    if settings.null_threshold is None and imported:
        print(
            "no-answer threshold: none, so this model always answers, even if it was trained to decline; "
            "tune one with --tune-threshold FILE when you export it, or with python -m export.tune",
            file=sys.stderr,
        )


def import_model(options: CheckpointOptions) -> Bundle:
    """Import the checkpoint and print the size of the bundle."""
    from qa.models.pretrained import checkpoint_folder

    check_new_bundle(options.out)
    if (Path(options.model) / MANIFEST).is_file():
        raise OptionError(f"--model {options.model}: is a bundle already; every command takes it as it is")
    folder = checkpoint_folder(options.model)
    bundle = import_checkpoint(options.model, folder, options.out, options.settings())
    parameters = bundle.manifest.parameters
    print(f"{bundle.path}: {parameters}")
    say_that_it_always_answers(bundle.settings, bundle.manifest)
    say_next_export(bundle)
    return bundle


if __name__ == "__main__":
    run_command("checkpoint")
