"""The picture of the layout is what the import contracts and the packages say."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scripts.layout_picture import PICTURE, ROOT, TOP, contracts_of, draw, house
from tests.repository import build

ROOM = {"app/a/__init__.py": "", "app/b/__init__.py": "", "app/c/__init__.py": "", "app/__init__.py": ""}


def contract(id_: str, type_: str, **settings: Any) -> dict[str, Any]:
    return {"id": id_, "name": id_, "type": type_} | settings


ROOT_CONTRACT = contract("root", "forbidden", source_modules=["app.**"], forbidden_modules=["app"])


def floors(tmp_path: Path, *contracts: dict[str, Any], tree: dict[str, str] | None = None) -> list[list[str]]:
    build(tmp_path, ROOM | (tree or {}))
    named = [{"id": str(number), "name": ""} | each for number, each in enumerate(contracts)]
    return [
        [room.name for room in floor] for floor in house([ROOT_CONTRACT, *named], tmp_path / "app").floors
    ]


def test_the_picture_is_up_to_date() -> None:
    drawn = draw(house(contracts_of(ROOT), ROOT / "app"))
    assert PICTURE.read_text(encoding="utf-8") == drawn, "run `make layout`"


def test_it_is_svg_and_names_every_package() -> None:
    texts = {each.text for each in ElementTree.parse(PICTURE).iter() if each.tag.endswith("text")}
    packages = {path.parent.name for path in (ROOT / "app").glob("*/__init__.py")}
    assert packages <= texts


@pytest.mark.parametrize(
    "placing",
    [
        {"type": "layers", "layers": ["app.a | app.b", "app.c"]},
        {"type": "layers", "containers": ["app"], "layers": ["a : (b)", "c"]},
        {
            "type": "protected",
            "protected_modules": ["app.a", "app.b"],
            "allowed_importers": ["app.a", "app.b"],
        },
        {
            "type": "forbidden",
            "source_modules": ["app.c.**"],
            "forbidden_modules": ["app.a", "app.b", "time"],
        },
    ],
)
def test_a_contract_puts_rooms_above_others(tmp_path: Path, placing: dict[str, Any]) -> None:
    assert floors(tmp_path, placing) == [[TOP], ["a", "b"], ["c"]]


@pytest.mark.parametrize(
    "placing",
    [
        {"type": "layers", "containers": ["app.a"], "layers": ["(views)", "(models)"]},
        {"type": "protected", "protected_modules": ["app.a.views"], "allowed_importers": []},
        {
            "type": "forbidden",
            "source_modules": ["app.c"],
            "forbidden_modules": ["app.a.models", "app.*.views"],
        },
        {"type": "independence", "modules": ["app.a", "app.b"]},
    ],
)
def test_contract_about_parts_orders_nothing(tmp_path: Path, placing: dict[str, Any]) -> None:
    assert sorted(floors(tmp_path, placing)[1]) == ["a", "b", "c"]


def test_mutually_forbidden_rooms_share_floor(tmp_path: Path) -> None:
    apart = [
        {"type": "forbidden", "source_modules": [f"app.{a}"], "forbidden_modules": [f"app.{b}"]}
        for a, b in ("ab", "ba")
    ]
    assert floors(tmp_path, *apart) == [[TOP], ["a", "b", "c"]]


def test_placed_module_is_a_room(tmp_path: Path) -> None:
    tree = {"app/cli.py": "", "app/release.py": ""}
    protected = {"type": "protected", "protected_modules": ["app.cli"], "allowed_importers": []}
    assert floors(tmp_path, protected, tree=tree) == [[TOP], ["cli"], ["a", "b", "c"]]


def test_parts_are_those_that_a_feature_has(tmp_path: Path) -> None:
    build(tmp_path, ROOM | {"app/a/models.py": "", "app/a/views/__init__.py": "", "app/b/rule.py": ""})
    layers = ["(views) | (admin)", "(services)", "(models)"]
    feature = contract("feature", "layers", containers=["app.a", "app.b"], layers=layers)
    pure = contract("pure", "forbidden", source_modules=["app.b.rule"], forbidden_modules=[])
    built = house([ROOT_CONTRACT, feature, pure], tmp_path / "app")
    parts = {room.name: room.parts for floor in built.floors for room in floor}
    assert parts == {
        TOP: None,
        "a": (False, True, False, True),
        "b": (True, False, False, False),
        "c": None,
    }


def test_upward_import_is_drawn(tmp_path: Path) -> None:
    upper = contract("upper", "protected", protected_modules=["app.a"], allowed_importers=["app.b"])
    lower = contract("lower", "protected", protected_modules=["app.c"], allowed_importers=["app.a"])
    build(tmp_path, ROOM | {"app/b/x.py": "from app.a import y\n", "app/c/x.py": "import app.b\n"})
    built = house([ROOT_CONTRACT, upper, lower], tmp_path / "app")
    assert [[room.name for room in floor] for floor in built.floors] == [[TOP], ["a"], ["c"], ["b"]]
    assert built.upwards == [("b", "a")]
    assert "b → a" in draw(built)


def test_circular_contracts_are_refused(tmp_path: Path) -> None:
    circle = [
        {"type": "forbidden", "source_modules": [f"app.{lower}"], "forbidden_modules": [f"app.{upper}"]}
        for lower, upper in ("ab", "bc", "ca")
    ]
    with pytest.raises(SystemExit, match="above itself"):
        floors(tmp_path, *circle)
