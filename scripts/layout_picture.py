"""``make layout``: draw docs/images/layout.svg from the import contracts and the packages of the application.

A room is above another one where a contract forbids the other to import it, but not the reverse. Rooms that
no contract orders share a floor.
"""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURE: Final = ROOT / "docs" / "images" / "layout.svg"

TOP: Final = "app/__init__"
"""The composition root. It is no room, but combines them."""

Contract = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Room:
    """A package of the application, or a module next to the packages that a contract places.

    ``parts`` are the parts of a feature that the room has, from pure modules up; None for a room that is no
    feature.
    """

    name: str
    parts: tuple[bool, ...] | None = None


@dataclass(slots=True)
class House:
    """Floors from the top down, each with the contracts that forbid it to import the one above.

    ``parts`` are the names of the parts of a feature, from pure modules up. ``upwards`` are rooms that import
    one of a floor above, and that one: no contract forbids it.
    """

    floors: list[list[Room]]
    apart: list[list[Contract]]
    parts: list[str]
    upwards: list[tuple[str, str]]


def contracts_of(root: Path) -> list[Contract]:
    """The import contracts of a repository."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[Contract] = settings["tool"]["importlinter"]["contracts"]
    return contracts


def house(contracts: Sequence[Contract], app: Path) -> House:
    """The rooms, and what the contracts say about them.

    :param app: the folder of the application.
    """
    rooms = sorted(rooms_of(contracts, app))
    above: dict[str, set[str]] = defaultdict(set)
    by_pair: dict[tuple[str, str], list[Contract]] = defaultdict(list)
    for contract in contracts:
        for upper, lower in forbidden_pairs(contract, rooms):
            above[lower].add(upper)
            by_pair[upper, lower].append(contract)
    for upper, lower in by_pair:
        if (lower, upper) in by_pair:  # neither may import the other: neither is above
            above[lower].discard(upper)
    depths = depths_of([TOP, *rooms], above)
    inside, layers = features(contracts)
    floors: list[list[Room]] = [[] for _ in range(max(depths.values()) + 1)]
    for name in [TOP, *sorted(rooms, key=lambda name: (name not in inside, name))]:
        parts = tuple(parts_of(app / name, layers, contracts)) if name in inside else None
        floors[depths[name]].append(Room(name, parts))
    apart = [
        [each for each in contracts if any(each in by_pair[u.name, low.name] for u in upper for low in lower)]
        for upper, lower in pairwise(floors)
    ]
    ground = len(floors)
    upwards = sorted((a, b) for a, b in imports_of(app) if depths.get(b, ground) < depths.get(a, 0))
    return House(floors, [[], *apart], [*reversed(layers)], upwards)


def rooms_of(contracts: Sequence[Contract], app: Path) -> set[str]:
    """The packages of the application, and the modules next to them that a contract places like packages."""
    named = {
        name
        for contract in contracts
        for key in ("layers", "protected_modules")
        for entry in contract.get(key, ())
        for name in layer_names(entry, contract)
    }
    return {
        path.stem
        for path in app.iterdir()
        if (path / "__init__.py").exists() or (path.suffix == ".py" and path.stem in named)
    } - {"__init__"}


def imports_of(app: Path) -> set[tuple[str, str]]:
    """The rooms that import each other, by the code."""
    found: set[tuple[str, str]] = set()
    for path in app.rglob("*.py"):
        importer = path.relative_to(app).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {(importer, name.split(".")[1]) for name in names if name.startswith("app.")}
    return found


def forbidden_pairs(contract: Contract, rooms: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The pairs of rooms of which the second must not import the first, by this contract."""
    if contract.get("forbidden_modules") == ["app"]:
        yield from ((TOP, room) for room in rooms)
    elif contract["type"] == "layers":
        layers = [layer_names(layer, contract) for layer in contract["layers"]]
        for number, uppers in enumerate(layers):
            for lowers in layers[number + 1 :]:
                yield from ((u, low) for u in uppers for low in lowers if {u, low} <= {*rooms})
    elif contract["type"] == "protected":
        allowed = {name.split(".")[1] for name in contract["allowed_importers"] if "." in name}
        for upper in filter(None, map(whole_room, contract["protected_modules"])):
            yield from ((upper, room) for room in rooms if room not in {upper, *allowed} and upper in rooms)
    elif contract["type"] == "forbidden":
        for lower in filter(None, map(whole_room, contract["source_modules"])):
            forbidden = filter(None, map(whole_room, contract["forbidden_modules"]))
            yield from ((upper, lower) for upper in forbidden if upper in rooms and lower in rooms)


