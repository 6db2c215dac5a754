"""Requests a second, latency and processor time of every operation, beside floors of the same run.

``python -m bench.http`` takes about eight minutes; ``--quick`` is a smoke run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import orjson
import psutil

from app.runtime.gateway import current_gateway
from bench.contenders import CONTENDERS, Contender, Setting, command, settings_for
from bench.database import gateway_on, postgres_server
from bench.dataset import (
    TRANSFERS,
    Question,
    estimate_questions,
    fill,
    latency_questions,
    status_questions,
    transfer_ids,
    write_questions,
)
from bench.load import press, require_wrk
from bench.report import Round, print_report
from bench.serving import Served, ask, cpu_seconds, serving

PROBES = 50
"""Questions of each kind that are asked, and their answers looked at, before anything is measured."""


def main(arguments: list[str] | None = None) -> int:
    """Measure everything and print the report; 1 when a bar is missed."""
    options = _options(arguments)
    require_wrk()
    chosen = [c for c in CONTENDERS if not options.only or any(word in c.name for word in options.only)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-http-")))
        database = stack.enter_context(postgres_server())
        setting = Setting(
            sqlite_url=f"sqlite:///{folder / 'gateway.db'}",
            postgres_url=database.url,
            processes=options.processes,
            threads=options.threads,
        )
        questions = prepare(setting, folder, options.transfers)
        served = {
            key: stack.enter_context(
                serving(command(key, setting), settings_for(key, setting), folder / f"{number}.log")
            )
            for number, key in enumerate(dict.fromkeys(c.server for c in chosen))
        }
        for contender in chosen:
            _probe(contender, served[contender.server], questions[contender.asks][1])
        rounds: list[Round] = []
        for number in range(-1, options.rounds):  # the first warms up and is not counted
            for contender in chosen:
                seconds = options.seconds if number >= 0 else options.warm_up
                measured = measure(
                    contender,
                    served[contender.server],
                    database.process,
                    questions[contender.asks][0],
                    connections=options.connections,
                    seconds=seconds,
                )
                if number >= 0:
                    rounds.append(measured)
            sys.stderr.write(f"round {number + 1} of {options.rounds} done\n")
    held = print_report(rounds, options)
    return int(not held and not options.quick)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="of each contestant in each round")
    parser.add_argument("--warm-up", type=float, default=2, help="seconds before the first round")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--processes", type=int, default=2, help="of each contestant")
    parser.add_argument("--threads", type=int, default=8, help="in each process; asyncpg: connections")
    parser.add_argument("--transfers", type=int, default=TRANSFERS)
    parser.add_argument("--only", nargs="*", help="contestants whose name has one of these words")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.seconds, options.warm_up, options.transfers = 1, 1, 1, 200
    return options


def prepare(setting: Setting, folder: Path, transfers: int) -> dict[str, tuple[Path, list[Question]]]:
    """Fill both databases alike; the questions of each kind, as a file for wrk and as they are."""
    ids: list[str] = []
    for url in (setting.sqlite_url, setting.postgres_url):
        with gateway_on(url):
            fill(current_gateway(), transfers)
            ids = transfer_ids(current_gateway())
    kinds = {
        "nothing": [Question("/")],
        "key": [Question(f"/{key}") for key in ids],
        "status": status_questions(ids),
        "estimate": estimate_questions(),
        "latency": latency_questions(),
    }
    return {
        name: (write_questions(questions, folder / f"{name}.txt"), questions)
        for name, questions in kinds.items()
    }


def _probe(contender: Contender, served: Served, questions: list[Question]) -> None:
    """An error is quick to give: see that these are answered in full."""
    for question in questions[:: max(1, len(questions) // PROBES)]:
        answer = orjson.loads(ask(served.port, question.method, question.path, question.body))
        if answer.get("err") is not None:
            raise SystemExit(f"{contender.name}: {question.path} {question.body}: {answer['err']}")


def measure(
    contender: Contender,
    served: Served,
    database: psutil.Process,
    questions: Path,
    *,
    connections: int,
    seconds: float,
) -> Round:
    """One contestant in one round.

    :param database: the process over all that serve PostgreSQL.
    :param questions: what it is asked, as a file for wrk.
    """
    server_before, database_before = cpu_seconds([served.process]), cpu_seconds([database])
    load = press(served.port, questions, connections=connections, seconds=seconds)
    if load.failures:
        raise SystemExit(f"{contender.name}: {load.failures} of {load.requests} requests failed")
    return Round(
        contender.name,
        load,
        server_us=(cpu_seconds([served.process]) - server_before) / load.requests * 1e6,
        database_us=(cpu_seconds([database]) - database_before) / load.requests * 1e6,
    )


if __name__ == "__main__":
    sys.exit(main())
