"""Kills, signals, full and read-only disks, and two processes at once: nothing half-made passes for finished.

The same command then continues to the bytes of an undisturbed run.
"""

import os
import signal
import subprocess
import time

import pytest
from amounts import cases, rng, wrong_exit
from events import NEVER
from stages import STAGES, drafts, goes_on, half_finished, lay_out, reference, start

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
ROOMY = 1 << 30


@pytest.fixture(scope="module")
def undisturbed(material, tmp_path_factory):
    """A function of a case's number: its stage's name, the stage, and what an undisturbed run leaves."""
    scratch = tmp_path_factory.mktemp("undisturbed")

    def of(number):
        name = list(STAGES)[number % len(STAGES)]
        return name, STAGES[name], reference(name, material, scratch)

    return of


def check_continues(stage, folder, scratch, expected):
    assert half_finished(stage, folder) == ""
    assert goes_on(stage, folder, scratch, expected) == ""


def interrupt(number, signals, undisturbed, material, scratch):
    """Send a stage a signal, at a change of a file or at any moment."""
    chance = rng("interrupt", signals, number)
    _, stage, expected = undisturbed(number)
    how = chance.choice(signals)
    event = chance.randint(1, expected.n_events) if chance.randrange(2) else NEVER
    folder = scratch / "interrupted"
    lay_out(folder, material)
    running = start(stage, folder, scratch, how=how, event=event)
    if event == NEVER and not running.ended(chance.uniform(0, 1.2) * expected.seconds):
        running.kill(how)
    code, stderr = running.finish()
    if code != -how:  # else SIGKILL, or before the command could listen
        assert wrong_exit(code, stderr, (0, EXIT_CODES.get(how, 0))) == ""
        assert drafts(folder) == []
    check_continues(stage, folder, scratch, expected)


@pytest.mark.parametrize("number", cases(360))
def test_a_killed_stage_continues_to_the_same_bytes(undisturbed, material, tmp_path, number):
    interrupt(number, (signal.SIGKILL,), undisturbed, material, tmp_path)


@pytest.mark.parametrize("number", cases(120))
def test_a_stage_that_is_asked_to_stop_ends_as_it_says(undisturbed, material, tmp_path, number):
    interrupt(number, tuple(EXIT_CODES), undisturbed, material, tmp_path)


class Disk:
    """A small file system where this user may mount one, else a limit on the size of files."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.mounts = os.geteuid() == 0 and self.mount(ROOMY) == 0

    def mount(self, size, *options):
        options = ",".join([f"size={size}", *options])
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        return subprocess.run(words, capture_output=True, check=False).returncode

    def remount(self, size, *options):
        if self.mounts:
            assert self.mount(size, "remount", *options) == 0

    def close(self):
        if self.mounts:
            subprocess.run(["umount", str(self.folder)], capture_output=True, check=False)


@pytest.fixture
def disk(tmp_path):
    made = Disk(tmp_path / "disk")
    yield made
    made.close()


@pytest.mark.parametrize("number", cases(96))
def test_a_full_or_read_only_disk_is_said_in_one_line(undisturbed, material, tmp_path, disk, number):
    """One disk in four is read-only; the others have room for a part of what would be written."""
    chance = rng("disk", number)
    _, stage, expected = undisturbed(number)
    read_only = chance.randrange(4) == 0
    room = int(expected.n_bytes * chance.uniform(0, 1.2))
    folder = disk.folder / "folder"
    lay_out(folder, material)
    largest = None
    if disk.mounts:
        disk.remount(room + 65536, *(["ro"] if read_only else []))
    elif read_only and os.geteuid() != 0:
        folder.chmod(0o555)
    else:
        largest = room
    code, stderr = start(stage, folder, tmp_path, largest=largest).finish()
    disk.remount(ROOMY, "rw")
    folder.chmod(0o755)
    assert wrong_exit(code, stderr) == ""
    assert drafts(folder) == []
    assert code != 0 or (folder / stage.result).exists()
    check_continues(stage, folder, tmp_path, expected)


@pytest.mark.parametrize("number", cases(36))
def test_of_two_processes_at_once_one_makes_it_whole(undisturbed, material, tmp_path, number):
    chance = rng("pair", number)
    _, stage, expected = undisturbed(number)
    folder = tmp_path / "pair"
    lay_out(folder, material)
    first = start(stage, folder, tmp_path)
    time.sleep(chance.choice((0, 0.01, chance.random() * expected.seconds)))
    second = start(stage, folder, tmp_path)
    ends = [first.finish(), second.finish()]
    assert [wrong_exit(*end) for end in ends] == ["", ""]
    assert any(code == 0 for code, _ in ends), ends
    assert drafts(folder) == []
    check_continues(stage, folder, tmp_path, expected)
