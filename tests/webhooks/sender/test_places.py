"""Room for attempts: receivers that hang leave the others theirs."""

from app.webhooks.sender import ALL, AT_PROVEN, AT_UNPROVEN, OF_UNPROVEN, REMEMBERED, Places


def proven(places: Places, place: str) -> None:
    places.fill(place, 1)
    places.leave(place, answered=True)


def test_places_grow_with_answers() -> None:
    places = Places()
    assert places.free("a:1") == AT_UNPROVEN
    proven(places, "a:1")
    assert places.free("a:1") == AT_PROVEN
    places.fill("a:1", 3)
    assert places.free("a:1") == AT_PROVEN - 3
    places.leave("a:1", answered=False)
    assert places.free("a:1") == 0
    places.leave("a:1", answered=False)
    places.leave("a:1", answered=False)
    assert places.free("a:1") == AT_UNPROVEN


def test_hanging_places_get_at_most_half() -> None:
    places = Places()
    proven(places, "good:1")
    for n in range(ALL):
        places.fill(f"bad:{n}", places.free(f"bad:{n}"))
    assert places.free("bad:new") == 0
    assert places.free("good:1") == AT_PROVEN
    for n in range(OF_UNPROVEN // AT_UNPROVEN):
        for _ in range(AT_UNPROVEN):
            places.leave(f"bad:{n}", answered=False)
    assert places.free("bad:new") == AT_UNPROVEN


def test_all_together_are_bounded() -> None:
    places = Places()
    for n in range(ALL):
        proven(places, f"good:{n}")
        places.fill(f"good:{n}", places.free(f"good:{n}"))
    proven(places, "last:1")
    assert places.free("last:1") == 0


def test_places_remember_bounded_number() -> None:
    places = Places()
    for n in range(REMEMBERED + 5):
        proven(places, f"p:{n}")
    assert places.free("p:0") == AT_UNPROVEN
    assert places.free("p:6") == AT_PROVEN
