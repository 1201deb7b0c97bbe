"""Click models as records of a header and arrays, which files and ensembles are made of."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..common.storage import load_arrays, save_arrays
from . import registry
from .uncertainty.posterior import Uncertainty

if TYPE_CHECKING:
    from .base import ClickModel

Record = tuple[dict[str, Any], dict[str, NDArray[Any]]]
_SEEN = "__seen__"  # no parameter has this name
_BY_GRADE = "by_grade."  # nor does one begin so
HEADER = frozenset({"name", "settings", "fingerprint"})
_SECOND = "second."  # nor so
_STRENGTH, _LEVEL = "__strength__.", "__level__"
OPTIONAL = frozenset({"by_grade", "numbers", "second"})  # in the headers of some


def to_record(model: ClickModel) -> Record:
    """Return a model's header and arrays; its class must be registered, or nobody could load it."""
    # A subclass of a registered class has its name until it is registered.
    known, own = model.name in registry.registered(), type(model)
    if not known or not registry.same_class(registry.registered_class(model.name), own):
        raise ValueError(
            f"{own.__name__} is not registered, so it cannot be saved: register it first, with "
            f'@clickmodels.register("{own.__name__}") on the class'
        )
    state = model.state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    settings = {key: value for key, value in state.items() if key not in arrays}
    if model.seen is not None:
        arrays[_SEEN] = model.seen
    header = {"name": model.name, "settings": settings, "fingerprint": model.fingerprint}
    if model.uncertainty is not None:
        header["numbers"] = dict(model.uncertainty.numbers)
        strengths = model.uncertainty.strengths
        arrays |= {_STRENGTH + key: value for key, value in strengths.items()}
        if model.uncertainty.level is not None:
            arrays[_LEVEL] = model.uncertainty.level
    if model.by_grade is not None:
        header["by_grade"], own_arrays = to_record(model.by_grade)
        arrays |= {_BY_GRADE + key: value for key, value in own_arrays.items()}
    if model.second is not None:
        header["second"], own_arrays = to_record(model.second)
        arrays |= {_SECOND + key: value for key, value in own_arrays.items()}
    return header, arrays


def from_record(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ClickModel:
    """Return the model of a record; only registered names are made."""
    own, by_grade, second, strengths = {}, {}, {}, {}
    for key, value in arrays.items():
        if key.startswith(_STRENGTH):
            strengths[key.removeprefix(_STRENGTH)] = value
        elif "by_grade" in header and key.startswith(_BY_GRADE):
            by_grade[key.removeprefix(_BY_GRADE)] = value
        elif "second" in header and key.startswith(_SECOND):
            second[key.removeprefix(_SECOND)] = value
        else:
            own[key] = value
    seen, level = own.pop(_SEEN, None), own.pop(_LEVEL, None)
    model = registry.registered_class(header["name"]).from_state(**own, **header["settings"])
    model.seen, model.fingerprint = seen, header["fingerprint"]
    if "numbers" in header:
        model.uncertainty = Uncertainty(strengths, header["numbers"], level)
    if "by_grade" in header:
        model.by_grade = from_record(header["by_grade"], by_grade)
    if "second" in header:
        model.second = from_record(header["second"], second)
    return model


def save_model(model: ClickModel, path: str | os.PathLike[str]) -> None:
    """Write a model as one safetensors file with a JSON header, atomically."""
    save_arrays(path, "click model", *to_record(model))


def load_model(path: str | os.PathLike[str]) -> ClickModel:
    """Read a model that ``save_model`` wrote; no code is run."""
    header, arrays = load_arrays(path, "click model")
    try:
        registry.registered_class(header["name"])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    try:
        return from_record(header, arrays)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: does not make a {header['name']}: {error}") from error


def constructor_arguments(model: object) -> dict[str, Any]:
    """Return the attributes that have the names of a constructor's arguments; None is left out."""
    names = inspect.signature(type(model)).parameters
    state = {name: getattr(model, name) for name in names}
    return {name: value for name, value in state.items() if value is not None}


class Shared:
    """An object that is shared, never copied; its arrays stay read-only when it is pickled."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make arrays read-only again, which pickling forgets."""
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