def whole_room(module: str) -> str | None:
    """The room that a contract names, None where it names something else, such as a part of one."""
    found = re.fullmatch(r"app\.(\w+)(\.\*\*)?", module)
    return found[1] if found else None


def layer_names(layer: str, contract: Contract) -> list[str]:
    """The rooms of a layer, none where its layers are those within a room."""
    containers = contract.get("containers")
    if containers not in (None, ["app"]):
        return []
    names = [name.strip(" ()") for name in re.split(r"[|:]", layer)]
    return names if containers else [room for name in names if (room := whole_room(name))]


def depths_of(names: Sequence[str], above: Mapping[str, set[str]]) -> dict[str, int]:
    """The least number of floors above each room.

    :raises SystemExit: the contracts put a room above itself.
    """
    depths = dict.fromkeys(names, 0)
    for _ in names:
        lower = {name: max((depths[each] + 1 for each in above.get(name, ())), default=0) for name in names}
        if lower == depths:
            return depths
        depths = lower
    raise SystemExit("the import contracts put a room above itself")


def features(contracts: Sequence[Contract]) -> tuple[set[str], list[str]]:
    """The features, and the parts of one from the top down: the contract whose layers are parts of rooms."""
    for contract in contracts:
        inside = {room for each in contract.get("containers", ()) if (room := whole_room(each))}
        if contract["type"] == "layers" and inside:
            return inside, [*contract["layers"], "pure modules"]
    return set(), []


def parts_of(room: Path, layers: Sequence[str], contracts: Sequence[Contract]) -> Iterator[bool]:
    """Which parts a feature has, from pure modules up."""
    pure = (each for contract in contracts if contract["id"] == "pure" for each in contract["source_modules"])
    yield any(module.startswith(f"app.{room.name}.") for module in pure)
    for layer in reversed(layers[:-1]):
        names = [name.strip(" ()") for name in layer.split("|")]
        yield any((room / f"{name}.py").exists() or (room / name).is_dir() for name in names)


WIDTH: Final = 360
MARGIN: Final = 4
GAP: Final = 6
IN_A_ROW: Final = 3
ROOM_WIDTH: Final = (WIDTH - 2 * MARGIN - (IN_A_ROW - 1) * GAP) / IN_A_ROW
PLAIN, FEATURE = 32, 50
"""Heights of rooms."""
LINE: Final = 16

_COLOURS: Final = ("done", "go", "go", "go", "user")
"""Of the parts of a feature, from pure modules up."""

