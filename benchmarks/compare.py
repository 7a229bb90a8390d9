"""Compare bundles: size, accuracy, F1 retained against the teacher, and latency of the very same files.

    python benchmarks/compare.py                            # all that make demo left in runs/demo
    python benchmarks/compare.py runs/teacher runs/student-tflite-int8 --data dev-v1.1.json
    python benchmarks/compare.py runs/student-tflite-int8 --target ssh:pi@raspberrypi.local
    python benchmarks/compare.py runs/student-tflite-int8 --target qemu:neoverse-n1
    python benchmarks/compare.py runs/student-tflite-int8 --phone-log pixel8.log --phone "Pixel 8, Android 16, Tensor G3"
    python benchmarks/compare.py --report --rows benchmarks/results/amd-epyc-2core.jsonl --data dev-v1.1.json.gz

Every measurement is appended to a file of rows; a table goes to stdout and an HTML page beside the rows. --target has exported
bundles computed on another machine. The last two forms measure nothing: one takes the logs of LiteRT's benchmark tool, run on
a phone, as rows, the other writes the page again.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command_line import command_line_of, note, relative
from benchmarks.compare_options import CompareConfig
from benchmarks.measure import Comparison, measure_subject_accuracy
from benchmarks.peer_subjects import peer_subjects
from benchmarks.phone import phone_rows
from benchmarks.report.questions import read_kept
from benchmarks.report.sound_rows import rows_of_bundles, sound_rows
from benchmarks.rows import CPU, CUDA, HERE, OK, Row, append_row, machine, make_row, rows_so_far
from benchmarks.subjects import DEMO, Subject, choose_baseline, find_subjects, n_ancestors
from benchmarks.table import as_text
from benchmarks.targets.cuda import cuda_subjects, gpu_name
from benchmarks.targets.on_target import EMULATED_QUESTIONS, measure_all, sample_examples
from benchmarks.targets.target import open_target
from benchmarks.timing.conditions import this_host
from benchmarks.timing.latency import FULL, QUICK, Plan, Setting
from benchmarks.timing.passes import Timing, measure_latency
from benchmarks.views.cells import Table
from benchmarks.views.groups import Group, collect, newest_order
from benchmarks.views.tables import view_tables
from qa.checkpoints import open_model, output_beside
from qa.cli import check_option, run_command
from qa.datasets import resolve
from qa.errors import BundleError, OptionError
from qa.files import check_new_file, check_not_an_input
from qa.runtimes import available_cores
from qa.squad import file_sha256, read_squad

EXIT_SOME_FAILED = 1


def command_line(config: CompareConfig) -> str:
    """The command that repeats this comparison."""
    return command_line_of("benchmarks/compare.py", config, positional="bundles")


def rows_file(config: CompareConfig) -> Path:
    """The file of rows, which need not exist."""
    beside = output_beside(config.bundles[0], "rows") if config.bundles else DEMO / "rows"
    return config.rows or beside.with_name("rows.jsonl")


def find_rows(config: CompareConfig) -> tuple[Path, list[Row]]:
    """The file of rows, and those it holds already. OptionError when rows or page could not be written at the end."""
    path = rows_file(config)
    if config.page is not None:
        check_new_file(config.page, "--page")
    return path, rows_so_far(path)


def check_lengths(config: CompareConfig, subjects: Sequence[Subject]) -> None:
    """OptionError when a model has no windows of a length that is to be timed."""
    for lengths in map(int, filter(str.isdecimal, config.lengths)):
        for subject in subjects:
            longest = subject.bundle.settings.max_length
            wanted = f"at most {longest}, as long as windows of {subject.facts['model']} are"
            check_option(lengths <= longest, "--lengths", lengths, wanted)


def check_names(subjects: Sequence[Subject]) -> None:
    """OptionError when two models have one name: other precisions and peers are called after the bundle that they are of."""
    names = [subject.facts["model"] for subject in subjects]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"two models would be called {twice[0]}; rename the folder of that name")


def prepare(config: CompareConfig) -> Comparison:
    """Open and read all there is to read, so that a bad input is refused before anything is measured."""
    # Named ones come first: of two bundles that are one, the other's name is dropped.
    also = [path for path in (config.baseline, config.peers) if path is not None]
    subjects = find_subjects(config.bundles, also, command_line(config))
    check_lengths(config, subjects)
    data = resolve(config.data, "dev")
    data_sha256 = file_sha256(data)
    baseline = choose_baseline(subjects, config.baseline)
    rows_path, old_rows = find_rows(config)
    examples = read_squad(data)
    if config.peers is not None:
        student = open_model(config.peers, kind="pytorch").sha256
        subjects += peer_subjects(next(subject for subject in subjects if subject.sha256 == student))
    on_gpu = config.target == CUDA
    if on_gpu:
        subjects = cuda_subjects(subjects)
        if baseline is not None and not any(subject is baseline for subject in subjects):
            raise OptionError(f"--baseline {config.baseline}: nothing here computes it on a GPU; name a PyTorch bundle")
    check_names(subjects)
    where = {"target": config.target, "machine": gpu_name() if on_gpu else machine()}
    for subject in subjects:
        subject.facts |= where | {"data": {"name": data.name, "sha256": data_sha256}}
    # The baseline first and parents before their children: F1 retained and same answers look back.
    subjects.sort(key=lambda s: (s is not baseline, n_ancestors(s, subjects)))
    return Comparison(rows_path, examples, data_sha256, subjects, baseline, old_rows)


def take_phone_logs(config: CompareConfig) -> list[Row]:
    """Append a row for each run in the logs, print the phone's table and write the report over all rows. Returns the new rows.

    Nothing is appended when any log is refused.
    """
    subjects = [s for s in find_subjects(config.bundles, (), command_line(config)) if s.bundle.kind == "tflite"]
    if not subjects:
        raise BundleError("--phone-log: none of the bundles is a TFLite export; name the one whose model.tflite is on the phone")
    rows_path, old_rows = find_rows(config)
    new_rows = [make_row(row | {"machine": config.phone}) for path in config.phone_log for row in phone_rows(path, subjects)]
    for row in new_rows:
        append_row(rows_path, row)
    groups = collect(old_rows + new_rows, newest_order(old_rows + new_rows))
    own = [group for group in groups if group.on_phone and group.machine == config.phone]
    show(config, rows_path, groups, view_tables(own, "latency"))
    return new_rows


def measure_elsewhere(config: CompareConfig) -> list[Row]:
    """Have the exports computed on another target, append the rows, print its table and write the report over all rows."""
    target = open_target(config.target)
    subjects = [s for s in find_subjects(config.bundles, (), command_line(config)) if s.bundle.kind != "pytorch"]
    if not subjects:
        raise BundleError(
            f"--target {target.name}: none of the bundles is an export; name one that export.tflite or export.onnx made"
        )
    data = resolve(config.data, "dev")
    data_sha256 = file_sha256(data)
    for subject in subjects:
        subject.facts |= {"data": {"name": data.name, "sha256": data_sha256}}
    examples = sample_examples(read_squad(data), config.questions or (EMULATED_QUESTIONS if target.emulated else None))
    rows_path, old_rows = find_rows(config)
    run = Comparison(rows_path, examples, data_sha256, subjects, None, old_rows)
    measure_all(run, target, None if target.emulated or config.skip_latency else plan_of(config))
    groups = collect(old_rows + run.new_rows, newest_order(old_rows + run.new_rows))
    own = [group for group in groups if group.newest["target"] == target.name]
    show(config, rows_path, groups, view_tables(own, "arm") + ([] if target.emulated else view_tables(own, "latency")))
    return run.new_rows


def plan_of(config: CompareConfig) -> Plan:
    """How much is timed."""
    return QUICK if config.quick else FULL


def main(config: CompareConfig) -> list[Row]:
    """Measure, append the rows, print the tables and write the report. Returns this run's rows."""
    if config.target not in HERE:
        return measure_elsewhere(config)
    if config.phone_log:
        return take_phone_logs(config)
    host = this_host()  # before this command loads it
    run = prepare(config)
    for subject in run.subjects:
        if subject.error is None:
            measure_subject_accuracy(run, subject)
        else:
            run.fail(subject, subject.error)
    if not config.skip_latency:
        lengths = [int(text) if text.isdecimal() else text for text in config.lengths]
        settings = [Setting(length, batch) for batch in config.batch for length in lengths]
        threads = config.threads or tuple(sorted({1, *([available_cores()] if config.target == CPU else [])}))
        measure_latency(Timing(run, settings, plan_of(config), threads, host))
    groups = collect(run.shown_rows(), order=[subject.sha256 for subject in run.subjects])
    views = ("summary",) if config.skip_latency else ("summary", "latency")
    bundles = list(dict.fromkeys(subject.bundle.path for subject in run.subjects))
    show(config, run.rows_path, groups, [table for view in views for table in view_tables(groups, view)], bundles)
    return run.new_rows


