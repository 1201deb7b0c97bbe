"""True users: click models with known parameters, made from a world's grades or ratings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..common import checks
from ..data import World
from .base import ClickModel
from .grade_users import GRADE_USERS
from .rating_users import RATING_USERS
from .vertical_users import VERTICAL_USERS

Maker = Callable[..., Any]
GRADES, RATINGS, VERTICALS = "grades", "ratings", "verticals"
# By the worlds that they take: how each user is made, and its attractiveness.
_USERS: dict[str, dict[str, tuple[Maker, Maker]]] = {
    GRADES: GRADE_USERS, RATINGS: RATING_USERS, VERTICALS: VERTICAL_USERS,
}  # fmt: skip


def user_names(worlds: str = GRADES) -> tuple[str, ...]:
    """Return the names of the true users who take worlds with "grades", "ratings" or "verticals".

    Those with verticals need grades, too.
    """
    return tuple(_USERS[checks.choice(worlds, tuple(_USERS), "worlds")])


def user_takes(name: str) -> str:
    """Return which worlds the true user ``name`` takes: with "grades", "ratings" or "verticals"."""
    for kind, users in _USERS.items():
        if name in users:
            return kind
    known = ", ".join(name for users in _USERS.values() for name in users)
    raise ValueError(f"unknown user {name!r}; known: {known}")


def user_parameters(name: str) -> tuple[str, ...]:
    """Return the parameters that ``true_user(name, …)`` takes besides ``slots``."""
    make, attract = _USERS[user_takes(name)][name]
    shared = list(inspect.signature(attract).parameters)[1:]
    return (*shared, *list(inspect.signature(make).parameters)[3:])


def true_user(name: str, world: World, slots: int = 10, **params: Any) -> ClickModel:
    """Return the user ``name`` of ``world``, with the parameters of the paper that has this user.

    The users of worlds with grades are the robustness paper's; SDBN, DCM, CM and CCM are not in
    it: SDBN and CM have the DBN's parameters as far as they have any; DCM's continuation after a
    click fades with the rank as the PBM's examination does, and CCM's is the least where the
    clicked document is relevant. Such a user finds documents without a grade as attractive as
    those of grade 0.

    The users of worlds with ratings (``max_grade=5``, 1 to 5, -1 where there is none) are those of
    "User Behavior and Bias in Click-Based Recommender Evaluation": no-bias, examination-log,
    examination-quad, browsing-log, browsing-quad, cascade-low, cascade-high. They never click on
    an item without a rating. ``rating_users`` has their parameters.

    The users of worlds with verticals (``World.vertical``: 0 news, 1 images, 2 video, 3 location)
    are FCM and VCM, with the constants of ``vertical_users``. Users of worlds with grades take such
    a world as well, and see no blocks.

    A world without any grades is refused, and so is one of another kind.

    Parameters
    ----------
    slots : int
        The longest page that is shown. PBM, UBM and DCM, and users with a ``decay``, have
        parameters by rank and need it; the others read pages of any length, so that it may be
        given whoever the user is.
    params
        Changes to the parameters, by name. An unknown one is a ``TypeError``.

        With grades: ``floor`` (least attractiveness of a candidate, default 0; the paper's
        released code has 0.02) for all; ``attractiveness_scale`` for all but CoCM;
        ``satisfaction_scale`` for DBN and SDBN, ``continuation`` for DBN and CCM (three numbers);
        ``satisfaction``, ``continuation``, ``modes``, ``no_look`` for CoCM and CoCM-mismatch;
        ``decay`` for PBM, UBM and DCM.

        With ratings: ``attractiveness`` (five numbers: P(click) of an examined item by its
        rating) for all; ``decay`` for the examination and browsing users: ``"log"``
        (1 / log2(p + 1)), ``"square"`` (1 / p^2), a number d (d^(p - 1)), or numbers for
        p = 1, 2, …;
        ``satisfaction`` (five numbers) for the cascade users.

        With verticals: ``floor``, ``attractiveness_scale`` or ``attractiveness`` (a number for
        each grade from 0 on, instead of the scaled gain), ``examination`` (numbers by rank),
        ``memory`` (how much of examination depends on the latest click instead of the rank, 0 to
        1), ``attention`` (T, K+1), ``satisfied`` and ``blind`` for both (``False`` turns either
        off; or numbers by type, (T,), or by type and position, (T, K+1)); ``spread`` (β[l] is
        1 / (|l| + spread), at most 1) and ``latent`` for FCM; ``examination_vertical`` (numbers
        by place in the trail), ``upwards`` (as ``satisfied``) and ``down`` for VCM.
    """
    if not isinstance(world, World):
        raise ValueError(f"world must be a clickgym.data.World, not {type(world).__name__}")
    kind = user_takes(name)
    _check_kind(name, kind, world)
    make, attract = _USERS[kind][name]
    slots = checks.positive_integer(slots, "slots")
    shared = list(inspect.signature(attract).parameters)[1:]
    known = user_parameters(name)
    unknown = sorted(set(params) - {*known})
    if unknown:
        raise TypeError(
            f"the user {name} has no parameter {', '.join(unknown)}; it has: "
            f"{', '.join([*known, 'slots'])}"
        )
    attractiveness = attract(world, **{key: params.pop(key) for key in shared if key in params})
    model: ClickModel = make(attractiveness, world, slots, **params)
    model.fingerprint, model.label = world.fingerprint, name
    return model


def _check_kind(name: str, kind: str, world: World) -> None:
    world.require_grades(f"the true user {name} needs")
    given = RATINGS if world.has_ratings else GRADES
    if kind == VERTICALS and given == GRADES:
        if world.vertical is None:
            raise ValueError(
                f"the true user {name} takes worlds with verticals, and this world has none: "
                "give it types with with_vertical(types), or take one of "
                f"{', '.join(_USERS[GRADES])}"
            )
        return
    if given != kind:
        raise ValueError(
            f"the true user {name} takes worlds with {kind}, and this world has {given} (ratings "
            f"are 1 to 5 with max_grade=5, and no 0): take one of {', '.join(_USERS[given])}"
        )
