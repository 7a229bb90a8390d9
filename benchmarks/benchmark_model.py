"""Times from LiteRT's benchmark_model, run by the shell of a phone behind adb.

Inputs are random tokens of whole windows. The tool pairs its flags with the inputs by their order in the
graph, and would otherwise fill token types with numbers up to 99, for which no embedding exists. Its
--report_peak_memory_footprint is left off: that adds a thread to the timed process.
"""

import re
from pathlib import Path
from typing import Any

from benchmarks.measure.command_line import command_line_of, note
from benchmarks.measure.models import bundle_metadata, display_names
from benchmarks.measure.phone_report import XNNPACK
from benchmarks.measure.run import now
from benchmarks.phone import PhoneOptions
from benchmarks.results.files import ResultFile
from benchmarks.results.rows import BENCHMARK_MODEL, PHONE, AnyResult, Machine, PhoneLatency, Runtime
from benchmarks.show.collecting import collect, newest_order
from benchmarks.show.tables import show
from benchmarks.show.views import view_tables
from export.android.push_to_phone import Phone, Refused, choose_device, run_adb
from export.tflite.file import TFLiteFile
from qa.base.errors import BundleError, DeviceError
from qa.base.files import file_sha256
from qa.bundles.bundle import Bundle, open_bundle
from qa.bundles.hf_import import output_beside
from qa.formats.tensors import INPUTS
from qa.formats.tflite import SHORT_LENGTHS
from qa.runtime.package import Package, read_package

FOLDER = "/data/local/tmp/pocketqa-benchmark"  # adb's shell may run programs there
THREADS = (1, 2, 4)
N_WARMUP = 5
N_RUNS = 50  # at least, and for at least a second, as the tool does by default
MIB = 2**20
PROPERTIES = (
    "ro.product.manufacturer",
    "ro.product.model",
    "ro.build.version.release",
    "ro.soc.model",
    "ro.hardware",
    "ro.product.cpu.abi",
)
FACTS = f"for p in {' '.join(PROPERTIES)}; do getprop $p; done; cat /proc/cpuinfo"
THERMAL = "dumpsys thermalservice 2>/dev/null | grep -m 1 'Thermal Status:'"  # from Android 10 on
EXIT_CODE = re.compile(r"^exit code (\d+)\s*\Z", re.MULTILINE)
NOT_EXECUTABLE = 126
STATISTIC = re.compile(r"(\w+)=([\d.]+(?:e\+\d+)?)")
FAULT = re.compile(r"(ERROR|FATAL): (?!Benchmarking failed)")


def measure_on_phone(options: PhoneOptions) -> list[AnyResult]:
    """Run the binary on the phone for each length and number of threads; append and print the results.

    Returns them. Its files are removed from the phone at the end, also after a failure. DeviceError when a
    run fails.
    """
    bundle = open_bundle(options.model, format="tflite")
    lengths = flags_by_length(bundle.weights)  # a file without a package is refused before any work
    file = ResultFile(options.rows or output_beside(options.model, "rows").with_name("rows.jsonl"))
    try:
        phone = Phone(choose_device(run_adb("devices"), options.serial))
        try:
            _measure(phone, bundle, lengths, options, file)
        finally:
            _clean(phone)
    except Refused as refused:
        raise DeviceError(f"adb failed: {refused}") from None
    groups = collect(file.all, newest_order(file.all))
    name = str(file.new[0].machine)
    show(view_tables([g for g in groups if g.on_phone and g.machine == name], "latency"), None, "latency")
    return file.new


def _clean(phone: Phone) -> None:
    try:
        phone.shell(f"rm -rf {FOLDER}")
    except (Refused, DeviceError) as failed:
        note(f"{FOLDER} is still on {phone.serial}: {failed}")


def _measure(
    phone: Phone, bundle: Bundle, lengths: list[tuple[int, str]], options: PhoneOptions, file: ResultFile
) -> None:
    binary = options.binary
    machine, abi = read_machine(phone.shell(FACTS))
    common = {
        **bundle_metadata(bundle, display_names([bundle.path])[0]),
        "target": PHONE,
        "machine": machine,
        # The binary does not tell its version.
        "runtime": Runtime(BENCHMARK_MODEL, file_sha256(binary)[:12], XNNPACK[True]),
        "command": command_line_of("-m benchmarks.phone", options),
        "date": now(),
    }
    phone.shell(f"mkdir -p {FOLDER}")
    phone.adb("push", str(binary), f"{FOLDER}/benchmark_model")
    phone.adb("push", str(bundle.weights), f"{FOLDER}/model.tflite")
    phone.shell(f"chmod 755 {FOLDER}/benchmark_model")
    for threads in (n for n in THREADS if n <= (machine.cores or 1)):
        for length, flags in lengths:
            setting = f"{length} tokens, {threads} thread{'s' if threads > 1 else ''}"
            note(f"{phone.serial}: {setting}")
            try:
                printed = _run(phone, f"{flags} --num_threads={threads}")
                figures = read_figures(printed)
            except BinaryError as failed:
                raise DeviceError(f"{binary} on {phone.serial} ({abi}), {setting}: {failed}") from None
            file.append(PhoneLatency(**common, threads=threads, lengths=length, **figures))


class BinaryError(Exception):
    """benchmark_model failed; the message says how."""


