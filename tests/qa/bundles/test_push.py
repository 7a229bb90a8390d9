"""Upload by the hub's own client, to a server on this machine that speaks as much of the hub's protocol."""

import base64
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from places import ROOT

from qa.base.errors import OptionError
from qa.bundles.bundle import copy_bundle, open_bundle
from qa.bundles.push import PushConfig

ARGUMENTS = ["-m", "qa.bundles.push", "--repository", "me/student", "--model"]


class Hub(ThreadingHTTPServer):
    """A hub with one repository, whose files are here by name."""

    def __init__(self, home):
        super().__init__(("127.0.0.1", 0), Requests)
        self.files = {".gitattributes": b""}
        self.home = home
        """The client's folder, so that none of its files of this machine matter."""
        self.created = None
        self.commits = []

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"


class Requests(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def reply(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if not self.path.startswith("/api/models/me/student"):
            self.reply({"error": "Not found"}, 404)
        elif self.headers["Authorization"] != "Bearer hf_right":
            self.reply({"error": "Invalid username or password."}, 401)
        elif "/tree/" in self.path:
            files = self.server.files
            self.reply([{"type": "file", "path": name, "size": 1, "oid": "0"} for name in files])
        else:
            self.reply({"id": "me/student", "siblings": [{"rfilename": name} for name in self.server.files]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.headers["Authorization"] != "Bearer hf_right":
            self.reply({"error": "Invalid username or password."}, 401)
        elif self.path == "/api/repos/create":
            self.server.created = json.loads(body)
            self.reply({"url": f"{self.server.address}/me/student"})
        elif self.path == "/api/models/me/student/preupload/main":
            files = json.loads(body)["files"]
            regular = {"uploadMode": "regular", "shouldIgnore": False}
            self.reply({"files": [{"path": file["path"], **regular} for file in files]})
        elif self.path == "/api/models/me/student/commit/main":
            header, *lines = map(json.loads, body.splitlines())
            self.server.commits.append(header["value"]["summary"])
            for line in lines:
                self.server.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            self.reply({"commitUrl": f"{self.server.address}/me/student/commit/1", "commitOid": "1"})
        else:
            assert self.path == "/api/validate-yaml"
            self.reply({})


@pytest.fixture
def hub(tmp_path):
    with Hub(tmp_path / "home") as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def push(hub, bundle, *more, token="hf_right"):
    environment = os.environ | {"HF_ENDPOINT": hub.address, "HF_TOKEN": token, "HF_HUB_OFFLINE": "0"}
    environment["HF_HOME"] = str(hub.home)
    command = [sys.executable, *ARGUMENTS, str(bundle), *more]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def test_what_was_pushed_is_the_bundle(hub, make_bundle, tmp_path):
    bundle = copy_bundle(make_bundle(), tmp_path / "student")
    (bundle.path / "notes.txt").write_text("not part of the bundle")
    run = push(hub, bundle.path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip().endswith("/me/student")
    assert hub.created["name"] == "student"
    assert hub.created.get("private") is True or hub.created.get("visibility") == "private"
    assert hub.commits == [f"{bundle.path.name}, bundle {bundle.sha256[:16]}"]
    assert "notes.txt" not in hub.files
    fetched = tmp_path / "fetched"
    fetched.mkdir()
    for name, content in hub.files.items():
        (fetched / name).write_bytes(content)
    assert open_bundle(fetched).sha256 == bundle.sha256
    assert push(hub, bundle.path, "--public").returncode == 0, "the same names again"
    assert hub.created.get("private") is False or hub.created.get("visibility") == "public"


def test_a_repository_with_other_files_is_refused_before_anything_is_sent(hub, make_bundle):
    hub.files["model.onnx"] = b"another model"
    run = push(hub, make_bundle())
    assert run.returncode == 2
    assert "me/student: has files that are not the bundle's (model.onnx)" in run.stderr
    assert hub.commits == []


def test_a_wrong_token_is_an_error_of_one_line(hub, make_bundle):
    run = push(hub, make_bundle(), token="hf_wrong")
    assert run.returncode == 2
    (line,) = run.stderr.strip().splitlines()
    assert "401" in line
    assert "hf auth login" in line


def test_a_changed_bundle_is_not_uploaded(hub, make_bundle, tmp_path):
    path = copy_bundle(make_bundle(), tmp_path / "student").path
    with (path / "qa.json").open("a") as file:
        file.write(" ")
    run = push(hub, path)
    assert run.returncode == 2
    assert "qa.json: changed since it was made" in run.stderr
    assert hub.created is None


def test_a_repository_needs_a_user_and_a_name(tmp_path):
    with pytest.raises(OptionError, match=r"--repository student: .*USER/NAME"):
        PushConfig(tmp_path, "student")
