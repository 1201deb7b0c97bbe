"""Rendering the HTML templates of reports; every text that they are given is escaped."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)


def render(name: str, **values: Any) -> str:
    """Return the HTML of the template ``name``; what is HTML already is given as ``Markup``."""
    return _TEMPLATES.get_template(name).render(values)


def _script_hash(script: str) -> str:
    """Return what a content security policy calls a script that it allows."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _javascript_number(value: float) -> str:
    return str(float(value)).replace("inf", "Infinity")


_TEMPLATES.filters |= {"script_hash": _script_hash, "javascript_number": _javascript_number}