def read_machine(printed: str) -> tuple[Machine, str]:
    """Return the phone as the app's reports describe it, and its ABI, from what FACTS printed."""
    lines = [line.strip() for line in printed.splitlines()]
    manufacturer, model, android, soc, hardware, abi = lines[: len(PROPERTIES)]
    cpuinfo = "\n".join(lines[len(PROPERTIES) :])
    cores = len(re.findall(r"^processor\s*:", cpuinfo, re.MULTILINE))
    name = f"{manufacturer} {model}, Android {android}, {soc or hardware}"
    return Machine(name, cores or None), abi


def flags_by_length(model: Path) -> list[tuple[int, str]]:
    """Return the lengths to time and the flags that make benchmark_model compute windows of that length."""
    package = read_package(model)
    orders = input_order(model.read_bytes()[: package.info["model"]["bytes"]])
    settings = []
    for signature in package.info["signatures"]:
        inputs = orders.get(signature["name"], [])
        if sorted(inputs) != sorted(INPUTS):
            raise BundleError(f"{model}: signature {signature['name']} has inputs {inputs}; export it again")
        longest = signature["length"]
        shorter = [n for n in SHORT_LENGTHS if n < longest] if signature.get("any_length") else []
        for length in (*shorter, longest):
            flags = _flags(package, signature["name"], inputs, length)
            settings.append((length, flags))
    return settings


def input_order(model: bytes) -> dict[str, list[str]]:
    """Return the names of each signature's inputs in the order of its graph."""
    tree = TFLiteFile(model).tree
    orders = {}
    for definition in tree.signatureDefs:
        names = {tensor.tensorIndex: tensor.name.decode() for tensor in definition.inputs}
        graph = tree.subgraphs[definition.subgraphIndex]
        orders[definition.signatureKey.decode()] = [names[index] for index in graph.inputs]
    return orders


def _flags(package: Package, signature: str, inputs: list[str], length: int) -> str:
    ranges = {
        "input_ids": f"0,{len(package.vocabulary) - 1}",
        "attention_mask": "1,1",
        "token_type_ids": "0,0",
    }
    flags = {
        "signature_to_run_for": signature,
        "input_layer": ",".join(inputs),
        "input_layer_shape": ":".join(f"1,{length}" for _ in inputs),
        "input_layer_value_range": ":".join(f"{name},{ranges[name]}" for name in inputs),
    }
    return " ".join(f"--{name}={value}" for name, value in flags.items())


def _run(phone: Phone, flags: str) -> str:
    """Run the binary once and return what it printed. BinaryError with its exit code and message."""
    tool = f"./benchmark_model --graph=model.tflite --use_xnnpack=true {flags}"
    runs = f"--warmup_runs={N_WARMUP} --num_runs={N_RUNS}"
    # Phones before Android 7 hide the exit code of a command.
    printed = phone.shell(
        f"cd {FOLDER}; {THERMAL}; {tool} {runs} 2>&1; code=$?; {THERMAL}; echo exit code $code"
    )
    ended = EXIT_CODE.search(printed)
    code = int(ended[1]) if ended else -1
    if code == 0:
        return printed
    said = [line.strip() for line in EXIT_CODE.sub("", printed).splitlines() if line.strip()]
    said = [line for line in said if not line.startswith("Thermal Status:")]
    faults = [line for line in said if FAULT.match(line)] or said[-3:]
    hint = "; give a binary built for this phone" if code == NOT_EXECUTABLE else ""
    raise BinaryError(f"exit code {code}: {'; '.join(faults) or 'it printed nothing'}{hint}")


def read_figures(printed: str) -> dict[str, Any]:
    """Parse what benchmark_model printed: microseconds, of the warm-up first, then of the timed runs.

    Older versions print no percentiles, which are None then. BinaryError when there are no times, or when the
    binary did not know a flag.
    """
    unknown = re.search(r"Unconsumed cmdline flags: (.+)", printed)
    if unknown:
        raise BinaryError(f"it does not know {unknown[1].strip()}; give a newer benchmark_model")
    counted = re.findall(r"^(?:INFO: )?(count=.+)", printed, re.MULTILINE)
    load = re.search(r"Initialized session in ([\d.e+]+)ms", printed)
    if len(counted) != 2 or load is None:
        raise BinaryError("it printed no times; give LiteRT's benchmark_model")
    warmup, timed = ({key: float(value) for key, value in STATISTIC.findall(line)} for line in counted)
    memory = re.search(r"footprint.*\(MB\): init=\S+ overall=([\d.e+]+)", printed)
    thermal = [int(status) for status in re.findall(r"Thermal Status: (\d+)", printed)]
    return {
        "n_warmup": int(warmup["count"]),
        "n_runs": int(timed["count"]),
        "latency_ms_p50": _ms(timed.get("median")),
        "latency_ms_p95": _ms(timed.get("p95")),
        # Where all times are the same, only the last one is printed.
        "latency_ms_mean": _ms(timed.get("avg", timed["curr"])),
        "latency_ms_first": _ms(warmup.get("first", warmup["curr"])),
        "load_ms": float(load[1]),
        "memory_growth_mb": round(float(memory[1]) * MIB / 1e6, 1) if memory else None,
        "thermal_status": max(thermal, default=None),
    }


def _ms(microseconds: float | None) -> float | None:
    return None if microseconds is None else round(microseconds / 1e3, 4)
