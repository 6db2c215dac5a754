"""Many addresses guess passwords at once: the owner signs in from a known browser, and from a new one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from app.accounts.rules.roles import Role
from app.accounts.services.account_changes import create_account
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import application, editing_of
from tests.serving.guessing import Browser
from tests.serving.migrated import sqlite_url
from tests.serving.server import Server, serving

EMAIL, PASSWORD = "owner@example.org", "four random words of the owner"
FEW, MANY = 8, 24
"""Strangers who guess at once."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    """One worker, with the owner's account. Who is first is decided in its memory."""
    folder = tmp_path_factory.mktemp("siege")
    url = sqlite_url(folder, sqlite_template)
    with application(url) as app:
        create_account(*editing_of(app), EMAIL, PASSWORD, Role.ADMIN, actor=TESTER)
    settings = {"DATABASE_URL": url, "TRUSTED_PROXIES": "1", "WEB_CONCURRENCY": "1"}
    with serving("tests.serving.waiting_hashes:app", folder / "log", **settings) as running:
        yield running


@pytest.mark.parametrize("guessers", few_or_many(FEW, MANY))
def test_new_network_precedes_those_that_failed(server: Server, guessers: int) -> None:
    """The owner comes from a browser that nobody knows, while networks guess that failed twice before."""
    with ThreadPoolExecutor(guessers) as pool:
        strangers = [Browser(server, f"198.51.100.{number}") for number in range(guessers)]

        def guess(number: int, time: int) -> int:
            return strangers[number].sign_in(f"{number}-{time}@example.org", "not the password")

        for time in range(2):
            assert {*pool.map(guess, range(guessers), [time] * guessers)} == {200}
        owner = Browser(server, "203.0.113.5")
        token = owner.token()
        guesses = [pool.submit(guess, number, 2) for number in range(guessers)]
        wait(guesses, return_when=FIRST_COMPLETED)  # so the others wait for their turns
        assert owner.sign_in(EMAIL, PASSWORD, token) == 302
        before = sum(each.done() for each in guesses)
        assert {each.result() for each in guesses} == {200}
    assert before < guessers // 2, f"{before} of {guessers} were checked before"


@pytest.mark.parametrize("guessers", few_or_many(FEW, MANY))
def test_known_browser_precedes_strangers(server: Server, guessers: int) -> None:
    """Each guess is the first from its address and at its name, so each is checked."""
    with ThreadPoolExecutor(guessers) as pool:
        owner = Browser(server, "203.0.113.6")
        assert owner.sign_in(EMAIL, PASSWORD) == 302
        owner.sign_out()
        token = owner.token()
        strangers = [Browser(server, f"192.0.2.{number}") for number in range(guessers)]
        tokens = [stranger.token() for stranger in strangers]

        def guess(number: int) -> int:
            return strangers[number].sign_in(f"{number}@example.org", "not the password", tokens[number])

        guesses = [pool.submit(guess, number) for number in range(guessers)]
        wait(guesses, return_when=FIRST_COMPLETED)  # so the others wait for their turns
        assert owner.sign_in(EMAIL, PASSWORD, token) == 302
        before = sum(each.done() for each in guesses)
        assert owner.request("GET", "/admin/")[0] == 200
        assert {each.result() for each in guesses} == {200}
    assert before < guessers // 2, f"{before} of {guessers} were checked before"
