"""A result page as text and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.runtime import import_extra
from ..data import World

# Grades from the palest to the strongest, readable in grey and for colour-blind people.
GRADE_COLOURS = ((238, 238, 238), (199, 221, 240), (140, 186, 222), (65, 139, 196), (12, 76, 138))
UNJUDGED = (255, 250, 235)
CLICK_COLOUR = (217, 95, 2)
BLOCK_COLOUR = (27, 120, 85)
ROW, WIDTH, HEAD = 28, 420, 40


@dataclass(frozen=True)
class ShownBlock:
    """The vertical block of a page: what it is called, where it stands (-1 = not shown)."""

    name: str
    position: int
    satisfied: bool = False


def _names(world: World, query: int, document: int) -> str:
    if world.doc_ids is not None:
        return str(world.doc_ids[query, document])
    return f"document {document}"


def _title(world: World, query: int, clicks: list[bool], block: ShownBlock | None) -> str:
    if query < 0:
        return "no query yet"
    name = str(query) if world.query_ids is None else str(world.query_ids[query])
    found = ", satisfied by the block" if block is not None and block.satisfied else ""
    return f"query {name}: {sum(clicks)} click{'' if sum(clicks) == 1 else 's'}{found}"


def page_text(
    world: World,
    query: int,
    page: list[int],
    clicks: list[bool],
    slots: int,
    block: ShownBlock | None = None,
) -> str:
    """Return the page as lines of rank, document, grade and click, and one of its block."""
    lines = [_title(world, query, clicks, block)]
    for slot in range(slots):
        if slot >= len(page):
            lines.append(f"{slot + 1:3d}. -")
            continue
        grade = int(world.relevance[query, page[slot]])
        stars = "unjudged" if grade < 0 else "*" * grade
        mark = "  <- click" if clicks and clicks[slot] else ""
        lines.append(f"{slot + 1:3d}. {_names(world, query, page[slot]):<24.24} {stars:<8}{mark}")
    if block is not None and block.position >= 0:
        lines.insert(1 + block.position, f"   [ {block.name} ]")
    return "\n".join(lines)


@lru_cache(maxsize=4)
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def page_image(
    world: World,
    query: int,
    page: list[int],
    clicks: list[bool],
    slots: int,
    block: ShownBlock | None = None,
) -> NDArray[np.uint8]:
    """Return the page as a picture (H, W, 3) uint8: rank, grade by colour, clicks in orange.

    Where there may be a block, there is a row for it: pictures of one environment have one size.
    """
    import_extra("PIL", "plots", "render_mode='rgb_array' needs")
    from PIL import Image, ImageDraw

    height = HEAD + ROW * (slots + (block is not None)) + 12
    height += height % 2  # video encoders want even sizes
    image = Image.new("RGB", (WIDTH, height), "white")
    draw = ImageDraw.Draw(image)
    draw.text((12, 10), _title(world, query, clicks, block), fill="black", font=_font(16))
    position = slots + 1 if block is None or block.position < 0 else block.position
    if block is not None and block.position >= 0:
        _draw_block(draw, block, HEAD + ROW * position)
    for slot in range(slots):
        top = HEAD + ROW * (slot + (slot >= position))
        draw.text((12, top + 4), f"{slot + 1}", fill=(90, 90, 90), font=_font(14))
        box = (44, top, WIDTH - 60, top + ROW - 6)
        if slot >= len(page):
            draw.rectangle(box, outline=(220, 220, 220))
            continue
        grade = int(world.relevance[query, page[slot]])
        share = 0 if grade < 0 else round(grade / world.max_grade * (len(GRADE_COLOURS) - 1))
        colour = UNJUDGED if grade < 0 else GRADE_COLOURS[share]
        clicked = bool(clicks) and clicks[slot]
        outline = CLICK_COLOUR if clicked else (170, 170, 170)
        draw.rectangle(box, fill=colour, outline=outline, width=3 if clicked else 1)
        ink = "white" if grade >= 0 and share >= 3 else "black"
        label = "unjudged" if grade < 0 else f"grade {grade}"
        text = f"{_names(world, query, page[slot])[:24]}  ({label})"
        draw.text((52, top + 3), text, fill=ink, font=_font(13))
        if clicked:
            draw.text((WIDTH - 52, top + 3), "click", fill=CLICK_COLOUR, font=_font(14))
    return np.asarray(image, dtype=np.uint8).copy()


def _draw_block(draw: Any, block: ShownBlock, top: int) -> None:
    """Draw a band across the page, wider than results, with tiles."""
    draw.rectangle((12, top, WIDTH - 12, top + ROW - 6), fill=BLOCK_COLOUR)
    for tile in range(5):
        left = WIDTH - 40 - 26 * tile
        draw.rectangle((left, top + 4, left + 18, top + ROW - 10), outline="white")
    draw.text((52, top + 3), f"block: {block.name}", fill="white", font=_font(13))
