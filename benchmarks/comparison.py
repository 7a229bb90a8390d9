"""Steps of `benchmarks/compare.py`: measure here, on a GPU or on a remote target, import a phone's report, or
write the page again.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure.accuracy import measure_accuracy
from benchmarks.measure.command_line import command_line_of, note, relative
from benchmarks.measure.conditions import this_host
from benchmarks.measure.cuda import gpu, gpu_models
from benchmarks.measure.hosts import open_target
from benchmarks.measure.latency import measure_latency
from benchmarks.measure.models import DEMO, choose_baseline, find_models, n_ancestors, toolchain_models
from benchmarks.measure.phone_report import report_results
from benchmarks.measure.plan import FULL, QUICK, Setting
from benchmarks.measure.remote import EMULATED_QUESTIONS, measure_remote
from benchmarks.measure.run import ModelUnderTest, Run, now
from benchmarks.results.files import ResultFile, sound_results
from benchmarks.results.rows import CPU, CUDA, HERE, AnyResult, Data, Machine
from benchmarks.show.groups import Group, collect, newest_order
from benchmarks.show.questions import read_kept
from benchmarks.show.report import Page, write_report
from benchmarks.show.tables import Table, as_text
from benchmarks.show.views import view_tables
from qa.base.cli import check_option, one_line
from qa.base.errors import BundleError, OptionError
from qa.base.files import check_new_file, check_not_an_input, file_sha256
from qa.base.sampling import evenly
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model, output_beside
from qa.data.datasets import resolve
from qa.data.squad import Example, read_squad
from qa.runtime.runtimes import available_cores

if TYPE_CHECKING:
    from benchmarks.compare import CompareConfig


def compare(config: "CompareConfig") -> list[AnyResult]:
    """Do what the options ask for, except --report. Returns this run's results."""
    if config.target not in HERE:
        return measure_on_target(config).new
    if config.phone_report:
        return import_phone_reports(config).new
    return measure_here(config).new


def measure_here(config: "CompareConfig") -> ResultFile:
    """Measure on this machine's CPU or GPU, append the results, print the tables and write the page."""
    host = this_host()  # before this command loads it
    run = prepare(config)
    for model in run.models:
        if model.error is None:
            measure_accuracy(run, model)
        else:
            run.fail(model, model.error)
    if not config.skip_latency:
        all_cores = (available_cores(),) if config.target == CPU else ()
        threads = config.threads or tuple(sorted({1, *all_cores}))
        lengths: list[Any] = [int(text) if text.isdecimal() else text for text in config.lengths]
        settings = tuple(Setting(each, batch) for batch in config.batch for each in lengths)
        plan = replace(QUICK if config.quick else FULL, settings=settings, threads=threads)
        measure_latency(run, plan, host)
    groups = collect(results_to_show(run), [model.sha256 for model in run.models])
    views = ("summary",) if config.skip_latency else ("summary", "latency")
    bundles = list(dict.fromkeys(model.bundle.path for model in run.models))
    here = [group for group in groups if group.target == config.target]
    show(config, groups, [table for view in views for table in view_tables(here, view)], bundles)
    return run.file


def measure_on_target(config: "CompareConfig") -> ResultFile:
    """Run the exports on a remote target, append the results, print its tables and write the page."""
    target = open_target(config.target)
    models = [m for m in find_models(config.bundles) if m.bundle.format != "pytorch"]
    if not models:
        raise BundleError(
            f"--target {target.name}: none of the bundles is an export; name one that export.tflite or "
            "export.onnx made"
        )
    data, questions = read_data(config)
    n = config.questions or (EMULATED_QUESTIONS if target.emulated else len(questions))
    examples = [questions[i] for i in evenly(len(questions), n)]
    not_known_yet = Machine(target.name)
    file = find_rows(config)
    run = Run(file, examples, data, models, target.name, not_known_yet, command_line(config))
    times = not (target.emulated or config.skip_latency)
    measure_remote(run, target, (QUICK if config.quick else FULL) if times else None)
    groups = collect(file.all, newest_order(file.all))
    there = [group for group in groups if group.target == target.name]
    tables = view_tables(there, "arm")
    if not target.emulated:
        tables += view_tables(there, "latency")
    show(config, groups, tables)
    return file


