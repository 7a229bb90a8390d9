"""Measure models and show the results: what `benchmarks/compare.py` does."""

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from benchmarks.measure.accuracy import measure_accuracy
from benchmarks.measure.command_line import note, relative
from benchmarks.measure.conditions import this_host
from benchmarks.measure.hosts import open_target
from benchmarks.measure.latency import measure_latency
from benchmarks.measure.on_target import measure_remote
from benchmarks.measure.phone_report import read_report, report_results
from benchmarks.measure.plan import FULL, QUICK
from benchmarks.measure.run import Run, now
from benchmarks.options import CompareOptions
from benchmarks.resolve import (
    COMPARE,
    command_line,
    exports,
    find_rows,
    page_command,
    page_of,
    plan_here,
    rows_of,
    run_here,
    run_on_target,
)
from benchmarks.results.files import EXIT_SOME_FAILED, exit_if_failed, sound_results
from benchmarks.results.rows import CUDA, HERE, AnyResult
from benchmarks.show.baseline import add_intervals, set_baseline
from benchmarks.show.collecting import collect, newest_order
from benchmarks.show.groups import Group
from benchmarks.show.questions import read_kept
from benchmarks.show.report import Page, write_report
from benchmarks.show.tables import Table, as_text
from benchmarks.show.views import view_tables
from qa.base.cli import one_line
from qa.base.errors import BundleError
from qa.base.next_step import typed
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model

MODEL_VIEWS = {False: ("brief",), True: ("summary", "latency")}  # with details or not


def compare(options: CompareOptions) -> None:
    """Do what the options ask for; exit code 1 when a bundle failed or was left out."""
    if not options.report:
        exit_if_failed(measure(options))
    elif show_results(options):
        sys.exit(EXIT_SOME_FAILED)


def measure(options: CompareOptions) -> list[AnyResult]:
    """Measure, append the results, print the tables and write the page. Returns this run's results.

    All inputs are opened and read first, so that a bad one is refused before anything is measured.
    """
    if options.phone_report:
        return import_phone_reports(options)
    return measure_here(options) if options.target in HERE else measure_on_target(options)


def measure_here(options: CompareOptions) -> list[AnyResult]:
    """Measure on this machine's CPU or GPU."""
    host = this_host()  # before this command loads it
    run = run_here(options)
    for model in run.models:
        if model.error is None:
            measure_accuracy(run, model)
        else:
            run.fail(model, model.error)
    if not options.skip_latency:
        measure_latency(run, plan_here(options), host)
    groups = compared(results_to_show(run), [model.sha256 for model in run.models])
    bundles = list(dict.fromkeys(model.bundle.path for model in run.models))
    here = [group for group in groups if group.target == run.target]
    show(options, groups, here, MODEL_VIEWS[options.details], bundles)
    return run.file.new


def measure_on_target(options: CompareOptions) -> list[AnyResult]:
    """Run the exports on a remote target."""
    target = open_target(options.target)
    run = run_on_target(options, target)
    times = not (target.emulated or options.skip_latency)
    measure_remote(run, target, (QUICK if options.quick else FULL) if times else None)
    groups = compared(run.file.all, newest_order(run.file.all))
    there = [group for group in groups if group.target == target.name]
    show(options, groups, there, ("arm", "latency") if options.details else ("arm",))
    return run.file.new


def import_phone_reports(options: CompareOptions) -> list[AnyResult]:
    """Append the results of all reports of the app; none when any report is refused."""
    models = exports(options, "tflite")
    file = find_rows(options)
    run = {"command": command_line(options), "date": now()}
    in_order = sorted(options.phone_report, key=lambda path: read_report(path).began_unix_ms)
    results = [result for path in in_order for result in report_results(path, models, run)]
    for result in results:
        file.append(result)
    groups = compared(file.all, newest_order(file.all))
    phones = {str(result.machine) for result in results}
    on_phones = [group for group in groups if group.on_phone and group.machine in phones]
    show(options, groups, on_phones, ("latency",))
    return file.new


def compared(results: Sequence[AnyResult], order: Sequence[str], baseline: str | None = None) -> list[Group]:
    """Return the groups of the results, compared with another baseline where one is named."""
    if baseline is not None:
        set_baseline(results, baseline)
    return collect(results, order)


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


def show_results(options: CompareOptions) -> list[str]:
    """Print tables and write the page from existing results. Returns a line about each result or bundle left
    out.

    Raises ResultsError without any sound result, BundleError when no bundle named or not the baseline has
    results, OptionError for a data file that is not the results'; then nothing is written.
    """
    # The page repeats these lines, and shows no absolute path.
    results, faults = sound_results(Path(relative(rows_of(options))))
    left_out = [f"left out: {one_line(fault)}" for fault in faults]
    baseline = None if options.baseline is None else open_model(options.baseline)
    if baseline is not None and all(r.bundle_sha256 != baseline.sha256 for r in results):
        raise BundleError(f"--baseline {_changed(baseline, results)}")
    if options.bundles:
        also = [] if options.baseline is None else [options.baseline]
        paths = [Path(relative(bundle)) for bundle in (*also, *options.bundles)]
        results, changed = results_of_bundles(results, paths)
        left_out += changed
    groups = compared(results, newest_order(results), baseline.sha256 if baseline else None)
    here = [group for group in groups if group.target in HERE]
    if baseline is not None:
        others = [g for g in here if g.baseline and g.baseline.baseline_sha256 != baseline.sha256]
        left_out += [f"{g.data} on {g.target}: still compared with {g.baseline_name}" for g in others]
    on_phones = [group for group in groups if group.on_phone]
    elsewhere = [*view_tables(groups, "arm"), *view_tables(on_phones, "latency")]
    show(options, groups, here, MODEL_VIEWS[options.details], options.bundles, left_out, elsewhere)
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
            faults.append(f"left out: {_changed(bundle, results)}")
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
        return f"{bundle.path} ({sha256}): was not measured; compare it first, without --report"
    hashes = f"its hash is {sha256}, in the results {measured[-1][:16]}"
    changed = f"has changed since it was measured ({hashes})"
    return f"{bundle.path}: {changed}; compare it again, without --report"


def show(
    options: CompareOptions,
    groups: Sequence[Group],
    printed: Sequence[Group],
    views: Sequence[str],
    bundles: Sequence[Path] = (),
    left_out: Sequence[str] = (),
    more: Sequence[Table] = (),
) -> None:
    """Write the page, say on stderr what it lacks, and print the views of some groups, and more tables.

    `bundles` are those that the groups are limited to.
    """
    rows, page, command = rows_of(options), page_of(options), page_command(options, bundles)
    kept, missing = read_kept(options.data, Path(relative(rows)), groups)
    if kept is not None:
        add_intervals(groups, kept)
    notices = [*left_out, *missing]
    for notice in notices:
        note(notice)
    write_report(page, Page(groups, kept, notices, command))
    for table in (*chain.from_iterable(view_tables(printed, view) for view in views), *more):
        print(as_text(table))
    print(f"rows: {rows}\nreport: {page}")
    if views == MODEL_VIEWS[False]:
        if not Path(COMPARE).is_file():  # as in an installation
            command = command.replace(f"python {COMPARE}", typed("compare"), 1)
        print(f"all columns and settings: {command} --details")
