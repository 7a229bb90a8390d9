"""Pushing a model to a phone: an adb that replays what real ones print, for success by each way and for each
failure."""

import re

import pytest
from adb_replay import replayed

from export.android import check as android
from export.android import push_to_phone as android_push
from export.android.check import AndroidOptions
from export.android.package import read_package
from qa.base.errors import DeviceError, OptionError
from qa.base.files import file_sha256

S = "R58N30ABCDE"
NAME = "bert-int8.tflite"
APP = "org.pocketqa.app"
SHARED = f"/sdcard/Android/data/{APP}/files"
DEVICES = ("devices", f"List of devices attached\n{S}\tdevice\n\n")
INSTALLED = (f"-s {S} shell pm path {APP}", f"package:/data/app/~~k3/{APP}-4w==/base.apk\n")
OPENED = (
    f"-s {S} shell am start -n {APP}/.MainActivity",
    f"Starting: Intent {{ cmp={APP}/.MainActivity }}\n",
)
SEEN = (f"-s {S} shell ls -d {SHARED}", f"{SHARED}\n")
READY = (DEVICES, INSTALLED, OPENED, SEEN)
ON_MODEL = (
    OPENED[0] + f" --es model {NAME}",
    f"Starting: Intent {{ cmp={APP}/.MainActivity (has extras) }}\n",
)
COPY = (
    f"mkdir -p files/inbox && cat > files/inbox/{NAME}.part && mv files/inbox/{NAME}.part files/inbox/{NAME}"
)


@pytest.fixture(scope="module")
def bundle(exported_tflite):
    return exported_tflite("bert", "int8")[1]


@pytest.fixture(autouse=True)
def named(monkeypatch):
    monkeypatch.setattr(android_push, "phone_name", lambda package: NAME)
    monkeypatch.setattr(android_push, "FOLDER_PAUSE_S", 0)


@pytest.fixture
def replay(tmp_path, monkeypatch, bundle):
    """A function that pushes the bundle while adb replays the given steps: (call, stdout[, stderr, exit
    code])."""

    def run(*steps, serial=None):
        with replayed(steps, tmp_path, monkeypatch):
            android.check_or_push(AndroidOptions(bundle.path, push=True, serial=serial))

    return run


def pushed(bundle, to):
    return f"-s {S} push {bundle.weights} {to}", f"{bundle.weights}: 1 file pushed, 0 skipped. 31.2 MB/s\n"


def not_pushed(bundle, to, why):
    return (pushed(bundle, to)[0], "", f"adb: error: failed to copy '{bundle.weights}' to '{to}': {why}\n", 1)


def hashed(bundle, path):
    return f"-s {S} shell sha256sum {path}", f"{file_sha256(bundle.weights)}  {path}\n"


def shell(command, stdout="", stderr="", code=0):
    return f"-s {S} shell {command}", stdout, stderr, code


PART = f"{SHARED}/{NAME}.part"
DOWNLOAD = f"/sdcard/Download/{NAME}.part"
TMP = f"/data/local/tmp/{NAME}"
FCHOWN = "remote fchown failed: Operation not permitted"
DENIED = "remote couldn't create file: Permission denied"
CLEAN = f"rm -f {TMP}; run-as {APP} rm -f files/inbox/{NAME}.part"
RUN_AS = f"cat {TMP} | run-as {APP} sh -c '{COPY}' && rm -f {TMP}"


def plain(bundle, part=PART):
    """The steps of a push by way of a folder that the app sees."""
    handed_over = shell(f"touch {part}; mv {part} {SHARED}/{NAME}")
    return pushed(bundle, part), hashed(bundle, part), handed_over, ON_MODEL


def test_the_plain_way(replay, bundle, capsys):
    replay(*READY, *plain(bundle))
    printed = capsys.readouterr().out
    assert f"{NAME} is on {S} (by its folder)" in printed
    assert "Tap a suggested question" in printed


def test_the_folder_is_waited_for(replay, bundle):
    none = (*SEEN[:1], "", f"ls: {SHARED}: No such file or directory\n", 1)
    replay(*READY[:3], none, none, SEEN, *plain(bundle))


def test_by_download_where_fchown_fails(replay, bundle, capsys):
    first = (not_pushed(bundle, PART, FCHOWN), shell(f"rm -f {PART}"))
    replay(*READY, *first, *plain(bundle, DOWNLOAD))
    assert "(by Download)" in capsys.readouterr().out


