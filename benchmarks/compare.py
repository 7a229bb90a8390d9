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
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import tyro

from benchmarks.cells import Table
from benchmarks.command_line import command_line_of, flag_name, relative
from benchmarks.groups import Group, collect, newest_order
from benchmarks.measure import Comparison, Subject, bundle_columns, measure_latency, measure_subject_accuracy, note
from benchmarks.on_target import EMULATED_QUESTIONS, Errand, measure_on_target, sample_examples
from benchmarks.phone import phone_rows
from benchmarks.report_questions import read_kept
from benchmarks.report_rows import rows_of_bundles, sound_rows
from benchmarks.rows import CPU, OK, Row, append_row, machine, make_row, rows_so_far
from benchmarks.table import as_text
from benchmarks.targets import open_target
from benchmarks.views import view_tables
from qa.bundle import MANIFEST, Bundle, open_bundle
from qa.cli import check_option, one_line, run_command
from qa.datasets import EMBEDDED, resolve
from qa.errors import BundleError, OptionError
from qa.files import check_new_file, check_not_an_input
from qa.runtimes import available_cores
from qa.squad import file_sha256, read_squad

DEMO = Path("runs/demo")
EXIT_SOME_FAILED = 1
ONLY_MEASURING = ("baseline", "latency_windows", "skip_latency")  # options that nothing but a measurement has


@dataclass(frozen=True)
class CompareConfig:
    """What to compare, on which data, and where the results go."""

    bundles: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Bundles to compare; without any, all finished ones in runs/demo."""
    data: str = EMBEDDED
    """SQuAD JSON file (plain or gzip), or embedded, squad, squad_v2 (their dev part)."""
    baseline: Path | None = None
    """Bundle that F1 and speed are compared with; by default the one whose stage is teacher."""
    rows: Path | None = None
    """File the result rows are appended to; by default rows.jsonl beside the first bundle."""
    report: bool = False
    """Only write the page, from rows that exist: of the bundles named, without any of all rows. Nothing is measured."""
    page: Path | None = None
    """HTML page to write; by default report.html beside the rows."""
    latency_windows: int = 24
    """Real windows timed for each model, length setting and number of threads."""
    skip_latency: bool = False
    """Measure accuracy only."""
    target: str = CPU
    """Where to compute: cpu (here), ssh:USER@HOST (numpy and LiteRT or ONNX Runtime must be there), or qemu:CPU (an emulated
    ARM64 CPU such as qemu:neoverse-n1, set up by benchmarks/arm64_python.sh: instructions instead of times)."""
    questions: int | None = None
    """Questions computed on another --target, evenly spaced over the data; by default all, under QEMU 20."""
    phone_log: tuple[Path, ...] = ()
    """Logs of LiteRT's benchmark_model, run on a phone: their runs become rows. Nothing is measured on this machine."""
    phone: str | None = None
    """The phone of --phone-log in one line: model, Android version, processor."""

    def __post_init__(self) -> None:
        check_option(self.latency_windows >= 1, "--latency-windows", self.latency_windows, "at least 1")
        elsewhere = self.target != CPU
        if self.questions is not None:
            check_option(elsewhere, "--questions", self.questions, "left out without another --target")
            check_option(self.questions >= 1, "--questions", self.questions, "at least 1")
        if elsewhere:
            check_option(not self.phone_log, "--phone-log", self.phone_log, "left out with --target")
            check_option(
                self.baseline is None, "--baseline", self.baseline, "left out with --target, whose reference is this CPU"
            )
        if not self.phone_log:
            check_option(self.phone is None, "--phone", self.phone, "left out without --phone-log")
        else:
            named = self.phone is not None and self.phone.isprintable() and self.phone == self.phone.strip() != ""
            wanted = 'given with --phone-log, in one line such as "Pixel 8, Android 16, Tensor G3"'
            check_option(named, "--phone", repr(self.phone), wanted)
            self._refuse("--phone-log", "data", "report", *ONLY_MEASURING)
        if self.report:
            self._refuse("--report", "target", "questions", *ONLY_MEASURING)

    def _refuse(self, flag: str, *names: str) -> None:
        """Refuse options that `flag`, with which nothing is measured here, leaves without a meaning."""
        for option in (option for option in fields(self) if option.name in names):
            value = getattr(self, option.name)
            wanted = f"left out with {flag}, which measures nothing on this machine"
            check_option(value == option.default, flag_name(option.name), value, wanted)


def find_bundles(config: CompareConfig) -> list[Bundle]:
    """Open the bundles named, or all of the demo. A named one that is none raises BundleError; each is taken once."""
    found: list[Bundle] = []
    if config.bundles:
        named = [*([config.baseline] if config.baseline else []), *config.bundles]
        found = [open_bundle(path) for path in named]
    else:
        finished = sorted(DEMO.glob(f"*/{MANIFEST}"), key=lambda path: path.stat().st_mtime_ns)
        for path in [*([config.baseline / MANIFEST] if config.baseline else []), *finished]:
            try:
                found.append(open_bundle(path.parent))
            except BundleError as error:
                if path.parent == config.baseline:
                    raise
                note(f"skipped: {one_line(error)}")
        if not found:
            raise BundleError(f"{DEMO}: holds no finished bundle to compare; run make demo, or name bundles")
    return list({bundle.sha256: bundle for bundle in reversed(found)}.values())[::-1]


