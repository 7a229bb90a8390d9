"""Whether qa.evaluate takes long passages and many questions: its time and its memory, against how many
windows it computes.

    python -m benchmarks.experiments.long_and_many --model BUNDLE --data train-v2.0.json --out runs/scaling

"many" are more and more of the file's questions, "long" a hundred of them, each asked of its passage and of
those that follow it. Every point is a `python -m qa.evaluate` of its own. The same command goes on with the
next point after a stop.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.measure.command_line import flag_name
from benchmarks.measure.conditions import machine
from benchmarks.show.panels import Panel, panels_svg
from benchmarks.show.plots import linear_axis, log_or_zero_axis
from benchmarks.show.tables import as_markdown, as_text, text_table, write_marked
from qa.base.cli import check_option, run_command
from qa.base.errors import PocketQAError
from qa.base.files import check_new_folder, file_sha256, write_whole
from qa.base.sampling import evenly
from qa.bundles.hf_import import open_model
from qa.data.datasets import resolve
from qa.data.sample import sample
from qa.data.squad import Example, read_json, read_squad, write_squad

MANY = "many questions"
LONG = "long passages"
NAME = "long-and-many"
TICK = 0.05  # seconds between looks at the memory


class PointError(PocketQAError):
    """An evaluation failed; the message is what it said."""


@dataclass(frozen=True)
class ScalingConfig:
    """Evaluate ever longer passages and ever more questions, and draw time and memory."""

    model: Path
    """Bundle to evaluate; a small one shows what all cost beside the model."""
    data: str
    """SQuAD JSON file (plain or gzip), or embedded, squad, squad_v2 (their dev part)."""
    out: Path = Path("runs/scaling")
    """Folder for the points and the plot."""
    questions: tuple[int, ...] = (1000, 3000, 10_000, 30_000, 100_000)
    """Numbers of questions; more than the file has are all it has."""
    passages: tuple[int, ...] = (1, 4, 16, 64)
    """Numbers of passages that are joined to a long one."""
    long_questions: int = 100
    """Questions on long passages."""
    write: Path | None = None
    """Markdown file whose part marked long-and-many is replaced by the table."""

    def __post_init__(self) -> None:
        for name in ("questions", "passages"):
            values = getattr(self, name)
            check_option(bool(values) and min(values) >= 1, flag_name(name), values, "numbers of at least 1")
        check_option(self.long_questions >= 1, "--long-questions", self.long_questions, "at least 1")
        check_new_folder(self.out, "--out")


@dataclass(frozen=True)
class Point:
    """One evaluation."""

    kind: str
    passages: int
    """Joined to one."""
    questions: int
    windows: int
    cpu_s: float
    peak_mb: float


def joined(examples: Sequence[Example], n_questions: int, n_passages: int) -> list[dict[str, Any]]:
    """SQuAD articles: questions evenly chosen, each on its own passage and, behind it, those that follow in
    the file."""
    contexts = list(dict.fromkeys(example.context for example in examples))
    places = {context: at for at, context in enumerate(contexts)}
    articles = []
    for example in (examples[i] for i in evenly(len(examples), n_questions)):
        at = places[example.context]
        text = "\n".join(
            [*contexts[at : at + n_passages], *contexts[: max(0, at + n_passages - len(contexts))]]
        )
        answers = [{"text": answer.text, "answer_start": answer.start} for answer in example.answers]
        entry = {
            "id": example.id,
            "question": example.question,
            "answers": answers,
            "is_impossible": example.is_impossible,
        }
        articles.append({"title": example.title, "paragraphs": [{"context": text, "qas": [entry]}]})
    return articles


def evaluated(model: Path, data: Path) -> tuple[int, float, float]:
    """Windows, seconds of CPU and peak MB of one `qa.evaluate`. PointError with what it said when it
    fails.
    """
    words = [sys.executable, "-m", "qa.evaluate", "--model", str(model), "--data", str(data)]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*words, "--out", str(data.with_suffix(".answers"))], stdout=said, stderr=said
        )
        pid = 0
        peak_kb = 0
        try:
            while pid == 0:
                peak_kb = max(peak_kb, resident_peak_kb(process.pid))
                time.sleep(TICK)
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace")
    if process.returncode != 0:
        raise PointError(f"{data.name}: {' '.join(text.split())[-300:] or f'exit code {process.returncode}'}")
    result = json.loads(text[text.index("{\n") :])
    return result["n_windows"], usage.ru_utime + usage.ru_stime, peak_kb * 1024 / 1e6


def resident_peak_kb(pid: int) -> int:
    """Of a running process; 0 once it has ended. What wait4 tells of memory counts the process that started
    it too."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    return int(found.group(1)) if found else 0