def import_phone_reports(config: "CompareConfig") -> ResultFile:
    """Append the results of all reports, print the phone's tables and write the page.

    Nothing is appended when any report is refused.
    """
    models = [m for m in find_models(config.bundles) if m.bundle.format == "tflite"]
    if not models:
        raise BundleError(
            "--phone-report: none of the bundles is a TFLite export; name the one whose model.tflite is on "
            "the phone"
        )
    file = find_rows(config)
    run = {"command": command_line(config), "date": now()}
    results = [result for path in config.phone_report for result in report_results(path, models, run)]
    for result in results:
        file.append(result)
    groups = collect(file.all, newest_order(file.all))
    phones = {str(result.machine) for result in results}
    on_phones = [group for group in groups if group.on_phone and group.machine in phones]
    show(config, groups, view_tables(on_phones, "latency"))
    return file


def prepare(config: "CompareConfig") -> Run:
    """Open and read all inputs, so that a bad one is refused before anything is measured."""
    # Of two bundles that are one, the later one's name is dropped.
    also = [path for path in (config.baseline, config.toolchains) if path is not None]
    models = find_models(config.bundles, also)
    check_lengths(config, models)
    baseline = choose_baseline(models, config.baseline)
    file = find_rows(config)
    data, examples = read_data(config)
    where = this_host().machine
    if config.toolchains is not None:
        student = open_model(config.toolchains, format="pytorch").sha256
        models += toolchain_models(next(model for model in models if model.sha256 == student))
    if config.target == CUDA:
        where = gpu()
        models = gpu_models(models)
        if baseline is not None:
            baseline = next((model for model in models if model.sha256 == baseline.sha256), None)
            if baseline is None:
                raise OptionError(
                    f"--baseline {config.baseline}: no runtime here computes it on a GPU; "
                    "name a PyTorch bundle"
                )
    check_names(models)
    # The baseline first and parents before their children: F1 retained and agreement look back.
    models.sort(key=lambda m: (m is not baseline, n_ancestors(m, models)))
    return Run(file, examples, data, models, config.target, where, command_line(config), baseline)


def check_lengths(config: "CompareConfig", models: Sequence[ModelUnderTest]) -> None:
    """Raise OptionError when a model has no windows of a length that is to be timed."""
    for lengths in map(int, filter(str.isdecimal, config.lengths)):
        for model in models:
            longest = model.bundle.settings.max_length
            accepted = f"at most {longest}, as long as windows of {model.name} are"
            check_option(lengths <= longest, "--lengths", lengths, accepted)


def check_names(models: Sequence[ModelUnderTest]) -> None:
    """Raise OptionError when two models have one name: variants are named after their bundle."""
    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"two models would be called {name}; rename the folder of that name")


def read_data(config: "CompareConfig") -> tuple[Data, list[Example]]:
    """Read the questions to score on."""
    path = resolve(config.data, "dev")
    return Data(path.name, file_sha256(path)), read_squad(path)


def command_line(config: "CompareConfig") -> str:
    """Return the command that repeats this comparison."""
    return command_line_of("benchmarks/compare.py", config, positional="bundles")


def rows_path(config: "CompareConfig") -> Path:
    """Return the file of results, which need not exist."""
    beside = output_beside(config.bundles[0], "rows") if config.bundles else DEMO / "rows"
    return config.rows or beside.with_name("rows.jsonl")


def find_rows(config: "CompareConfig") -> ResultFile:
    """Open the file of results. OptionError when it or the page could not be written at the end."""
    if config.page is not None:
        check_new_file(config.page, "--page")
    page_path(config)  # refuses an input now, not after hours
    return ResultFile(rows_path(config))


