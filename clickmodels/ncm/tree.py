"""The neural click model's click probabilities over all click prefixes, or over the likely ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common.typing import Floats, Integers
from .gates import AnyFloats, Gates, write_next_states

if TYPE_CHECKING:
    from .model import NCM

_PAGES = 64  # of a chunk
_ROWS = 2048  # prefixes worked on at a time: what they need stays in the cache
_EXPONENT = 80.0  # exponentials up to this are finite and above 0 in single precision too

Outcomes = tuple[Integers, Integers]  # rows that go on without and with a click


class PrefixTree:
    """Follows every click prefix of a page through the network, rank by rank.

    Parameters
    ----------
    model : NCM
    dtype : numpy dtype
        float64, or float32 for speed (errors of about 1e-6).
    drop : float
        Prefixes less likely than this are not followed, except the likeliest of each page; the
        probability at each rank is then divided by the mass of the prefixes that are followed.
        0 follows all 2^K - 1.
    threads : int
        Chunks of pages worked on side by side.

    Notes
    -----
    Both outcomes at a rank share the product of weights and state and, unless weights are huge,
    the exponentials of two of the three gates. Where a share m of the mass is followed, the
    probability is off by at most 1 - m: ``click_probs`` returns that bound.
    """

    def __init__(
        self, model: NCM, dtype: type[Any] = np.float64, drop: float = 0.0, threads: int = 1
    ) -> None:
        self.dtype, self.drop, self.threads = np.dtype(dtype), drop, threads
        self._model, self._gates = model, Gates(model, self.dtype)
        gates = self._gates
        tiled = np.repeat(gates.click, _ROWS, axis=1)  # whole rows: no broadcast
        self._click_gates, self._click_candidate = tiled[:2], tiled[2]
        # exp(gate + click) is exp(gate) exp(click), as long as neither over- nor underflows.
        self._click_factor = np.exp(np.clip(tiled[:2], -_EXPONENT, _EXPONENT))
        self._click_is_small = float(np.abs(gates.click[:2]).max(initial=0.0)) <= _EXPONENT
        by_state = np.abs(gates.weights[:2]).sum(axis=1)  # at most this, for states are in ±1
        self._most_by_state = float(by_state.max(initial=0.0))

    def click_probs(self, query: Integers, ranking: Integers) -> tuple[Floats, Floats]:
        """Return P(C_k = 1) and the bound of its error, (n, K) each (0 where nothing is dropped).

        It costs at most 2^K - 1 steps of the network per page.
        """
        parts = [slice(start, start + _PAGES) for start in range(0, len(query), _PAGES)]
        work = [(query[part], ranking[part]) for part in parts]
        if self.threads == 1 or len(work) == 1:
            done = [self._follow_pages(*pages) for pages in work]
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                done = list(pool.map(lambda pages: self._follow_pages(*pages), work))
        if not done:
            return np.zeros(ranking.shape), np.zeros(ranking.shape)
        probs, lost = zip(*done, strict=True)
        return np.concatenate(probs), np.concatenate(lost)

    def _follow_pages(self, query: Integers, ranking: Integers) -> tuple[Floats, Floats]:
        """Return ``click_probs`` of a chunk of pages."""
        n, slots = ranking.shape
        state = np.zeros((n, self._gates.hidden), dtype=self.dtype)
        page, mass = np.arange(n), np.ones(n)
        follow: Outcomes = (np.arange(n), np.arange(0))
        probs, lost = np.empty((n, slots)), np.zeros((n, slots))
        room = _Room(self._gates.hidden, self.dtype)
        for slot in range(slots):
            inputs = self._gates.inputs(query, ranking[:, slot])
            largest = float(np.abs(inputs[:2]).max(initial=0.0)) + self._most_by_state
            room.exponentials = self._click_is_small and largest <= _EXPONENT
            state = self._step(state, inputs, page, follow, room)
            page = page[np.concatenate(follow)]
            documents = ranking[page, slot]
            chance = self._model.scaled(self._chances(state), query[page], documents)
            chance = np.where(documents >= 0, chance, 0.0)
            click = mass * chance
            probs[:, slot] = np.bincount(page, weights=click, minlength=n)
            if self.drop:
                kept = np.bincount(page, weights=mass, minlength=n)
                probs[:, slot] /= kept  # never 0: the likeliest prefix is always followed
                lost[:, slot] = np.maximum(1.0 - kept, 0.0)
            no_click = mass - click
            follow = self._choose_outcomes(no_click, click, page, n)
            mass = np.concatenate([no_click[follow[0]], click[follow[1]]])
        return probs, lost

    def _choose_outcomes(self, no_click: Floats, click: Floats, page: Integers, n: int) -> Outcomes:
        """Return the rows whose continuation without and with a click is followed.

        Those that are likely enough, and the likeliest of each page.
        """
        if not self.drop:
            rows = np.arange(len(click))
            return rows, rows
        highest = np.zeros(n)
        np.maximum.at(highest, page, np.maximum(no_click, click))
        enough = np.minimum(highest, self.drop)[page]
        return np.flatnonzero(no_click >= enough), np.flatnonzero(click >= enough)

    def _step(
        self, state: AnyFloats, inputs: AnyFloats, page: Integers, follow: Outcomes, room: _Room
    ) -> AnyFloats:
        """Return the states after one more rank: first those without a click at the rank before.

        ``state`` (r, H) has a row per prefix, ``page`` (r,) the page it belongs to; ``inputs``
        (3, n, H) are the pages'.
        """
        result = np.empty((len(follow[0]) + len(follow[1]), state.shape[1]), dtype=self.dtype)
        done = [0, len(follow[0])]  # where the next states without and with a click go
        with np.errstate(over="ignore"):
            for first in range(0, len(state), _ROWS):
                part = slice(first, first + _ROWS)
                self._open_gates(state[part], inputs, page[part], room)
                for clicked, rows in enumerate(follow):
                    bounds = np.searchsorted(rows, (first, first + _ROWS))
                    local = rows[bounds[0] : bounds[1]] - first
                    if not len(local):
                        continue
                    new = result[done[clicked] : done[clicked] + len(local)]
                    self._write_states(state[part], local, bool(clicked), room, new)
                    done[clicked] += len(local)
        return result

    def _open_gates(self, state: AnyFloats, inputs: AnyFloats, page: Integers, room: _Room) -> None:
        """Fill ``room`` with what both outcomes share."""
        n = len(state)
        back, ahead = room.back[:, :n], room.ahead[:, :n]
        np.matmul(state, self._gates.weights, out=back)
        inputs.take(page, axis=1, out=ahead, mode="clip")
        gates = back[:2]
        gates += ahead[:2]
        if room.exponentials:
            np.exp(gates, out=gates)
        back[2] += self._gates.candidate_bias

    def _write_states(
        self, state: AnyFloats, rows: Integers, clicked: bool, room: _Room, new: AnyFloats
    ) -> None:
        """Write the states of the prefixes ``rows`` after this rank into ``new``."""
        n = len(rows)
        gates, ahead = room.gates[:, :n], room.ahead[2, : len(state)]
        back = room.back[:, : len(state)]
        if n < len(state):
            back, ahead, state = back[:, rows], ahead[rows], state[rows]
        if not room.exponentials:
            np.add(back[:2], self._click_gates[:, :n] if clicked else 0, out=gates)
            np.exp(gates, out=gates)
        elif clicked:
            np.multiply(back[:2], self._click_factor[:, :n], out=gates)
        else:
            gates[:] = back[:2]
        both = (ahead, self._click_candidate[:n]) if clicked else (ahead,)
        write_next_states(state, gates, back[2], both, room.candidate[:n], new)

    def _chances(self, state: AnyFloats) -> Floats:
        logits = np.clip(self._gates.logits(state).astype(np.float64), -700.0, 700.0)
        return 1.0 / (1.0 + np.exp(-logits))


class _Room:
    """Arrays for one thread's prefixes, used again and again."""

    def __init__(self, hidden: int, dtype: np.dtype[Any]) -> None:
        self.back = np.empty((3, _ROWS, hidden), dtype=dtype)
        self.ahead = np.empty((3, _ROWS, hidden), dtype=dtype)
        self.gates = np.empty((2, _ROWS, hidden), dtype=dtype)
        self.candidate = np.empty((_ROWS, hidden), dtype=dtype)
        self.exponentials = True  # whether gates are kept as exponentials