def report_from_rows(config: CompareConfig) -> list[str]:
    """Write the page from the rows that exist, measuring nothing. Returns a line about each row or bundle left out.

    Raises RowsError without any sound row, BundleError when no bundle named has rows, OptionError for a data file that is not
    the rows'; then nothing is written.
    """
    rows_path = rows_file(config)
    rows, left_out = sound_rows(Path(relative(rows_path)))  # the page repeats what is said of it, and shows no absolute path
    if config.bundles:
        rows, changed = rows_of_bundles(rows, [Path(relative(bundle)) for bundle in config.bundles])
        left_out += changed
    write_page(config, rows_path, collect(rows, newest_order(rows)), config.bundles, left_out)
    return left_out


def write_page(
    config: CompareConfig, rows_path: Path, groups: Sequence[Group], bundles: Sequence[Path] = (), left_out: Sequence[str] = ()
) -> None:
    """Write the page, and say on stderr what it lacks. `bundles` are those that the groups are limited to, if they are."""
    from benchmarks.report.page import Page, write_report

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
    config: CompareConfig, rows_path: Path, groups: Sequence[Group], tables: Sequence[Table], bundles: Sequence[Path] = ()
) -> None:
    """Print the tables and write the page."""
    for table in tables:
        print(as_text(table))
    write_page(config, rows_path, groups, bundles)


def command(config: CompareConfig) -> None:
    """`main`, or with --report the page alone, for the command line: exit code 1 when a bundle failed or was left out."""
    failed = report_from_rows(config) if config.report else [row for row in main(config) if row["status"] != OK]
    if failed:
        sys.exit(EXIT_SOME_FAILED)


if __name__ == "__main__":
    run_command(CompareConfig, command)
