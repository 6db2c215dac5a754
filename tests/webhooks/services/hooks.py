"""Subscriptions and deliveries, as tests make and read them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.webhooks.models import Delivery, Subscription
from app.webhooks.rules.addresses import AllowedNetworks
from app.webhooks.rules.subscription import AlertKind, Audience, subjects_of
from app.webhooks.services.subscriptions import Made, NewSubscription, subscribe
from tests.actors import TESTER
from tests.applications import audited_of
from tests.feed.services.world import transfer_id


@dataclass
class Plenty:
    """Room for so many to each place."""

    each: int = 1000
    filled: dict[str, int] = field(default_factory=dict)

    def free(self, place: str) -> int:
        return self.each - self.filled.get(place, 0)

    def fill(self, place: str, number: int) -> None:
        self.filled[place] = self.filled.get(place, 0) + number


def to_everything(app: Flask, url: str = "https://hooks.example/") -> Made:
    return subscribe(
        *audited_of(app),
        part_of(app, AllowedNetworks),
        NewSubscription(url, Audience.EVERYTHING),
        actor=TESTER,
    )


def to_subjects(
    app: Flask,
    accounts: Iterable[str] = (),
    transfers: Iterable[int] = (),
    url: str = "https://hooks.example/",
    owner_key: str | None = None,
) -> Made:
    ids = [bytes.fromhex(transfer_id(n)[2:]) for n in transfers]
    wanted = NewSubscription(url, Audience.SUBJECTS, subjects=subjects_of(accounts, ids), owner_key=owner_key)
    return subscribe(*audited_of(app), part_of(app, AllowedNetworks), wanted, actor=TESTER)


def to_alerts(app: Flask, *kinds: AlertKind) -> Made:
    wanted = NewSubscription("https://hooks.example/", Audience.ALERTS, alerts=kinds)
    return subscribe(*audited_of(app), part_of(app, AllowedNetworks), wanted, actor=TESTER)


def deliveries(database: Database) -> list[Any]:
    """Every delivery, in the order in which they were written."""
    with reading(database.engine) as connection:
        return list(connection.execute(select(Delivery.__table__).order_by(Delivery.id)))


def published(app: Flask) -> list[dict[str, Any]]:
    """Their data."""
    return [json.loads(row.body)["data"] for row in deliveries(part_of(app, Database))]


def subscription_of(database: Database, made: Made) -> Any:
    """The row of a subscription."""
    with reading(database.engine) as connection:
        found = select(Subscription.__table__).where(Subscription.public_id == made.public_id)
        return connection.execute(found).one()
