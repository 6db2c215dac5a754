"""The pages in the reader's language: which one, its texts, numbers and times; English everywhere else."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog, Message
from flask import Flask
from flask.testing import FlaskClient

from app.sandbox.catalogue import SANDBOX_TRANSFERS, sandbox_id
from app.transfer_page.languages import LANGUAGES, current_reader, language_of, reading
from app.values.codes import TransferHistoryStatus as Status
from scripts.languages import catalogues, compiled, messages, read, updated
from tests.api.shapes import FIND, assert_refused
from tests.api.world import ADDRESS, event, released, report_events, sent
from tests.applications import OpenApp

ID = "0x" + "5a" * 32
PAID = f"/transfer/{sandbox_id(Status.TRANSFER_COMPLETED)}"
HEADLINES = {"en": "Paid out on", "es": "Pagada en", "zh-Hans": "已在"}
CATALOGUES = list(catalogues())
NAMES = [path.parents[1].name for path in CATALOGUES]


def heading(answer: Any) -> str:
    (found,) = re.findall(r"<h1>(.*?)</h1>", answer.text)
    return html.unescape(found)


@pytest.fixture(params=CATALOGUES, ids=NAMES)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def texts(catalog: Catalog) -> Iterator[Message]:
    return (each for each in catalog if each.id)


def forms_of(message: Message) -> tuple[list[str], list[str]]:
    """Singular and plural of a text, or the only one, and those of its translation."""
    one_or_more: list[Any] = [message.id, message.string]
    ids, forms = ([each] if isinstance(each, str) else list(each or ()) for each in one_or_more)
    return ids, forms


def test_each_language_has_its_catalogue() -> None:
    assert {language.replace("-", "_") for language in LANGUAGES} == {"en", *NAMES}


def test_translations_are_complete_without_leftovers(path: Path) -> None:
    """After a change of a text: `make languages`, then translate it."""
    wanted = {str(each.id) for each in texts(messages())}
    catalog = read(path)
    assert {str(each.id) for each in texts(catalog)} == wanted
    assert not catalog.obsolete
    for each in texts(catalog):
        _, forms = forms_of(each)
        assert not each.fuzzy and forms and all(form and form == form.strip() for form in forms), each.id


def test_translations_have_the_same_values(path: Path) -> None:
    for each in texts(read(path)):
        ids, forms = forms_of(each)
        for form in forms:
            assert values(form) == values(ids[-1]), each.id


def values(text: str) -> list[str]:
    """The values of a text. Whatever else begins with a percent sign fails, and so do tags."""
    found = re.findall(r"%\((\w+)\)s", text)
    assert "<" not in text % dict.fromkeys(found, "")
    return sorted(found)


def test_served_translations_match_the_catalogue(path: Path) -> None:
    assert path.with_suffix(".mo").read_bytes() == compiled(updated(path)), "run `make languages`"


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"), ("en-GB", "en"), ("es", "es"), ("es-419", "es"), ("ES_mx", "es"), ("zh", "zh-Hans"),
        ("zh-CN", "zh-Hans"), ("zh-Hans", "zh-Hans"), ("zh_hans", "zh-Hans"), ("zh-TW", None),
        ("zh-Hant", None), ("zh-HK", None), ("de", None), ("", None), ("*", None), ("e", None),
    ],
)  # fmt: skip
def test_tag_chooses_language(tag: str, language: str | None) -> None:
    assert language_of(tag) == language


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("es", "es"),
        ("de, es;q=0.5, en;q=0.9", "en"),
        ("zh-TW, zh;q=0.9, en;q=0.8", "zh-Hans"),
        ("es;q=0, en", "en"),
        ("fr, de", "en"),
        ("", "en"),
        ("*", "en"),
        (";;q=x", "en"),
    ],
)
def test_language_follows_accept_language(sandbox: FlaskClient, accepted: str, language: str) -> None:
    answer = sandbox.get(PAID, headers={"Accept-Language": accepted})
    assert heading(answer).startswith(HEADLINES[language])
    assert f'<html lang="{language}">' in answer.text
    assert answer.headers["Content-Language"] == language
    assert answer.headers["Vary"] == "Accept-Language, Cookie"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in answer.headers


def test_chosen_language_is_remembered_first(sandbox: FlaskClient) -> None:
    spanish = {"Accept-Language": "es"}
    chosen = sandbox.get(f"{PAID}?lang=zh-Hans", headers=spanish)
    assert heading(chosen).startswith(HEADLINES["zh-Hans"])
    cookie = chosen.headers["Set-Cookie"]
    assert cookie.startswith("lang=zh-Hans; ") and "Max-Age=31536000" in cookie
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Path=/transfer/" in cookie
    for path in (PAID, "/transfer/", "/transfer/not/a.key"):
        assert sandbox.get(path, headers=spanish).headers["Content-Language"] == "zh-Hans"
    assert sandbox.get(f"{PAID}?lang=en", headers=spanish).headers["Content-Language"] == "en"
    assert sandbox.get(PAID, headers=spanish).headers["Content-Language"] == "en"


def test_invalid_language_is_not_remembered(sandbox: FlaskClient) -> None:
    for tag in ("fr", "zh-TW", "../x", "%00", "x" * 2000):
        answer = sandbox.get(f"{PAID}?lang={tag}", headers={"Cookie": "lang=klingon"})
        assert (answer.status_code, answer.headers["Content-Language"]) == (200, "en")
        assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_translated(sandbox: FlaskClient, language: str) -> None:
    """No text of English is left on a page of another language, and no value is left open."""
    unknown = "/transfer/0x" + "99" * 32
    paths = [f"/transfer/{transfer.transfer_id}" for transfer in SANDBOX_TRANSFERS]
    english = re.compile(r"\b(the|your|you|is|refund|transfer|wallet)\b", re.IGNORECASE)
    for path in [*paths, unknown, "/transfer/", "/transfer/?key=%3Cb%3E", "/transfer/not/a.key"]:
        answer = sandbox.get(path, headers={"Accept-Language": language})
        words = html.unescape(re.sub(r"<[^>]+>", " ", answer.text.partition("<body>")[2]))
        assert "%(" not in words and "None" not in words
        assert bool(english.search(words)) == (language == "en"), english.findall(words)
        for other in LANGUAGES.keys() - {language}:
            assert f'href="?lang={other}" lang="{other}"' in answer.text


def test_error_page_is_translated(open_app: OpenApp) -> None:
    client = open_app(rate_limit="1/minute").test_client()
    spanish = {"Accept-Language": "es"}
    client.get("/transfer/", headers=spanish)
    answer = client.get("/transfer/", headers=spanish)
    assert (answer.status_code, heading(answer)) == (429, "Demasiadas consultas desde tu conexión")


@pytest.mark.parametrize(
    ("language", "amount", "span", "time", "number"),
    [
        ("en", "1 234 567.5 USDT", "2 h 5 min", "8 Mar 09:05 UTC", "21 000 000"),
        ("es", "1.234.567,5 USDT", "2 h 5 min", "8 mar, 9:05 UTC", "21.000.000"),
        ("zh-Hans", "1,234,567.5 USDT", "2小时5分钟", "3月8日 09:05 UTC", "21,000,000"),
    ],
)
def test_numbers_and_times_are_localized(
    app: Flask, language: str, amount: str, span: str, time: str, number: str
) -> None:
    with app.test_request_context("/transfer/"), reading(language) as reader:
        assert reader.language == language
        assert reader.amount(1_234_567_500_000, 6, "USDT") == amount
        assert reader.span(timedelta(hours=2, minutes=5, seconds=9)) == span
        assert reader.time(datetime(2026, 3, 8, 9, 5, tzinfo=UTC)) == time
        assert reader.number(21_000_000) == number


def test_no_digit_of_an_amount_is_lost(app: Flask) -> None:
    amount = 10**77 + 1
    with app.test_request_context("/transfer/"), reading("es") as reader:
        text = reader.amount(amount, 18, "X")
        assert int(re.sub(r"\D", "", text)) == amount
        assert reader.amount(5, 0, "X") == "5 X" and reader.amount(5, 1, "X") == "0,5 X"
        assert reader.span(timedelta(seconds=1)) == "1 s" and reader.span(timedelta()) == "0 s"


@pytest.mark.parametrize(
    ("blocks", "expected"), [(1, "(1 bloque)"), (12, "(12 bloques)"), (2_000_000, "(2.000.000 bloques)")]
)
def test_plural_follows_number(app: Flask, blocks: int, expected: str) -> None:
    one, several = (
        "%(transfer)s is in a block on %(source)s. We are waiting until that block is final and cannot be "
        f"undone (%(num)s {word})."
        for word in ("block", "blocks")
    )
    with app.test_request_context("/transfer/"), reading("es") as reader:
        assert expected in reader.plural(one, several, blocks, transfer="T", source="S")


def test_text_without_translation_is_english(app: Flask) -> None:
    with app.test_request_context("/transfer/"), reading("es") as reader:
        assert reader.text("Nobody translated %(this)s", this="this") == "Nobody translated this"


def test_other_pages_are_english(app: Flask) -> None:
    spanish = {"Accept-Language": "es", "Cookie": "lang=es"}
    for path, language in (("/transfer/", "es"), ("/admin/", "en"), ("/v2/getTransfer?lang=es", "en")):
        with app.test_request_context(path, headers=spanish):
            assert current_reader().language == language


@pytest.mark.every_database
def test_interface_words_equal_page(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID, block=5), released(ID, timedelta(seconds=5), amount="999500000000000000000"))
    for tag, language in (("es", "es"), ("zh-CN", "zh-Hans"), ("en-US", "en"), ("fr", "en")):
        answer = client.get(f"{FIND}?key={ID}&lang={tag}", headers={"Accept-Language": "es"})
        (found,) = answer.get_json()["transfers"]
        page = client.get(f"/transfer/{ID}", headers={"Accept-Language": tag})
        text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.text)).split())
        assert found["words"]["lang"] == language
        assert found["words"]["headline"] == heading(page)
        for name in ("now", "next", "certainty"):
            assert found["words"][name] in text
        assert ADDRESS in found["words"]["now"] and "BNB Chain" in found["words"]["now"]
    assert client.get(f"{FIND}?key={ID}&lang=").get_json()["transfers"][0]["words"] is None
    refused = client.get(f"{FIND}?key={ID}&lang={'x' * 36}")
    assert assert_refused(refused, 400, "bad_request", FIND) == "lang: must have at most 35 characters"


def test_words_follow_refund(app: Flask, client: FlaskClient) -> None:
    """An announcement, and a refund that waits in the contract's queue."""
    report_events(app, event("transfer.submitted", transfer_id=ID, src_chain_id=1))
    assert worded(client)["headline"] == "Waiting for Ethereum"
    report_events(app, sent(ID, block=5))
    assert worded(client)["headline"] == "Sent on Ethereum"
    report_events(app, event("refund.submitted", transfer_id=ID, tx_hash="0x" + "ef" * 32))
    assert worded(client)["headline"] == "Your refund is on its way"
    report_events(app, event("refund.delayed", transfer_id=ID, delayed_id="0x" + "ee" * 32))
    assert worded(client)["headline"] == "Your refund is held back for some time"
    assert "held back" in heading(client.get(f"/transfer/{ID}"))


def worded(client: FlaskClient) -> dict[str, str]:
    (found,) = client.get(f"{FIND}?key={ID}&lang=en").get_json()["transfers"]
    words: dict[str, str] = found["words"]
    return words
