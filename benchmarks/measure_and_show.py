"""Measure models and show the results: what `benchmarks/compare.py` does.

Only `resolve` reads what the options ask for.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure.accuracy import measure_accuracy
from benchmarks.measure.command_line import note, relative
from benchmarks.measure.latency import measure_latency
from benchmarks.measure.on_target import measure_remote
from benchmarks.measure.phone_report import report_results
from benchmarks.measure.run import Run, now
from benchmarks.options import CompareOptions
from benchmarks.resolve import FromPhone, OnTarget, OnThisMachine, Output, resolve
from benchmarks.results.files import EXIT_SOME_FAILED, ResultFile, exit_if_failed, sound_results
from benchmarks.results.rows import CUDA, HERE, AnyResult
from benchmarks.show.baseline import add_intervals, set_baseline
from benchmarks.show.groups import Group, collect, newest_order
from benchmarks.show.questions import read_kept
from benchmarks.show.report import Page, write_report
from benchmarks.show.tables import as_text
from benchmarks.show.views import view_tables
from qa.base.cli import one_line
from qa.base.errors import BundleError
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model

MODEL_VIEWS = {False: ("brief",), True: ("summary", "latency")}  # with details or not


def compare(options: CompareOptions) -> None:
    """Do what the options ask for; exit code 1 when a bundle failed or was left out."""
    if not options.report:
        exit_if_failed(measure(options))
    elif show_results(Output.of(options), options.bundles):
        sys.exit(EXIT_SOME_FAILED)


def measure(options: CompareOptions) -> list[AnyResult]:
    """Measure, append the results, print the tables and write the page. Returns this run's results."""
    work = resolve(options)
    output = Output.of(options)
    if isinstance(work, OnThisMachine):
        return measure_here(work, output).new
    if isinstance(work, OnTarget):
        return measure_on_target(work, output).new
    return import_phone_reports(work, output).new


def measure_here(work: OnThisMachine, output: Output) -> ResultFile:
    """Measure on this machine's CPU or GPU, append the results, print the tables and write the page."""
    run = work.run
    for model in run.models:
        if model.error is None:
            measure_accuracy(run, model)
        else:
            run.fail(model, model.error)
    if work.plan is not None:
        measure_latency(run, work.plan, work.host)
    groups = compared(results_to_show(run), [model.sha256 for model in run.models])
    bundles = list(dict.fromkeys(model.bundle.path for model in run.models))
    here = [group for group in groups if group.target == run.target]
    show(output, groups, here, MODEL_VIEWS[output.details], bundles)
    return run.file


def measure_on_target(work: OnTarget, output: Output) -> ResultFile:
    """Run the exports on a remote target, append the results, print its tables and write the page."""
    file = work.run.file
    measure_remote(work.run, work.target, work.plan)
    groups = compared(file.all, newest_order(file.all))
    there = [group for group in groups if group.target == work.target.name]
    show(output, groups, there, ("arm", "latency") if output.details else ("arm",))
    return file


def import_phone_reports(work: FromPhone, output: Output) -> ResultFile:
    """Append the results of all reports, print the phone's tables and write the page.

    Nothing is appended when any report is refused.
    """
    run = {"command": work.command, "date": now()}
    results = [result for path in work.reports for result in report_results(path, work.models, run)]
    for result in results:
        work.file.append(result)
    groups = compared(work.file.all, newest_order(work.file.all))
    phones = {str(result.machine) for result in results}
    on_phones = [group for group in groups if group.on_phone and group.machine in phones]
    show(output, groups, on_phones, ("latency",))
    return work.file


def compared(results: Sequence[AnyResult], order: Sequence[str], baseline: str | None = None) -> list[Group]:
    """Return the groups of the results, each with a baseline."""
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


def show_results(output: Output, bundles: Sequence[Path]) -> list[str]:
    """Print tables and write the page from existing results. Returns a line about each result or bundle left
    out.

    Raises ResultsError without any sound result, BundleError when no bundle named or not the baseline has
    results, OptionError for a data file that is not the results'; then nothing is written.
    """
    # The page repeats these lines, and shows no absolute path.
    results, faults = sound_results(Path(relative(output.rows)))
    left_out = [f"left out: {one_line(fault)}" for fault in faults]
    baseline = None if output.baseline is None else open_model(output.baseline)
    if baseline is not None and all(r.bundle_sha256 != baseline.sha256 for r in results):
        raise BundleError(f"--baseline {_changed(baseline, results)}")
    if bundles:
        also = [] if output.baseline is None else [output.baseline]
        paths = [Path(relative(bundle)) for bundle in (*also, *bundles)]
        results, changed = results_of_bundles(results, paths)
        left_out += changed
    groups = compared(results, newest_order(results), baseline.sha256 if baseline else None)
    here = [group for group in groups if group.target in HERE]
    if baseline is not None:
        others = [g for g in here if g.baseline and g.baseline.baseline_sha256 != baseline.sha256]
        left_out += [f"{g.data} on {g.target}: still compared with {g.baseline_name}" for g in others]
    show(output, groups, here, MODEL_VIEWS[output.details], bundles, left_out)
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
    output: Output,
    groups: Sequence[Group],
    printed: Sequence[Group],
    views: Sequence[str],
    bundles: Sequence[Path] = (),
    left_out: Sequence[str] = (),
) -> None:
    """Write the page, say on stderr what it lacks, and print the views of some groups.

    `bundles` are those that the groups are limited to.
    """
    kept, missing = read_kept(output.data, Path(relative(output.rows)), groups)
    if kept is not None:
        add_intervals(groups, kept)
    notices = [*left_out, *missing]
    for notice in notices:
        note(notice)
    write_report(output.page, Page(groups, kept, notices, output.command(bundles)))
    for view in views:
        for table in view_tables(printed, view):
            print(as_text(table))
    print(f"rows: {output.rows}\nreport: {output.page}")
    if views == MODEL_VIEWS[False]:
        print(f"all columns and settings: {output.command(bundles)} --details")
