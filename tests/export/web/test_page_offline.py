"""The published page without a connection, after an update, and where a browser or a host lacks something."""

import os
import shutil
import threading

import pytest
from web_site import ANSWER, WAIT_S, Quiet, ask, opened, served, text, wait

from export.web.publish import integrity

pytestmark = pytest.mark.system


def test_it_answers_offline_after_the_first_visit(browser, folder):
    with served(folder) as url:
        opened(browser, url)
        wait(browser, "document.querySelector('#offline').textContent.includes('works offline')")
    opened(browser, url)
    assert ask(browser) == ANSWER
    opened(browser, url + "index.html?from=home")
    assert "checked in this browser" in text(browser, "#status")


def test_without_storage_for_the_model_it_answers_and_does_not_promise_offline_use(
    browser, folder, page_model
):
    with served(folder) as url:
        quota = page_model.weights.stat().st_size // 2
        browser.send("Storage.overrideQuotaForOrigin", origin=url.rstrip("/"), quotaSize=quota)
        opened(browser, url)
        assert ask(browser) == ANSWER
        wait(browser, "document.querySelector('#offline').textContent.includes('does not keep it')")
        assert browser.run("caches.match('page.mjs').then(Boolean)")


def test_a_host_that_lacks_a_file_is_not_waited_for(browser, folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "site")
    (copy / "licences.txt").unlink()
    with served(copy) as url:
        opened(browser, url)
        assert browser.run("performance.now()") < 8000
        assert ask(browser) == ANSWER
        wait(browser, "document.querySelector('#offline').textContent.includes('does not keep it')")


def test_after_a_slow_first_visit_the_next_one_keeps_it(browser, folder, monkeypatch):
    answer, arrived = Quiet.do_GET, threading.Event()

    def slowly(request):
        if request.path == "/licences.txt":
            arrived.wait(WAIT_S)
        answer(request)

    monkeypatch.setattr(Quiet, "do_GET", slowly)
    with served(folder) as url:
        opened(browser, url)
        assert ask(browser) == ANSWER
        wait(
            browser,
            "document.querySelector('#offline').textContent === 'Load it once more to use it offline.'",
        )
        arrived.set()
        wait(browser, "navigator.serviceWorker.ready")
        opened(browser, url)
        wait(browser, "document.querySelector('#offline').textContent.includes('works offline')")


def test_without_a_model_a_suggested_question_says_so(browser, folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "site")
    (copy / "model.tflite").unlink()
    with served(copy) as url:
        opened(browser, url)
        failed = text(browser, "#problem")
        browser.run("document.querySelector('#suggestions button').click()")
        assert text(browser, "#problem") not in ("", failed)
        assert "No model" in text(browser, "#status")


def test_without_a_connection_it_says_what_to_do(browser, folder, monkeypatch):
    answer = Quiet.do_GET
    monkeypatch.setattr(Quiet, "do_GET", lambda it: None if it.path == "/model.tflite" else answer(it))
    with served(folder) as url:
        opened(browser, url)
        assert text(browser, "#problem") == (
            "The model could not be loaded (Failed to fetch). Check the connection, and load the page again."
        )


def test_where_the_page_cannot_run_it_says_so_and_nothing_seems_to_load(browser, folder, tmp_path):
    """An old browser has neither import maps nor the unpacking that the model needs; another runs no scripts."""
    old = shutil.copytree(folder, tmp_path / "site")
    for name, part, replacement in (
        ("index.html", 'type="importmap"', 'type="unknown"'),
        ("page.mjs", '"deflate-raw"', '"unknown"'),
    ):
        content = (old / name).read_text()
        assert part in content
        (old / name).write_text(content.replace(part, replacement))
    with served(old) as url:
        opened(browser, url)
        assert "Update it, or use another browser." in text(browser, "#problem")
        assert text(browser, "#loading") == ""
        browser.open(url, scripts=False)
        assert browser.run("document.querySelector('noscript p').checkVisibility()")
        assert text(browser, "#loading") == ""


def test_where_its_script_does_not_load_the_page_says_what_the_server_must_do(browser, folder, monkeypatch):
    """Servers that do not know .mjs send it as bytes, and browsers refuse that."""
    monkeypatch.setitem(Quiet.extensions_map, ".mjs", "application/octet-stream")
    with served(folder) as url:
        opened(browser, url)
        assert ".mjs" in text(browser, "#problem")


def test_an_updated_page_replaces_the_old_one(browser, folder, tmp_path):
    updated = shutil.copytree(folder, tmp_path / "site")
    published = updated / "published.js"
    os.utime(published, (0, 0))  # what is old, a browser takes from its own cache unless told otherwise
    sample = '{ title: "New", text: "Ada wrote it.", questions: [] }'
    with served(updated) as url:
        opened(browser, url)
        before = integrity(updated / "samples.mjs")
        (updated / "samples.mjs").write_text(f"export const SAMPLES = [{sample}];\n")
        listed = published.read_text().replace('"version": "', '"version": "updated ')
        published.write_text(listed)  # the host has a file that is not of this version
        opened(browser, url)
        assert not browser.run("caches.keys().then(names => names.some(name => name.includes('updated')))")
        published.write_text(listed.replace(before, integrity(updated / "samples.mjs")))
        opened(browser, url)
        kept = "(await caches.keys()).filter(name => name.includes(location.origin))"
        wait(
            browser,
            f"(async () => {{ const k = {kept}; return k.length === 1 && k[0].includes('/ updated'); }})()",
        )
    opened(browser, url)
    assert browser.run("document.querySelector('#passage').value") == "Ada wrote it."
    assert "checked in this browser" in text(browser, "#status")


def test_a_reload_past_the_service_worker_does_not_wait_for_it(page):
    page.send("Page.reload", ignoreCache=True)
    wait(page, "document.querySelector('#ask')?.disabled === false")
    assert page.run("performance.now()") < 8000
    wait(page, "document.querySelector('#offline').textContent.includes('works offline')")
