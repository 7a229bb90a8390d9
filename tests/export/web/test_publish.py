"""`python -m export.web`: a whole folder, its list of files for the service worker, and what it refuses."""

import base64
import errno
import hashlib
import json
import re
import shutil

import pytest
from places import ROOT

from export.options import WebOptions, window_lengths
from export.web import publish as publishing
from export.web.publish import BUILDS, PAGE, PDF_SCRIPTS, publish
from qa.base.errors import BundleError, OptionError


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """A folder like npm's, of small files."""
    folder = tmp_path / "npm"
    names = ["@litertjs/core/dist/index.js", "@litertjs/wasm-utils/dist/index.js"]
    names += [f"@litertjs/core/wasm/{build}.{suffix}" for build in BUILDS for suffix in ("js", "wasm")]
    names += [f"pdfjs-dist/legacy/build/{script}" for script in PDF_SCRIPTS]
    names += ["pdfjs-dist/cmaps/LICENSE", "pdfjs-dist/cmaps/H.bcmap"]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    monkeypatch.setattr(publishing, "NPM", folder)
    return folder


def published(folder):
    return json.loads(
        re.fullmatch(r"self\.PUBLISHED = (.*);\n", (folder / "published.js").read_text(), re.DOTALL)[1]
    )


@pytest.fixture
def model(tiny_export):
    return tiny_export("tflite")


def test_every_file_is_listed_once_for_the_service_worker(model, npm, tmp_path):
    folder = publish(WebOptions(model.path, tmp_path / "site"))
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    listed = published(folder)
    by_hand = {"published.js", "service-worker.js", "index.html"}  # the browser's own, and "./"
    assert sorted([*listed["small"], *listed["large"]]) == sorted({"./", *files} - by_hand)
    assert {"model.tflite", "pdfjs/pdf.worker.min.mjs", "pdfjs/cmaps/H.bcmap"} < {*listed["large"]}
    assert (folder / "model.tflite").read_bytes() == model.weights.read_bytes()
    digest = hashlib.sha256((folder / "index.html").read_bytes()).digest()
    assert listed["small"]["./"] == f"sha256-{base64.b64encode(digest).decode()}"


def test_a_changed_file_is_another_version_and_the_page_is_replaced(model, npm, tmp_path, capsys):
    config = WebOptions(model.path, tmp_path / "my site")
    before = published(publish(config))
    assert f"--directory '{config.out}' 8000" in capsys.readouterr().out
    assert published(publish(config)) == before
    (npm / "@litertjs/core/dist/index.js").write_text("another")
    after = published(publish(config))
    assert after["version"] != before["version"]
    assert (config.out / "litert/index.js").read_text() == "another"
    assert sorted(tmp_path.iterdir()) == [config.out, npm]


@pytest.mark.parametrize("there", [False, True])
def test_a_link_to_the_folder_stays_a_link(model, npm, tmp_path, there):
    served = tmp_path / "served" / "site"
    if there:
        publish(WebOptions(model.path, served))
    link = tmp_path / "link"
    link.symlink_to(served)
    (npm / "@litertjs/core/dist/index.js").write_text("another")
    assert publish(WebOptions(model.path, link)) == link
    assert link.is_symlink()
    assert (served / "litert/index.js").read_text() == "another"
    assert list(served.parent.iterdir()) == [served]


@pytest.mark.parametrize("name", ["CNAME", ".git/HEAD", "litert/notes.txt", "index.html"])
def test_a_page_with_something_of_the_users_is_left_alone(model, npm, tmp_path, name):
    config = WebOptions(model.path, tmp_path / "site")
    publish(config)
    (config.out / name).parent.mkdir(exist_ok=True)
    (config.out / name).write_text("mine")
    with pytest.raises(OptionError, match=f"--out {config.out}"):
        publish(config)
    assert (config.out / name).read_text() == "mine"


def test_a_full_disk_leaves_the_page_that_was_there(model, npm, tmp_path, monkeypatch):
    config = WebOptions(model.path, tmp_path / "site")
    before = published(publish(config))

    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full)
        for out in (config.out, tmp_path / "new"):
            with pytest.raises(OSError, match="No space left"):
                publish(WebOptions(model.path, out))
    assert sorted(tmp_path.iterdir()) == [npm, config.out]
    assert published(publish(config)) == before


def test_another_folder_is_refused_and_left_alone(model, npm, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").touch()
    with pytest.raises(OptionError, match=f"--out {tmp_path / 'mine'}"):
        publish(WebOptions(model.path, tmp_path / "mine"))
    assert (tmp_path / "mine" / "note.txt").exists()


def test_without_npms_packages_the_command_to_install_them_is_named(model, npm, tmp_path):
    (npm / "@litertjs/core/dist/index.js").unlink()
    with pytest.raises(OptionError, match="npm ci"):
        publish(WebOptions(model.path, tmp_path / "site"))
    assert not (tmp_path / "site").exists()


def test_a_bundle_of_another_format_is_refused(make_bundle, tmp_path):
    with pytest.raises(BundleError, match="tflite"):
        publish(WebOptions(make_bundle(), tmp_path / "site"))


def test_a_bundle_of_any_length_is_refused(tiny_export, npm, tmp_path):
    bundle = tiny_export("any-length")
    with pytest.raises(OptionError, match=r"--lengths (.+)$") as refusal:
        publish(WebOptions(bundle.path, tmp_path / "site"))
    lengths = [int(length) for length in str(refusal.value).rpartition("--lengths ")[2].split(" ")]
    assert window_lengths(lengths, bundle.settings) == tuple(lengths), "which the export takes"
    assert not (tmp_path / "site").exists()


def test_the_policy_allows_the_pages_import_map_and_no_other_server():
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', page)
    (imports,) = re.findall(r'<script type="importmap">(.*?)</script>', page)
    digest = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    assert "http" not in policy
    assert policy.startswith("default-src 'none';")


def test_the_page_carries_the_licence():
    assert (PAGE / "apache-2.0.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()
