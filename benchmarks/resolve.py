"""Measurements of a comparison, by its options: on this machine, on a remote target, or on a phone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.measure.command_line import command_line_of, note
from benchmarks.measure.conditions import this_host
from benchmarks.measure.cuda import gpu, gpu_models
from benchmarks.measure.hosts import Target
from benchmarks.measure.models import DEMO, choose_baseline, find_models, n_ancestors, toolchain_models
from benchmarks.measure.on_target import EMULATED_QUESTIONS
from benchmarks.measure.plan import FULL, QUICK, Plan, Setting
from benchmarks.measure.run import ModelUnderTest, Run
from benchmarks.options import CompareOptions
from benchmarks.results.files import ResultFile
from benchmarks.results.rows import CPU, CUDA, PADDED, Data, Machine
from qa.base.cli import check_option
from qa.base.errors import BundleError, OptionError
from qa.base.files import check_new_file, check_not_an_input, file_sha256
from qa.base.sampling import evenly
from qa.bundles.hf_import import open_model, output_beside
from qa.data import datasets
from qa.data.squad import Example, read_squad
from qa.runtime.runtimes import available_cores

COMPARE = "benchmarks/compare.py"


def rows_of(options: CompareOptions) -> Path:
    """Return the file of the results; it need not exist."""
    beside = output_beside(options.bundles[0], "rows") if options.bundles else DEMO / "rows"
    return options.rows or beside.with_name("rows.jsonl")


def page_of(options: CompareOptions) -> Path:
    """Return the file of the page. OptionError when it is an input or cannot be written."""
    rows = rows_of(options)
    page = rows.parent / "report.html"
    check_option(rows.name != page.name, "--rows", rows, f"another file: the page is written to {page}")
    check_new_file(page, "--rows")
    check_not_an_input(page, "--rows", [Path(options.data)])
    return page


def page_command(options: CompareOptions, bundles: Sequence[Path]) -> str:
    """Return the command that writes the page of these bundles again."""
    baseline = options.baseline if options.report else None
    given = (tuple(bundles), options.data, baseline, rows_of(options))
    return command_line(CompareOptions(*given, report=True))


def plan_here(options: CompareOptions) -> Plan:
    """Return the lengths, threads and rounds to time on this machine."""
    all_cores = (available_cores(),) if options.target == CPU else ()
    threads = options.threads or tuple(sorted({1, *all_cores}))
    lengths: list[Any] = [int(text) if text.isdecimal() else text for text in options.lengths]
    settings = tuple(Setting(each, batch) for batch in options.batch for each in lengths)
    return replace(QUICK if options.quick else FULL, settings=settings, threads=threads)


def run_on_target(options: CompareOptions, target: Target) -> Run:
    """Return the run of the exports on a remote target."""
    models = exports(options)
    data, questions = read_data(options.data)
    let_all_answer(models, questions)
    n = options.questions or (EMULATED_QUESTIONS if target.emulated else len(questions))
    examples = [questions[i] for i in evenly(len(questions), n)]
    not_known_yet = Machine(target.name)
    file = find_rows(options)
    return Run(file, examples, data, models, target.name, not_known_yet, command_line(options))


def exports(options: CompareOptions, format: str | None = None) -> list[ModelUnderTest]:
    """Return the exports among the bundles, of one format where it is named. BundleError without any."""
    found = find_models(options.bundles)
    models = [m for m in found if m.bundle.format != "pytorch" and format in (None, m.bundle.format)]
    if not models and format:
        raise BundleError(
            "--phone-report: none of the bundles is a TFLite export; name the one whose model.tflite is on "
            "the phone"
        )
    if not models:
        raise BundleError(
            f"--target {options.target}: none of the bundles is an export; name one that export.tflite or "
            "export.onnx made"
        )
    if options.bundles and format is None:
        for model in found:
            if model.bundle.format == "pytorch":
                note(f"{model.name}: skipped, --target {options.target} computes exports only")
    return models


def run_here(options: CompareOptions) -> Run:
    """Return the run on this machine: models that are sure to be measurable, with the baseline first."""
    # Of two bundles that are one, the later one's name is dropped.
    also = [path for path in (options.baseline, options.toolchains) if path is not None]
    models = find_models(options.bundles, also)
    check_lengths(options.lengths, models)
    file = find_rows(options)
    data, examples = read_data(options.data)
    where = this_host().machine
    if options.target == CUDA:
        where = gpu()
        models = gpu_models(models)
    baseline = choose_baseline(models, options.baseline)
    if options.toolchains is not None:
        student = open_model(options.toolchains, format="pytorch").sha256
        models += toolchain_models(next(model for model in models if model.sha256 == student))
    check_names(models)
    let_all_answer(models, examples)
    # The baseline first and parents before their children: F1 retained and agreement look back.
    models.sort(key=lambda m: (m is not baseline, n_ancestors(m, models)))
    return Run(file, examples, data, models, options.target, where, command_line(options), baseline)


def let_all_answer(models: Sequence[ModelUnderTest], questions: Sequence[Example]) -> None:
    """Let every model answer always where every question has an answer: to decline is then always wrong."""
    if all(question.answers for question in questions):
        for model in models:
            model.bundle = replace(model.bundle, settings=model.bundle.settings.in_mode("answering"))


def check_lengths(chosen: Sequence[str], models: Sequence[ModelUnderTest]) -> None:
    """Raise OptionError when a model has no windows of a length that is to be timed, or has one twice."""
    for lengths in map(int, filter(str.isdecimal, chosen)):
        for model in models:
            longest = model.bundle.settings.max_length
            accepted = f"at most {longest}, as long as windows of {model.name} are"
            check_option(lengths <= longest, "--lengths", lengths, accepted)
            is_named_twice = PADDED in chosen and lengths == longest
            accepted = f"{PADDED} or {longest}, which are the same for {model.name}"
            check_option(not is_named_twice, "--lengths", " ".join(chosen), accepted)


def check_names(models: Sequence[ModelUnderTest]) -> None:
    """Raise OptionError when two models have one name: variants are named after their bundle."""
    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"two models would be called {name}; rename the folder of that name")


def read_data(data: str) -> tuple[Data, list[Example]]:
    """Read the questions to score on."""
    path = datasets.resolve(data, "dev")
    name = path.name if data in datasets.NAMED else Path(data).absolute().name  # not of its converted form
    return Data(name, file_sha256(path)), read_squad(path)


def command_line(options: CompareOptions) -> str:
    """Return the command that repeats this comparison."""
    return command_line_of(COMPARE, options, positional="bundles")


def find_rows(options: CompareOptions) -> ResultFile:
    """Open the file of results. OptionError when it cannot be written, or would be the page."""
    page_of(options)  # refused now, not after hours
    return ResultFile(rows_of(options))
