"""Modules from outside the package that bring models and agents of one's own."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from ...clickmodels import ClickModel, names, register
from ...clickmodels.registry import registered, registered_class


def import_modules(names: Sequence[str]) -> None:
    """Import modules, of the working directory too.

    ``module:Class`` also registers a click model, under the class's name, unless the module does.
    """
    for name in names:
        _import_class(name)


def candidate_name(candidate: str) -> str:
    """Return the name that the click model ``module:Class`` is registered under."""
    module, _, attribute = candidate.partition(":")
    if not module or not attribute:
        raise ValueError(f"a candidate is given as module:Class, not {candidate!r}")
    cls = _import_class(candidate)
    assert cls is not None
    if cls.name not in names():
        raise ValueError(f"{candidate} does not define fit(log, world, seed=0)")
    return cls.name


def candidate_source(candidate: str) -> str:
    """Return a hash of the candidate's file: a changed model is another model."""
    return _hash_file(candidate.partition(":")[0])


def model_source(model: str) -> str:
    """Return a hash of the file of a click model from outside the package; "" for the others."""
    module = registered_class(model).__module__ if model in registered() else __package__
    return "" if module.partition(".")[0] == __package__.partition(".")[0] else _hash_file(module)


def _hash_file(module: str) -> str:
    path = getattr(sys.modules[module], "__file__", None)  # a notebook's module has none
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:24] if path else ""


def _import_class(name: str) -> type[ClickModel] | None:
    """Import ``module`` or ``module:Class``; return the class, registered."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if not error.name or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, and lacks another one
        raise ImportError(f"there is no module {module_name}, here or installed") from error
    if not attribute:
        return None
    cls = getattr(module, attribute, None)
    if not (isinstance(cls, type) and issubclass(cls, ClickModel)):
        raise ValueError(f"{module_name} has no click model {attribute!r}")
    if not any(registered_class(known) is cls for known in registered()):
        register(attribute)(cls)
    return cls
