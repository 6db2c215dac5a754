"""Every recorded request is answered as it was recorded, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

import pytest
from flask import Flask

from tests.contract.conftest import OpenSandbox
from tests.contract.recorded_answers import RECORDED, STRICT, Answer, Request, sandbox_on, send_request
from tests.databases import new_postgres_database

Exchange = dict[str, Any]

ANSWERS, FIELDS, CHARACTERS = 20, 10, 90
"""How much of a difference is printed: so many answers, fields of each, and characters of a value."""


def exchanges() -> list[Exchange]:
    recorded: list[Exchange] = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert len(recorded) > 200
    return recorded


def assert_given_again(app: Flask, recorded: list[Exchange]) -> None:
    changed = [
        (exchange["request"], exchange["answer"], answer)
        for exchange in recorded
        if (answer := send_request(app, exchange["request"])) != exchange["answer"]
    ]
    if changed:
        parts = [difference(*each) for each in changed[:ANSWERS]]
        more = [f"… and {len(changed) - ANSWERS} more"] * (len(changed) > ANSWERS)
        text = "\n".join([f"{len(changed)} of {len(recorded)} answers changed", *parts, *more])
        pytest.fail(text, pytrace=False)


def difference(request: Request, recorded: Answer, now: Answer) -> str:
    """The request, and each field of the answer that differs, as it was recorded and as it is now."""
    body = request.get("body") or request.get("base64") or ""
    name = " ".join(request.get("command") or (request["method"], request["path"], body))
    differing = list(differing_fields(as_json(recorded), as_json(now)))
    if not differing:  # the same JSON, in other bytes
        differing = list(differing_fields(recorded, now))
    lines = [f"\n{name[:CHARACTERS]}"]
    for field, *values in differing[:FIELDS]:
        before, after = shown(*values)
        lines += [f"  {field}", f"    recorded: {before}", f"    now:      {after}"]
    if len(differing) > FIELDS:
        lines.append(f"  … and {len(differing) - FIELDS} more fields")
    return "\n".join(lines)


def as_json(answer: Answer) -> Answer:
    """The answer with its body or output as JSON, where it is JSON."""
    read = dict(answer)
    for name in {"body", "output"} & answer.keys():
        try:
            read[name] = json.loads(answer[name])
        except ValueError:
            lines = answer[name].splitlines()
            read[name] = lines if len(lines) > 1 else answer[name]
    return read


class Nothing:
    """The value of a field that is not there."""

    def __repr__(self) -> str:
        return "(nothing)"


NOTHING = Nothing()


def differing_fields(before: Any, now: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two values differ, as deep as both have the same form: the place, and the two values there."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in before | now:
            inner = f"{place}.{name}".lstrip(".")
            yield from differing_fields(before.get(name, NOTHING), now.get(name, NOTHING), inner)
    elif isinstance(before, list) and isinstance(now, list):
        for number in range(max(len(before), len(now))):
            first, second = ([*each[number : number + 1], NOTHING][0] for each in (before, now))
            yield from differing_fields(first, second, f"{place}[{number}]")
    elif type(before) is not type(now) or before != now:
        yield place, before, now


def shown(before: Any, now: Any) -> tuple[str, str]:
    """Both values as text, long ones from shortly before the first character that differs."""
    texts = [
        repr(each) if each is NOTHING else json.dumps(each, ensure_ascii=False) for each in (before, now)
    ]
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(0, alike - CHARACTERS // 3)
    first, second = ("…" * (start > 0) + text[start : start + CHARACTERS] for text in texts)
    return first, second


def test_recorded_answers_are_unchanged(open_sandbox: OpenSandbox) -> None:
    assert_given_again(open_sandbox(), exchanges())


def test_postgresql_gives_the_recorded_answers(postgres_server: str, postgres_template: str) -> None:
    assert_given_again(sandbox_on(new_postgres_database(postgres_server, postgres_template)), exchanges())


def test_strict_answers_equal_recorded_ones(open_sandbox: OpenSandbox) -> None:
    """But for what is recorded apart."""
    apart: list[Exchange] = json.loads(STRICT.read_text(encoding="utf-8"))
    answers = {json.dumps(each["request"]): each["answer"] for each in apart}
    assert len(answers) == len(apart)
    recorded = [
        each | {"answer": answers.pop(json.dumps(each["request"]), each["answer"])} for each in exchanges()
    ]
    assert not answers
    assert_given_again(open_sandbox(compat_clients=False), recorded)