def display_names(paths: Sequence[Path]) -> list[str]:
    """Folder names, each with as many of its parents as it takes to tell it from the others."""
    parts = [path.resolve().parts for path in paths]
    names = [own[-1] for own in parts]
    for depth in range(2, max((len(own) for own in parts), default=0) + 1):
        names = ["/".join(own[-depth:]) if names.count(name) > 1 else name for own, name in zip(parts, names, strict=True)]
    return names


def choose_baseline(config: CompareConfig, subjects: Sequence[Subject]) -> Subject | None:
    """The subject of --baseline, else the only teacher, else None. OptionError when there are several teachers."""
    if config.baseline is not None:
        wanted = config.baseline.resolve()
        same = [s for s in subjects if s.bundle.path.resolve() == wanted]
        return same[0] if same else next(s for s in subjects if s.bundle.sha256 == open_bundle(wanted).sha256)
    teachers = [s for s in subjects if s.bundle.stage == "teacher"]
    if len(teachers) > 1:
        names = ", ".join(s.facts["model"] for s in teachers)
        raise OptionError(f"several teachers to compare with ({names}); choose one with --baseline BUNDLE")
    return teachers[0] if teachers else None


def n_ancestors(subject: Subject, subjects: Sequence[Subject]) -> int:
    """How many of the subjects this one was made from, directly or not."""
    parent = (subject.bundle.manifest.get("parent") or {}).get("sha256")
    found = [other for other in subjects if other.bundle.sha256 == parent]
    return 1 + n_ancestors(found[0], subjects) if found else 0


def command_line(config: CompareConfig) -> str:
    """The command that repeats this comparison."""
    return command_line_of("benchmarks/compare.py", config, positional="bundles")


def find_subjects(config: CompareConfig) -> list[Subject]:
    """The bundles with what is known of each."""
    bundles = find_bundles(config)
    for bundle in bundles:
        try:
            str(bundle.path.resolve()).encode()
        except UnicodeEncodeError:
            raise BundleError(f"{str(bundle.path)!r}: this name is no UTF-8, as rows have to be; rename the folder") from None
    shared = {"command": command_line(config), "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    subjects = []
    for bundle, name in zip(bundles, display_names([bundle.path for bundle in bundles]), strict=True):
        subjects.append(Subject(bundle, {"model": name} | bundle_columns(bundle) | shared))
    return subjects


def rows_file(config: CompareConfig) -> Path:
    """The file of rows, which need not exist."""
    return config.rows or (config.bundles[0].parent if config.bundles else DEMO) / "rows.jsonl"


def find_rows(config: CompareConfig) -> tuple[Path, list[Row]]:
    """The file of rows, and those it holds already. OptionError when rows or page could not be written at the end."""
    path = rows_file(config)
    if config.page is not None:
        check_new_file(config.page, "--page")
    return path, rows_so_far(path)


def prepare(config: CompareConfig) -> Comparison:
    """Open and read all there is to read, so that a bad input is refused before anything is measured."""
    subjects = find_subjects(config)
    data = resolve(config.data, "dev")
    data_sha256 = file_sha256(data)
    for subject in subjects:
        subject.facts |= {"target": CPU, "machine": machine(), "data": {"name": data.name, "sha256": data_sha256}}
    baseline = choose_baseline(config, subjects)
    # The baseline first and parents before their children: F1 retained and same answers look back.
    subjects.sort(key=lambda s: (s is not baseline, n_ancestors(s, subjects)))
    rows_path, old_rows = find_rows(config)
    return Comparison(rows_path, read_squad(data), data_sha256, subjects, baseline, old_rows, config.latency_windows)


def take_phone_logs(config: CompareConfig) -> list[Row]:
    """Append a row for each run in the logs, print the phone's table and write the report over all rows. Returns the new rows.

    Nothing is appended when any log is refused.
    """
    subjects = [s for s in find_subjects(config) if s.bundle.kind == "tflite"]
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
    subjects = [s for s in find_subjects(config) if s.bundle.kind != "pytorch"]
    if not subjects:
        raise BundleError(
            f"--target {target.name}: none of the bundles is an export; name one that export.tflite or export.onnx made"
        )
    data = resolve(config.data, "dev")
    for subject in subjects:
        subject.facts |= {"data": {"name": data.name, "sha256": file_sha256(data)}}
    n_questions = config.questions or (EMULATED_QUESTIONS if target.emulated else None)
    n_latency_windows = 0 if target.emulated or config.skip_latency else config.latency_windows
    rows_path, old_rows = find_rows(config)
    errand = Errand(target, sample_examples(read_squad(data), n_questions), n_latency_windows, rows_path)
    for subject in subjects:
        measure_on_target(errand, subject)
    groups = collect(old_rows + errand.rows, newest_order(old_rows + errand.rows))
    own = [group for group in groups if group.newest["target"] == target.name]
    show(config, rows_path, groups, view_tables(own, "arm") + ([] if target.emulated else view_tables(own, "latency")))
    return errand.rows


def main(config: CompareConfig) -> list[Row]:
    """Measure, append the rows, print the tables and write the report. Returns this run's rows."""
    if config.target != CPU:
        return measure_elsewhere(config)
    if config.phone_log:
        return take_phone_logs(config)
    run = prepare(config)
    for subject in run.subjects:
        measure_subject_accuracy(run, subject)
    if not config.skip_latency:
        for threads in sorted({1, available_cores()}):
            measure_latency(run, threads)
    groups = collect(run.shown_rows(), order=[subject.bundle.sha256 for subject in run.subjects])
    views = ("summary",) if config.skip_latency else ("summary", "latency")
    bundles = [subject.bundle.path for subject in run.subjects]
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
    from benchmarks.report import Page, write_report

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
