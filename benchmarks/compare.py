"""Compare bundles: size, accuracy, F1 retained against the teacher, and latency of the very same files.

    python benchmarks/compare.py                            # all that make demo left in runs/demo
    python benchmarks/compare.py runs/teacher runs/student-tflite-int8 --data dev-v1.1.json
    python benchmarks/compare.py runs/student-tflite-int8 --target ssh:pi@raspberrypi.local
    python benchmarks/compare.py runs/student-tflite-int8 --target qemu:neoverse-n1
    python benchmarks/compare.py runs/student-tflite-int8 \\
        --phone-log pixel8.log --phone "Pixel 8, Android 16, Tensor G3"
    python benchmarks/compare.py --report \\
        --rows benchmarks/results/amd-epyc-2core.jsonl --data dev-v1.1.json.gz

Every measurement is appended to a file of results; tables go to stdout and an HTML page beside the file.
--target has exported bundles computed on another machine. The last two forms measure nothing: one takes what
was measured on a phone as results, logs of LiteRT's benchmark tool or the JSON that the app's benchmark
shares, the other writes the page again.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare_options import PHONE_EXAMPLE, CompareConfig
from benchmarks.measure.accuracy import measure_accuracy
from benchmarks.measure.command_line import command_line_of, note, relative
from benchmarks.measure.conditions import machine, this_host
from benchmarks.measure.hosts import open_target
from benchmarks.measure.latency import Timing, measure_latency
from benchmarks.measure.models import (
    DEMO,
    ModelUnderTest,
    Run,
    choose_baseline,
    find_models,
    gpu,
    gpu_models,
    n_ancestors,
    now,
    peer_models,
)
from benchmarks.measure.phone_log import phone_results
from benchmarks.measure.phone_report import is_report, report_results
from benchmarks.measure.plan import FULL, QUICK, Plan, Setting
from benchmarks.measure.remote import EMULATED_QUESTIONS, measure_elsewhere, unknown_machine
from benchmarks.results.rows import (
    CPU,
    CUDA,
    EXIT_SOME_FAILED,
    HERE,
    AnyResult,
    Data,
    Machine,
    ResultFile,
    exit_if_failed,
    sound_results,
)
from benchmarks.show.groups import Group, collect, newest_order
from benchmarks.show.questions import read_kept
from benchmarks.show.report import Page, write_report
from benchmarks.show.tables import Table, as_text
from benchmarks.show.views import view_tables
from qa.base.cli import check_option, one_line, run_command
from qa.base.errors import BundleError, OptionError
from qa.base.files import check_new_file, check_not_an_input, file_sha256
from qa.base.sampling import evenly
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model, output_beside
from qa.data.datasets import resolve
from qa.data.squad import Example, read_squad
from qa.runtime.runtimes import available_cores


def command_line(config: CompareConfig) -> str:
    """The command that repeats this comparison."""
    return command_line_of("benchmarks/compare.py", config, positional="bundles")


def rows_file(config: CompareConfig) -> Path:
    """The file of results, which need not exist."""
    beside = output_beside(config.bundles[0], "rows") if config.bundles else DEMO / "rows"
    return config.rows or beside.with_name("rows.jsonl")


def find_rows(config: CompareConfig) -> ResultFile:
    """The file of results. OptionError when it or the page could not be written at the end."""
    if config.page is not None:
        check_new_file(config.page, "--page")
    return ResultFile(rows_file(config))


def check_lengths(config: CompareConfig, models: Sequence[ModelUnderTest]) -> None:
    """OptionError when a model has no windows of a length that is to be timed."""
    for lengths in map(int, filter(str.isdecimal, config.lengths)):
        for model in models:
            longest = model.bundle.settings.max_length
            wanted = f"at most {longest}, as long as windows of {model.name} are"
            check_option(lengths <= longest, "--lengths", lengths, wanted)


def check_names(models: Sequence[ModelUnderTest]) -> None:
    """OptionError when two models have one name: other precisions and peers are called after the bundle that
    they are of."""
    names = [model.name for model in models]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"two models would be called {twice[0]}; rename the folder of that name")


def read_data(config: CompareConfig) -> tuple[Data, list[Example]]:
    """The questions to score on, and which file they are of."""
    path = resolve(config.data, "dev")
    return Data(path.name, file_sha256(path)), read_squad(path)


def prepare(config: CompareConfig) -> Run:
    """Open and read all there is to read, so that a bad input is refused before anything is measured."""
    # Named ones come first: of two bundles that are one, the other's name is dropped.
    also = [path for path in (config.baseline, config.peers) if path is not None]
    models = find_models(config.bundles, also)
    check_lengths(config, models)
    baseline = choose_baseline(models, config.baseline)
    file = find_rows(config)
    data, examples = read_data(config)
    if config.peers is not None:
        student = open_model(config.peers, format="pytorch").sha256
        models += peer_models(next(model for model in models if model.sha256 == student))
    if config.target == CUDA:
        models = gpu_models(models)
        chosen = None if baseline is None else baseline.sha256
        baseline = next((model for model in models if model.sha256 == chosen), None)
        if chosen is not None and baseline is None:
            raise OptionError(
                f"--baseline {config.baseline}: no runtime here computes it on a GPU; name a PyTorch bundle"
            )
    check_names(models)
    # The baseline first and parents before their children: F1 retained and agreement look back.
    models.sort(key=lambda m: (m is not baseline, n_ancestors(m, models)))
    where = gpu() if config.target == CUDA else machine()
    return Run(file, examples, data, models, config.target, where, command_line(config), baseline)


def take_phone_logs(config: CompareConfig) -> ResultFile:
    """Append a result for each run in the logs, print the phone's table and write the report over all
    results.

    Nothing is appended when any log is refused.
    """
    models = [m for m in find_models(config.bundles) if m.bundle.format == "tflite"]
    if not models:
        raise BundleError(
            "--phone-log: none of the bundles is a TFLite export; name the one whose model.tflite is on the "
            "phone"
        )
    file = find_rows(config)
    run: dict[str, Any] = {"command": command_line(config), "date": now()}
    if config.phone is not None:
        run["machine"] = Machine(config.phone)
    for result in [result for path in config.phone_log for result in _results_of_log(path, models, run)]:
        file.append(result)
    groups = collect(file.all, newest_order(file.all))
    phones = {str(result.machine) for result in file.new}
    own = [group for group in groups if group.on_phone and group.machine in phones]
    show(config, groups, view_tables(own, "latency"))
    return file


def _results_of_log(path: Path, models: Sequence[ModelUnderTest], run: dict[str, Any]) -> Sequence[AnyResult]:
    if is_report(path):
        return report_results(path, models, run)
    if "machine" not in run:
        raise OptionError(
            f"--phone must be given with {path}, which does not name its phone: {PHONE_EXAMPLE}"
        )
    return phone_results(path, models, run)


def measure_on_target(config: CompareConfig) -> ResultFile:
    """Have the exports computed on another target, append the results, print its table and write the report
    over all results."""
    target = open_target(config.target)
    models = [m for m in find_models(config.bundles) if m.bundle.format != "pytorch"]
    if not models:
        raise BundleError(
            f"--target {target.name}: none of the bundles is an export; name one that export.tflite.stage "
            "or export.onnx.stage made"
        )
    data, questions = read_data(config)
    n = config.questions or (EMULATED_QUESTIONS if target.emulated else len(questions))
    examples = [questions[i] for i in evenly(len(questions), n)]
    run = Run(
        find_rows(config), examples, data, models, target.name, unknown_machine(target), command_line(config)
    )
    measure_elsewhere(run, target, None if target.emulated or config.skip_latency else plan_of(config))
    groups = collect(run.file.all, newest_order(run.file.all))
    own = [group for group in groups if group.target == target.name]
    show(config, groups, view_tables(own, "arm") + ([] if target.emulated else view_tables(own, "latency")))
    return run.file


def plan_of(config: CompareConfig) -> Plan:
    """How much is timed."""
    return QUICK if config.quick else FULL


def main(config: CompareConfig) -> list[AnyResult]:
    """Measure, append the results, print the tables and write the report. Returns this run's results."""
    if config.target not in HERE:
        return measure_on_target(config).new
    if config.phone_log:
        return take_phone_logs(config).new
    host = this_host()  # before this command loads it
    run = prepare(config)
    for model in run.models:
        if model.error is None:
            measure_accuracy(run, model)
        else:
            run.fail(model, model.error)
    if not config.skip_latency:
        settings = [Setting(_lengths(text), batch) for batch in config.batch for text in config.lengths]
        threads = config.threads or tuple(sorted({1, *([available_cores()] if config.target == CPU else [])}))
        measure_latency(Timing(run, settings, plan_of(config), threads, host))
    groups = collect(shown_results(run), [model.sha256 for model in run.models])
    views = ("summary",) if config.skip_latency else ("summary", "latency")
    bundles = list(dict.fromkeys(model.bundle.path for model in run.models))
    here = [group for group in groups if group.target == config.target]
    show(config, groups, [table for view in views for table in view_tables(here, view)], bundles)
    return run.file.new


