"""A policy's rankings with a block among them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ...common.typing import Floats, Integers
from ...data import World
from ..base import Policy, pack_policy, register, unpack_policy
from ..deterministic import Found
from ..places import cut_to_pages, draw_columns, page_lengths
from ..wrapper import PolicyWrapper


@register("Placed")
class Placed(PolicyWrapper):
    """Shows another policy's rankings, and a vertical block at a place drawn for each page.

    Parameters
    ----------
    policy : Policy
        Whose rankings are shown; its own places, if any, are not.
    places : int, (Q,) integers, (K + 2,) or (Q, K + 2)
        One place for all pages or one for each query: how many results stand above the block, 0 to
        K, or -1 = not shown. Or the probabilities of "not shown" and of the places 0 to K, for all
        queries or for each.
    world : World
        Queries without a type in ``world.vertical`` have no block, whatever ``places`` says.

    Attributes
    ----------
    places : (Q, K + 2)
        The probabilities.
    found : Found or None
        How ``best_pages`` found rankings and places; not saved.

    Notes
    -----
    A block that would stand beyond the end of a page is not shown.
    """

    found: Found | None = None

    def __init__(self, policy: Policy, places: ArrayLike, world: World) -> None:
        super().__init__(policy)
        policy.check_world(world)
        self.fingerprint = world.fingerprint
        if world.vertical is None:
            raise ValueError(
                "this world has no verticals, so there is no block to place: give its queries "
                "types by world.with_vertical"
            )
        table = read_places(places, self.shape[0], self.slots)
        table[world.vertical < 0] = np.arange(self.slots + 2) == 0
        self._set(table)

    def _set(self, places: Floats) -> None:
        self.places = places
        self.places.flags.writeable = False
        with np.errstate(divide="ignore"):
            self._logs = np.log(places)

    @property
    def places_blocks(self) -> bool:
        """Whether some query may show a block."""
        return bool((self.places[:, 0] < 1.0).any())

    @property
    def places_by_query(self) -> bool:
        """True: the table has a row per query."""
        return True

    def place(
        self, query: Integers, ranking: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Floats]:
        """Draw where the block of each page stands, and the log-probabilities, (n,) each."""
        return draw_columns(self.place_log_probs(query, ranking), rng)

    def place_log_probs(self, query: Integers, ranking: Integers) -> Floats:
        """Return the log-probabilities of "not shown" and of the places 0 .. K, (n, K + 2)."""
        return cut_to_pages(self._logs.take(query, axis=0), page_lengths(ranking))

    def state(self) -> dict[str, Any]:
        """Return the places and the other policy's state."""
        header, arrays = pack_policy(self.policy, "policy.")
        return {"places": self.places, "header": header} | arrays

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make it from the places and the other policy's state."""
        policy = cls.__new__(cls)
        PolicyWrapper.__init__(policy, unpack_policy(state["header"], state, "policy."))
        places = np.array(state["places"], dtype=np.float64)
        read_places(places, policy.shape[0], policy.slots)
        policy._set(places)
        return policy


def read_places(places: ArrayLike, n_queries: int, slots: int) -> Floats:
    """Return the probabilities of places, (Q, K + 2), of what ``Placed`` is given."""
    given = np.asarray(places)
    if given.ndim == 0 or (given.ndim == 1 and given.dtype.kind in "iu"):
        position = np.atleast_1d(checks.integers(places, "places", given.ndim))
        if given.ndim == 1:
            _check_shape(given, (n_queries,), n_queries, slots)
        wrong = (position < -1) | (position > slots)
        if wrong.any():
            raise ValueError(
                f"places has {position[wrong][0]}, but a block stands at 0 to {slots}, or nowhere "
                "(-1)"
            )
        table = (np.arange(-1, slots + 1) == position[:, None]).astype(np.float64)
    else:
        table = np.atleast_2d(checks.probabilities(places, "places", given.ndim))
        shape = (slots + 2,) if given.ndim == 1 else (n_queries, slots + 2)
        _check_shape(given, shape, n_queries, slots)
        total = table.sum(axis=1)
        if np.abs(total - 1.0).max() > 1e-6:
            worst = int(np.abs(total - 1.0).argmax())
            raise ValueError(f"places[{worst}] must sum to 1, not {total[worst]:.8g}")
        table = table / total[:, None]
    return np.array(np.broadcast_to(table, (n_queries, slots + 2)))


def _check_shape(given: NDArray[Any], shape: tuple[int, ...], n_queries: int, slots: int) -> None:
    if given.shape != shape:
        raise ValueError(
            f"places has shape {given.shape}, but must be one whole number, {n_queries} of them "
            f"(one for each query), or probabilities of {slots + 2} places (not shown, then 0 to "
            f"{slots}) for all queries or for each, {(n_queries, slots + 2)}"
        )
