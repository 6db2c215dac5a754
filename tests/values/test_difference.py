"""Differences between two forms of a row, as people read them."""

from __future__ import annotations

from app.values.differences import FieldDifference, difference

ROUTE = {
    "symbol": "USDT",
    "rate": {"model": "fixed", "value": "1"},
    "base_fee": "100",
    "base_fee_max_age_seconds": None,
    "perc_fee_tiers": [{"from": "0", "ppm": 400}],
}


def test_equal_forms_have_none() -> None:
    assert difference(ROUTE, dict(ROUTE)) == ()


def test_nested_fields_have_their_path() -> None:
    after = ROUTE | {
        "rate": {"model": "stableswap", "amplification": 200},
        "base_fee_max_age_seconds": 60,
        "perc_fee_tiers": [{"from": "0", "ppm": 300}, {"from": "5", "ppm": 200}],
    }
    assert difference(ROUTE, after) == (
        FieldDifference("rate.model", "fixed", "stableswap"),
        FieldDifference("rate.amplification", None, "200"),
        FieldDifference("base_fee_max_age_seconds", "null", "60"),
        FieldDifference("perc_fee_tiers[0].ppm", "400", "300"),
        FieldDifference("perc_fee_tiers[1].from", None, "5"),
        FieldDifference("perc_fee_tiers[1].ppm", None, "200"),
        FieldDifference("rate.value", "1", None),
    )


def test_added_and_removed_rows_are_whole() -> None:
    row = {"id": 1, "icon": "", "disabled": False, "types": []}
    assert difference(None, row) == (
        FieldDifference("id", None, "1"),
        FieldDifference("icon", None, '""'),
        FieldDifference("disabled", None, "false"),
        FieldDifference("types", None, "[]"),
    )
    assert [line.after for line in difference(row, None)] == [None] * 4


def test_difference_is_written_as_text() -> None:
    lines = map(str, difference({"a": "x", "b": "1"}, {"a": "y", "c": ""}))
    assert list(lines) == ["a: x → y", 'c: ""', "b: 1 → (gone)"]