_HEAD: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" class="narrow" viewBox="0 0 {width} {height}" width="{shown}" \
font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="13" role="img" \
aria-labelledby="layout-title">
  <title id="layout-title">{title}</title>
  <style>
    svg {{ --ink: #1b2430; --soft: #596675; --go: #1f4f9a; --go-soft: #e0ebfb }}
    svg {{ --done: #14622f; --user: #7c4a03 }}
    @media (prefers-color-scheme: dark) {{
      svg {{ --ink: #e4e9f0; --soft: #9dabbc; --go: #9cc3ff; --go-soft: #17305a }}
      svg {{ --done: #7fdc9f; --user: #f3c56b }}
    }}
  </style>
"""


def draw(built: House) -> str:
    """The house as SVG."""
    lines: list[str] = []
    y: float = MARGIN
    explained: set[str] = set()
    for floor, apart in zip(built.floors, built.apart, strict=True):
        y = _draw_contracts(lines, apart, explained, y)
        y = _draw_floor(lines, floor, y)
    if built.upwards:
        y = _draw_upwards(lines, built.upwards, y)
    y = _draw_parts(lines, built.parts, y)
    floors = "; ".join(", ".join(room.name for room in floor) for floor in built.floors)
    title = f"The rooms of the application by floors, from the top: {floors}"
    head = _HEAD.format(width=WIDTH, height=f"{y + MARGIN:g}", shown=round(WIDTH * 1.2), title=escape(title))
    return head + "\n".join(lines) + "\n</svg>\n"


def _text(x: float, y: float, said: str, *, colour: str = "soft", size: int = 0, bold: bool = False) -> str:
    style = f' font-size="{size}"' * bool(size) + ' font-weight="600"' * bold
    return f'  <text x="{x:g}" y="{y:g}" fill="var(--{colour})"{style}>{escape(said)}</text>'


def _draw_contracts(lines: list[str], apart: Sequence[Contract], explained: set[str], y: float) -> float:
    """What forbids imports of the floor above: each contract, the first time with its sentence.

    :returns: where they end.
    """
    for contract in apart:
        lines.append(_text(MARGIN, y + 12, f"↑ {contract['id']}", size=12, bold=True))
        sentence = "" if contract["id"] in explained else contract["name"]
        explained.add(contract["id"])
        for row in textwrap.wrap(sentence, 52):
            y += LINE
            lines.append(_text(MARGIN + 13, y + 12, row, size=12))
        y += LINE + 4
    return y + GAP if apart else y


def _draw_floor(lines: list[str], floor: Sequence[Room], y: float) -> float:
    """The rooms, in rows of those that are features and then of others; where they end."""
    for kind in ([room for room in floor if room.parts], [room for room in floor if not room.parts]):
        height = FEATURE if kind and kind[0].parts else PLAIN
        for number, room in enumerate(kind):
            row, column = divmod(number, IN_A_ROW)
            _draw_room(lines, room, MARGIN + column * (ROOM_WIDTH + GAP), y + row * (height + GAP), height)
        y += -(-len(kind) // IN_A_ROW) * (height + GAP)
    return y + 4


def _draw_room(lines: list[str], room: Room, x: float, y: float, height: int) -> None:
    fill, stroke = ("var(--go-soft)", "var(--go)") if room.parts else ("none", "var(--soft)")
    lines.append(
        f'  <rect x="{x:g}" y="{y:g}" width="{ROOM_WIDTH:g}" height="{height}" rx="7" fill="{fill}"'
        f' stroke="{stroke}"/>'
    )
    lines.append(_text(x + 7, y + 21, room.name, colour="ink", bold=True))
    for number, has in enumerate(room.parts or ()):
        _draw_part(lines, number, x + 7 + number * 16, y + 30, has=has)


def _draw_part(lines: list[str], number: int, x: float, y: float, *, has: bool) -> None:
    """A part of a feature as a square: full where the room has it."""
    colour = f"var(--{_COLOURS[min(number, len(_COLOURS) - 1)]})"
    style = f'fill="{colour}"' if has else f'fill="none" stroke="{colour}" stroke-opacity=".4"'
    lines.append(f'  <rect x="{x:g}" y="{y:g}" width="11" height="11" rx="2" {style}/>')


def _draw_upwards(lines: list[str], upwards: Sequence[tuple[str, str]], y: float) -> float:
    """What the code imports against the order of the floors; where it ends."""
    lines.append(_text(MARGIN, y + 12, "Imports from a floor above, which no contract forbids:", size=12))
    for importer, imported in upwards:
        y += LINE
        lines.append(_text(MARGIN + 13, y + 12, f"{importer} → {imported}", colour="ink", size=12))
    return y + LINE + GAP


def _draw_parts(lines: list[str], parts: Sequence[str], y: float) -> float:
    """What the squares mean, the highest part first; where it ends."""
    y += GAP
    lines.append(_text(MARGIN, y + 12, "In a feature each part imports those below it:", size=12, bold=True))
    for number, part in reversed([*enumerate(parts)]):
        y += LINE + 2
        for square in range(len(parts)):
            _draw_part(lines, square, MARGIN + square * 16, y + 3, has=square == number)
        names = ", ".join(name.strip(" ()") for name in part.split("|"))
        lines.append(_text(MARGIN + len(parts) * 16 + 8, y + 13, names, colour="ink", size=12))
    return y + LINE


def main() -> None:
    """Draw it again."""
    PICTURE.write_text(draw(house(contracts_of(ROOT), ROOT / "app")), encoding="utf-8")


if __name__ == "__main__":
    main()