def blocked(bundle):
    """Neither its folder nor Download: what phones of some makers do."""
    denied = f"mv: bad '{SHARED}/{NAME}': Permission denied\n"
    return (
        not_pushed(bundle, PART, DENIED),
        shell(f"rm -f {PART}"),
        pushed(bundle, DOWNLOAD),
        hashed(bundle, DOWNLOAD),
        shell(f"touch {DOWNLOAD}; mv {DOWNLOAD} {SHARED}/{NAME}", "", denied, 1),
        shell(f"rm -f {DOWNLOAD}"),
        pushed(bundle, TMP),
        hashed(bundle, TMP),
    )


def test_by_run_as_where_neither_works(replay, bundle, capsys):
    replay(*READY, *blocked(bundle), shell(RUN_AS), ON_MODEL)
    assert "(by run-as)" in capsys.readouterr().out


def test_a_release_build_that_takes_nothing_names_the_picker(replay, bundle):
    refused = shell(RUN_AS, "", f"run-as: package not debuggable: {APP}\n", 1)
    with pytest.raises(
        DeviceError, match=r"could not put .*: .*Permission denied.*not debuggable.*choose it in"
    ):
        replay(*READY, *blocked(bundle), refused, shell(CLEAN))


def test_a_full_phone(replay, bundle):
    full = not_pushed(bundle, PART, "remote write failed: No space left on device")
    with pytest.raises(DeviceError, match=rf"{S} has no room for {NAME} \(\d+ MB, and as much again"):
        replay(*READY, full, shell(f"rm -f {PART}"))


def test_a_file_that_arrives_damaged_is_not_handed_over(replay, bundle):
    other = (hashed(bundle, PART)[0], f"{'0' * 64}  {PART}\n")
    with pytest.raises(DeviceError, match="arrived damaged"):
        replay(*READY, pushed(bundle, PART), other, shell(f"rm -f {PART}"))


def test_a_phone_that_goes_away(replay, bundle):
    gone = (pushed(bundle, PART)[0], "", f"adb: device '{S}' not found\n", 1)
    with pytest.raises(DeviceError, match=r"adb lost the phone .* plug it in again"):
        replay(*READY, gone, (shell(f"rm -f {PART}")[0], "", "error: no more\n", 1))


def test_an_app_that_is_not_installed(replay):
    with pytest.raises(
        DeviceError, match=rf"{APP} is not installed on {S}; install it: cd android_demo && ./gradlew"
    ):
        replay(DEVICES, (INSTALLED[0], "", "", 1))


def test_an_app_that_does_not_start(replay):
    none = "Starting: Intent { }\nError type 3\nError: Activity class does not exist.\n"
    with pytest.raises(DeviceError, match=r"adb failed: Starting.*Activity class does not exist"):
        replay(DEVICES, INSTALLED, (OPENED[0], none))


NO_PHONE = {
    "": "adb sees no phone; plug one in",
    f"{S}\tunauthorized\n": f"{S} has not allowed this computer yet; unlock the phone",
    f"{S}\toffline\n": f"{S} is offline",
    f"{S}\tno permissions (user in plugdev group); see [http://x]\n": f"{S} is no permissions",
    f"{S}\tdevice\nemulator-5554\tdevice\n": f"adb sees 2 devices: {S}, emulator-5554; choose one with --serial",
}


@pytest.mark.parametrize("listing", NO_PHONE)
def test_no_phone_to_choose(listing, replay):
    with pytest.raises(DeviceError, match=NO_PHONE[listing]) as refusal:
        replay(("devices", f"List of devices attached\n{listing}\n"))
    assert len(str(refusal.value).splitlines()) == 1


def test_serial_chooses_or_is_refused(replay, bundle):
    two = (
        "devices",
        f"* daemon started successfully\nList of devices attached\nemulator-5554\toffline\n{S}\tdevice\n\n",
    )
    replay(two, *READY[1:], *plain(bundle), serial=S)
    with pytest.raises(OptionError, match="--serial must be given with --push, got X"):
        AndroidOptions(bundle.path, serial="X")


def test_a_serial_that_is_not_there(replay):
    with pytest.raises(DeviceError, match=f"--serial X: no such device; adb devices shows {S}"):
        replay(DEVICES, serial="X")


def test_without_adb_one_line_says_what_to_install(bundle, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match=r"^adb not found; install Android's .*apt-get install adb\)$"):
        android.check_or_push(AndroidOptions(bundle.path, push=True))


def test_the_name_has_nothing_that_a_shell_reads(monkeypatch, bundle):
    monkeypatch.undo()
    package = read_package(bundle.weights)
    names = {}
    for name in ("student", "../my model; rm -rf $HOME", "опыт-student", "проба-student"):
        package.info["name"] = name
        names[name] = android_push.phone_name(package)
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*\.tflite", names[name])
    assert names["student"] == "student-int8.tflite"
    assert names["../my model; rm -rf $HOME"].startswith("my_model_rm_-rf_HOME-int8-")
    assert len({*names.values()}) == 4
