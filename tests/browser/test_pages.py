"""Every page of the console in a browser: accessible, quiet, at home."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import ViewportSize

from app.domain.codes import TransferHistoryStatus as Status
from app.domain.operators import Role
from app.sandbox.catalogue import sandbox_id
from tests.admin.visitor import email_of
from tests.browser.conftest import COLOURS, DESKTOP, Visit
from tests.volume import FULL

PHONE = ViewportSize(width=390, height=844)
PARTS = 6
"""The pages are shared out among so many tests, which different processes may take."""
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
CASES = [(part, scheme) for part in range(PARTS) for scheme in (SCHEMES if FULL else SCHEMES[part % 2 :][:1])]
"""Everyday each page is opened in one of the schemes, in full in both."""

PAGES = (
    "/admin/",
    "/admin/transfers/",
    "/admin/transfers/?stuck=1",
    "/admin/transfers/?stuck=user",
    "/admin/transfers/?stuck=user&seen=1",
    "/admin/search/",
    "/admin/search/?q=0x1234",
    "/admin/search/?q=usdc",
    "/admin/search/?q=0x0000…0001",
    f"/admin/transfers/{sandbox_id(Status.TRANSFER_COMPLETED)}",
    f"/admin/transfers/{sandbox_id(Status.TRANSFER_REQUESTING_REFUND)}",
    f"/admin/transfers/{sandbox_id(Status.TRANSFER_UNKNOWN, 1)}",
    "/admin/estimates/",
    "/admin/estimates/?src=1&dst=56&token=USDT&amount=100&slippage=0.5",
    "/admin/estimates/?src=1&dst=56&token=USDT&amount=100000000&slippage=0.5",
    "/admin/estimates/?src=1&amount=x&caller=x",
    "/admin/anomalies/",
    "/admin/proposals/",
    "/admin/chains/",
    "/admin/chains/1",
    "/admin/chains/1/stop",
    "/admin/chains/1/remove",
    "/admin/chains/stop?all=1",
    "/admin/chains/resume?all=1",
    "/admin/history/?subject=chain+1",
    "/admin/history/at",
    "/admin/history/at?time=2020-01-01",
    "/admin/document/",
    "/admin/document/at?time=2020-01-01",
    "/admin/connect/",
    "/admin/connect/?like=1",
    "/admin/validators/1/opening",
    "/admin/chains/128/resume",
    "/admin/chains/new",
    "/admin/watching/",
    "/admin/watching/1",
    "/admin/tokens/",
    "/admin/tokens/1",
    "/admin/pools/",
    "/admin/pools/1",
    "/admin/routes/",
    "/admin/routes/1",
    "/admin/routes/new",
    "/admin/routes/base-fees",
    "/admin/pegged_pairs/",
    "/admin/pegged_pairs/1",
    "/admin/route_blocks/",
    "/admin/route_blocks/new",
    "/admin/route_blocks/1/remove",
    "/admin/blocked_addresses/",
    "/admin/blocked_addresses/1",
    "/admin/blocked_addresses/add",
    "/admin/blocked_networks/",
    "/admin/blocked_networks/add",
    "/admin/audit/",
    "/admin/audit/1",
    "/admin/validators/",
    "/admin/validators/?chain=10",
    "/admin/ingest_tokens/",
    "/admin/ingest_tokens/new",
    "/admin/operators/",
    "/admin/operators/new",
    "/admin/operators/1",
    "/admin/account/",
    "/admin/account/kept",
    "/admin/account/password",
    "/admin/account/second-factor",
    "/admin/account/passkey",
    "/admin/account/recovery-codes",
)


def test_the_pages_before_signing_in(visit: Visit) -> None:
    visit.open("/admin/")
    visit.check_accessibility()


@pytest.mark.parametrize(("part", "scheme"), CASES)
def test_the_pages(visit: Visit, part: int, scheme: Scheme) -> None:
    """In light and dark. Also on a phone, where nothing may be wider than the screen.

    The schemes differ in nothing but colours, so the page is asked about these alone in the other one.
    """
    (other,) = set(SCHEMES) - {scheme}
    page = visit.page
    page.emulate_media(color_scheme=scheme)
    visit.sign_in(email_of(Role.ADMIN))
    for path in PAGES[part::PARTS]:
        visit.open(path)
        visit.check_accessibility()
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
        page.set_viewport_size(DESKTOP)
        page.emulate_media(color_scheme=other)
        visit.check_accessibility(COLOURS)
        page.emulate_media(color_scheme=scheme)
