import pytest
from chromium import chromium
from web_site import opened, served, unexpected

from export.web.publish import WebOptions, publish

BROWSER_S = 400


@pytest.fixture(scope="module")
def folder(page_model, tmp_path_factory):
    return publish(WebOptions(page_model.path, tmp_path_factory.mktemp("web") / "site"))


@pytest.fixture(scope="module")
def browser():
    with chromium(BROWSER_S) as page:
        yield page


@pytest.fixture(scope="module")
def site(folder):
    with served(folder) as url:
        yield url


@pytest.fixture
def page(browser, site):
    browser.errors.clear()
    browser.requests.clear()
    yield opened(browser, site)
    assert unexpected(browser.errors) == []
