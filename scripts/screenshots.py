"""``make screenshots``: the console's pages and the page of a transfer, light and dark, into docs/images/.

Starts its own gateway with its own database, and a browser. The pictures always show the same story, at the
time of the run.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, Playwright, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
REFUND = f"/admin/transfers/0x{7:064x}"
PAGES = {
    "dashboard": "/admin/",
    "transfer": REFUND,
    "route": "/admin/routes/1",
    "audit": "/admin/audit/",
}
"""The pages in docs/console.md, the first also in the README and its index, by the name of the picture."""

PHONE_PAGES = ("dashboard", "transfer")
"""Those of them that also have a picture of a phone."""

FOLLOWED = f"/transfer/0x{6:064x}"
"""A page of a transfer, at which its user must act: in the README and the index, as on a phone."""

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PHONE: ViewportSize = {"width": 390, "height": 844}
SIZE: ViewportSize = {"width": 1280, "height": 900}
ESTIMATE = (
    "{base}/v2/estimateAmt?src_chain_id={src}&dst_chain_id={dst}&token_symbol=USDT&amt={amount}"
    "&slippage_tolerance=5000"
)


@contextmanager
def gateway(folder: Path) -> Iterator[tuple[str, str]]:
    """A gateway with the sandbox: its address, and the password of its first account."""
    settings = {
        "DATABASE_URL": f"sqlite:///{folder / 'gateway.db'}",
        "SECRET_KEY": "only for pictures, 32 characters or more",
        "PORT": "0",
    }
    settings |= {"AUDIT_KEY": "only for pictures, not a secret at all", "WEB_CONCURRENCY": "2"}
    process = subprocess.Popen(
        [sys.executable, "-m", "scripts.start"],
        cwd=ROOT,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield printed(process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def printed(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The address of the console and the password, from the output of the start.

    :raises SystemExit: it ended without printing them.
    """
    address = ""
    for line in process.stdout or ():
        if found := re.search(r"Console +(http://[^/]+)/admin/", line):
            address = found[1]
        if found := re.search(r"password  (\S+) ", line):
            return address, found[1]
    raise SystemExit("the gateway did not start: run make run to see why")


def request_estimates(base: str) -> None:
    for number in range(40):
        for src, dst, amount in ((1, 56, 10**8 + number), (1, 77, 10**6), (56, 1, 10), (137, 43114, 10**40)):
            url = ESTIMATE.format(base=base, src=src, dst=dst, amount=amount)
            urllib.request.urlopen(url).close()  # noqa: S310  the gateway that was started here
    time.sleep(6)  # counts are written every few seconds


def sign_in(page: Page, base: str, password: str) -> None:
    page.goto(f"{base}/admin/")
    page.get_by_label("Email").fill("admin@localhost")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{base}/admin/")


def picture(browser: Browser, base: str, password: str) -> None:
    """Every page in both themes, some of the console also on a phone."""
    page = browser.new_page(viewport=SIZE, locale="en-GB", timezone_id="UTC")
    sign_in(page, base, password)
    for scheme in THEMES:
        page.emulate_media(color_scheme=scheme)
        for name, path in PAGES.items():
            take(page, base + path, f"{name}-{scheme}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    for name in PHONE_PAGES:
        take(page, base + PAGES[name], f"{name}-phone.png")
    for scheme in THEMES:
        page.emulate_media(color_scheme=scheme)
        take(page, base + FOLLOWED, f"followed-{scheme}.png")


def take(page: Page, url: str, name: str) -> None:
    """One picture.

    :raises SystemExit: there is no such page.
    """
    answer = page.goto(url)
    if answer is None or not answer.ok:
        raise SystemExit(
            f"{url} answered {answer and answer.status}: correct PAGES in scripts/screenshots.py"
        )
    page.wait_for_timeout(400)  # the chart draws itself
    page.screenshot(path=IMAGES / name)
    sys.stdout.write(f"docs/images/{name}\n")


def chromium(playwright: Playwright) -> Browser:
    """
    :raises SystemExit: it is not installed.
    """
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if not path:
        raise SystemExit("make screenshots needs Chromium: apt-get install chromium")
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="gateway-pictures-") as folder,
        gateway(Path(folder)) as (base, password),
        sync_playwright() as playwright,
    ):
        request_estimates(base)
        browser = chromium(playwright)
        picture(browser, base, password)
        browser.close()


if __name__ == "__main__":
    main()
