"""A result page as text and as a picture."""

from __future__ import annotations

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
ROW, WIDTH, HEAD = 28, 420, 40


def _names(world: World, query: int, document: int) -> str:
    if world.doc_ids is not None:
        return str(world.doc_ids[query, document])
    return f"document {document}"


def _title(world: World, query: int, clicks: list[bool]) -> str:
    if query < 0:
        return "no query yet"
    name = str(query) if world.query_ids is None else str(world.query_ids[query])
    return f"query {name}: {sum(clicks)} click{'' if sum(clicks) == 1 else 's'}"


def page_text(world: World, query: int, page: list[int], clicks: list[bool], slots: int) -> str:
    """Return the page as lines of rank, document, grade and click."""
    lines = [_title(world, query, clicks)]
    for slot in range(slots):
        if slot >= len(page):
            lines.append(f"{slot + 1:3d}. -")
            continue
        grade = int(world.relevance[query, page[slot]])
        stars = "unjudged" if grade < 0 else "*" * grade
        mark = "  <- click" if clicks and clicks[slot] else ""
        lines.append(f"{slot + 1:3d}. {_names(world, query, page[slot]):<24.24} {stars:<8}{mark}")
    return "\n".join(lines)


@lru_cache(maxsize=4)
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def page_image(
    world: World, query: int, page: list[int], clicks: list[bool], slots: int
) -> NDArray[np.uint8]:
    """Return the page as a picture (H, W, 3) uint8: rank, grade by colour, clicks in orange."""
    import_extra("PIL", "plots", "render_mode='rgb_array' needs")
    from PIL import Image, ImageDraw

    height = HEAD + ROW * slots + 12
    height += height % 2  # video encoders want even sizes
    image = Image.new("RGB", (WIDTH, height), "white")
    draw = ImageDraw.Draw(image)
    draw.text((12, 10), _title(world, query, clicks), fill="black", font=_font(16))
    for slot in range(slots):
        top = HEAD + ROW * slot
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