def points(config: ScalingConfig, examples: Sequence[Example], file: Path) -> Iterator[Point]:
    """Every point, measured or taken from `file`, where all are kept."""
    wanted = [(LONG, n, min(config.long_questions, len(examples))) for n in config.passages]
    wanted += [(MANY, 1, n) for n in dict.fromkeys(min(n, len(examples)) for n in config.questions)]
    source = resolve(config.data, "dev")
    about = {"model": open_model(config.model).sha256, "data": file_sha256(source), "machine": str(machine())}
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    check_option(
        not lines or json.loads(lines[0]) == about,
        "--out",
        file.parent,
        "another folder: it has points of others",
    )
    kept = [Point(**json.loads(line)) for line in lines[1:]]
    for kind, n_passages, n in tqdm(wanted, unit="evaluation", disable=not sys.stderr.isatty()):
        point = next((p for p in kept if (p.kind, p.passages, p.questions) == (kind, n_passages, n)), None)
        if point is None:
            with tempfile.TemporaryDirectory(dir=config.out) as folder:
                data = Path(folder) / "questions.json"
                made = (
                    joined(examples, n, n_passages)
                    if kind == LONG
                    else sample(read_json(source)["data"], len(examples), n)
                )
                write_squad(data, made, NAME)
                point = Point(kind, n_passages, n, *evaluated(config.model, data))
            kept.append(point)
            write_whole(file, "".join(json.dumps(line) + "\n" for line in (about, *map(asdict, kept))))
        yield point


def panels(found: Sequence[Point]) -> list[Panel]:
    """Seconds of CPU, and peak memory."""
    x = log_or_zero_axis([p.windows for p in found])
    made = []
    for title, name in (("CPU seconds", "cpu_s"), ("peak memory, MB", "peak_mb")):
        values = [getattr(p, name) for p in found]
        y = log_or_zero_axis(values) if name == "cpu_s" else linear_axis(0, 1.2 * max(values))
        series = {
            kind: [(p.windows, getattr(p, name)) for p in found if p.kind == kind] for kind in (MANY, LONG)
        }
        made.append(Panel(title, "windows", x, y, series))
    return made


def main(config: ScalingConfig) -> list[Point]:
    """Measure, draw, print the table."""
    examples = read_squad(resolve(config.data, "dev"))
    config.out.mkdir(parents=True, exist_ok=True)
    found = sorted(points(config, examples, config.out / f"{NAME}.jsonl"), key=lambda p: (p.kind, p.windows))
    write_whole(config.out / f"{NAME}.svg", panels_svg(panels(found)))
    headings = ("", "passages joined", "questions", "windows", "CPU s", "ms a window", "peak MB")
    lines = [
        (
            p.kind,
            f"{p.passages:,}",
            f"{p.questions:,}",
            f"{p.windows:,}",
            f"{p.cpu_s:,.1f}",
            f"{1e3 * p.cpu_s / p.windows:.2f}",
            f"{p.peak_mb:,.0f}",
        )
        for p in found
    ]
    title = f"Long and many, {resolve(config.data, 'dev').name}"
    table = text_table(title, headings, lines, [f"model: {config.model.name}", str(machine())])
    if config.write is not None:
        write_marked(config.write, NAME, as_markdown(table))
    print(as_text(table))
    return found


if __name__ == "__main__":
    run_command(main)
