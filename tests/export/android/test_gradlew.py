"""The app's gradlew fetches the Gradle that its properties name, once, checks it, and runs it."""

import hashlib
import os
import re
import shutil
import subprocess
import zipfile

import pytest
from places import ROOT

PROJECT = ROOT / "android_demo"


@pytest.fixture
def project(tmp_path):
    """A function that makes a project whose properties name a small Gradle, with the given SHA-256 or its
    own; and its runner."""
    distribution = tmp_path / "gradle-9.9-bin.zip"
    script = zipfile.ZipInfo("gradle-9.9/bin/gradle")
    script.external_attr = 0o755 << 16
    with zipfile.ZipFile(distribution, "w") as archive:
        archive.writestr(script, '#!/bin/sh\necho "gradle: $*"\n')
    folder = tmp_path / "a project"
    (folder / "gradle" / "wrapper").mkdir(parents=True)
    shutil.copy(PROJECT / "gradlew", folder)

    def run(*arguments, sha256=None):
        sha256 = sha256 or hashlib.sha256(distribution.read_bytes()).hexdigest()
        properties = f"distributionUrl=file\\:{distribution}\ndistributionSha256Sum={sha256}\n"
        (folder / "gradle" / "wrapper" / "gradle-wrapper.properties").write_text(properties)
        environment = {**os.environ, "GRADLE_USER_HOME": str(tmp_path / "home")}
        return subprocess.run(
            [folder / "gradlew", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=tmp_path,
        )

    return run, distribution, folder, tmp_path / "home" / "pocketqa"


@pytest.mark.jvm
def test_it_is_fetched_once_and_gets_the_arguments(project):
    run, distribution, folder, _ = project
    first = run(":app:assembleDebug", "-Pmodel=a b")
    assert first.stdout == f"gradle: --project-dir {folder} :app:assembleDebug -Pmodel=a b\n", first.stderr
    assert first.stderr == f"fetching file:{distribution}\n"
    distribution.rename(distribution.with_suffix(".gone"))
    assert run("help", sha256="0" * 64).stderr == ""


@pytest.mark.jvm
def test_another_file_is_refused_and_nothing_is_left(project):
    run, _, _, home = project
    done = run("help", sha256="0" * 64)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        f"error: file:{project[1]} does not have the SHA-256 recorded in the project"
    ]
    assert list(home.iterdir()) == []


def test_what_the_app_says_of_its_litert_is_what_it_is_built_with():
    built = re.search(
        r'^litert = "(.+)"$',
        (PROJECT / "gradle" / "libs.versions.toml").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    strings = (PROJECT / "app" / "src" / "main" / "res" / "values" / "strings.xml").read_text(
        encoding="utf-8"
    )
    assert f'<string name="litert_version" translatable="false">{built[1]}</string>' in strings


def test_the_windows_script_takes_the_same_gradle():
    """Its steps are text only: no machine here runs them."""
    script = (PROJECT / "gradlew.bat").read_bytes().decode("ascii")
    assert script.count("\n") == script.count("\r\n")
    assert r"gradle\wrapper\gradle-wrapper.properties" in script
    labels = set(re.findall(r"^:(\w+)", script, re.MULTILINE))
    assert set(re.findall(r"goto (\w+)", script)) == labels