def _lengths(text: str) -> Any:
    return int(text) if text.isdecimal() else text


def shown_results(run: Run) -> list[AnyResult]:
    """Old and new results of the models compared: on this data and machine, on phones, and on other targets
    with this data."""
    measured = {model.sha256 for model in run.models}
    found = [r for r in run.file.all if r.bundle_sha256 in measured]
    found = [r for r in found if r.data is None or r.data.sha256 == run.data.sha256]
    return [r for r in found if r.target not in HERE or r.machine == run.machine]


def report_from_rows(config: CompareConfig) -> list[str]:
    """Write the page from the results that exist, measuring nothing. Returns a line about each result or
    bundle left out.

    Raises ResultsError without any sound result, BundleError when no bundle named has results, OptionError
    for a data file that is not the results'; then nothing is written.
    """
    # The page repeats what is said of it, and shows no absolute path.
    results, faults = sound_results(Path(relative(rows_file(config))))
    left_out = [f"left out: {one_line(fault)}" for fault in faults]
    if config.bundles:
        results, changed = results_of_bundles(results, [Path(relative(bundle)) for bundle in config.bundles])
        left_out += changed
    write_page(config, collect(results, newest_order(results)), config.bundles, left_out)
    return left_out


def results_of_bundles(
    results: Sequence[AnyResult], paths: Sequence[Path]
) -> tuple[list[AnyResult], list[str]]:
    """The results of these bundles and of what other tools made of them, and a line about each bundle that is
    broken or has changed since. BundleError when none is left.
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
    # What peers make of a bundle, and its other precisions on a GPU, have hashes of their own.
    made = {r.bundle_sha256 for r in results if (r.peer or r.target == CUDA) and r.parent_sha256 in unchanged}
    return [r for r in results if r.bundle_sha256 in unchanged | made], faults


def _changed(bundle: Bundle, results: Sequence[AnyResult]) -> str:
    """What is wrong with a bundle that no result is of."""
    name = bundle.path.resolve().name
    measured = [r.bundle_sha256 for r in results if r.model.split("/")[-1] == name]
    if not measured:
        return (
            f"left out: {bundle.path} ({bundle.sha256[:16]}): was not measured; compare it first, without "
            "--report"
        )
    changed = (
        f"has changed since it was measured (its hash is {bundle.sha256[:16]}, in the rows "
        f"{measured[-1][:16]})"
    )
    return f"left out: {bundle.path}: {changed}; compare it again, without --report"


def write_page(
    config: CompareConfig, groups: Sequence[Group], bundles: Sequence[Path] = (), left_out: Sequence[str] = ()
) -> None:
    """Write the page, and say on stderr what it lacks. `bundles` are those that the groups are limited to, if
    they are."""
    rows_path = rows_file(config)
    path = config.page or rows_path.with_name("report.html")
    check_not_an_input(path, "--page", [rows_path, Path(config.data)])
    kept, missing = read_kept(config.data, Path(relative(rows_path)), groups)
    notices = [*left_out, *missing]
    for notice in notices:
        note(notice)
    again = CompareConfig(tuple(bundles), config.data, rows=rows_path, report=True, page=config.page)
    write_report(path, Page(groups, kept, notices, command_line(again)))
    print(f"rows: {rows_path}\nreport: {path}")


def show(
    config: CompareConfig, groups: Sequence[Group], tables: Sequence[Table], bundles: Sequence[Path] = ()
) -> None:
    """Print the tables and write the page."""
    for table in tables:
        print(as_text(table))
    write_page(config, groups, bundles)


def command(config: CompareConfig) -> None:
    """`main`, or with --report the page alone, for the command line: exit code 1 when a bundle failed or was
    left out."""
    if not config.report:
        exit_if_failed(main(config))
    elif report_from_rows(config):
        sys.exit(EXIT_SOME_FAILED)


if __name__ == "__main__":
    run_command(command)