def page_path(config: "CompareConfig") -> Path:
    """Return the file of the page, which need not exist. OptionError when it is an input."""
    path = config.page or rows_path(config).parent / "report.html"
    check_not_an_input(path, "--page", [rows_path(config), Path(config.data)])
    return path


def results_to_show(run: Run) -> list[AnyResult]:
    """Return old and new results of the models: on this data and machine, on phones, on other targets."""
    hashes = {model.sha256 for model in run.models}
    return [
        r
        for r in run.file.all
        if r.bundle_sha256 in hashes
        and (r.data is None or r.data.sha256 == run.data.sha256)
        and (r.target not in HERE or r.machine == run.machine)
    ]


def report_from_results(config: "CompareConfig") -> list[str]:
    """Write the page from existing results. Returns a line about each result or bundle left out.

    Raises ResultsError without any sound result, BundleError when no bundle named has results, OptionError
    for a data file that is not the results'; then nothing is written.
    """
    # The page repeats these lines, and shows no absolute path.
    results, faults = sound_results(Path(relative(rows_path(config))))
    left_out = [f"left out: {one_line(fault)}" for fault in faults]
    if config.bundles:
        results, changed = results_of_bundles(results, [Path(relative(bundle)) for bundle in config.bundles])
        left_out += changed
    write_page(config, collect(results, newest_order(results)), config.bundles, left_out)
    return left_out


def results_of_bundles(
    results: Sequence[AnyResult], paths: Sequence[Path]
) -> tuple[list[AnyResult], list[str]]:
    """Return the results of these bundles and of their variants, and a line about each bundle left out.

    A bundle is left out when it is broken or has changed since. BundleError when none is left.
    """
    unchanged = set()
    faults = []
    for path in paths:
        try:
            bundle = open_model(path)
        except BundleError as error:
            faults.append(f"left out: {one_line(error)}")
            continue
        if any(r.bundle_sha256 == bundle.sha256 for r in results):
            unchanged.add(bundle.sha256)
        else:
            faults.append(_changed(bundle, results))
    if not unchanged:
        raise BundleError(faults[0])
    # What toolchains make of a bundle, and its other precisions on a GPU, have hashes of their own.
    variants = {
        r.bundle_sha256 for r in results if (r.toolchain or r.target == CUDA) and r.parent_sha256 in unchanged
    }
    return [r for r in results if r.bundle_sha256 in unchanged | variants], faults


def _changed(bundle: Bundle, results: Sequence[AnyResult]) -> str:
    """Explain why a bundle has no result."""
    name = bundle.path.resolve().name
    measured = [r.bundle_sha256 for r in results if r.model.split("/")[-1] == name]
    sha256 = bundle.sha256[:16]
    if not measured:
        return f"left out: {bundle.path} ({sha256}): was not measured; compare it first, without --report"
    hashes = f"its hash is {sha256}, in the results {measured[-1][:16]}"
    changed = f"has changed since it was measured ({hashes})"
    return f"left out: {bundle.path}: {changed}; compare it again, without --report"


def show(
    config: "CompareConfig", groups: Sequence[Group], tables: Sequence[Table], bundles: Sequence[Path] = ()
) -> None:
    """Print the tables and write the page."""
    for table in tables:
        print(as_text(table))
    write_page(config, groups, bundles)


def write_page(
    config: "CompareConfig",
    groups: Sequence[Group],
    bundles: Sequence[Path] = (),
    left_out: Sequence[str] = (),
) -> None:
    """Write the page, and say on stderr what it lacks. `bundles` are those that the groups are limited to."""
    rows = rows_path(config)
    path = page_path(config)
    kept, missing = read_kept(config.data, Path(relative(rows)), groups)
    notices = [*left_out, *missing]
    for notice in notices:
        note(notice)
    again = type(config)(tuple(bundles), config.data, rows=rows, report=True, page=config.page)
    write_report(path, Page(groups, kept, notices, command_line(again)))
    print(f"rows: {rows}\nreport: {path}")
