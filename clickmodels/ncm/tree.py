"""The neural click model's click probabilities over all click prefixes, or over the likely ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .model import NCM

_PAGES = 64  # of a chunk
_ROWS = 2048  # prefixes worked on at a time: what they need stays in the cache
_EXPONENT = 80.0  # exponentials up to this are finite and above 0 in single precision too

Floats = NDArray[np.floating[Any]]
Outcomes = tuple[NDArray[np.int64], NDArray[np.int64]]


class PrefixTree:
    """Follows every click prefix of a page through the network, rank by rank.

    Parameters
    ----------
    model : NCM
    dtype : numpy dtype
        float64, or float32 for speed (errors of about 1e-6).
    drop : float
        Prefixes less likely than this are not followed (but each page's likeliest is); each
        rank's probability is then divided by the mass of those that are. 0 follows all 2^K - 1.
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
        self._model = model
        self._hidden = hidden = len(model.output_weights)
        # Gates are kept negated and the candidate doubled, as the exponentials want them.
        sign = np.array([-1.0, -1.0, -2.0])[:, None]
        self._sign = sign.astype(dtype)
        weights = model.hidden_weights.reshape(3, hidden, hidden).transpose(0, 2, 1)
        self._weights = np.ascontiguousarray(weights * sign[:, :, None], dtype=dtype)
        bias = model.hidden_bias.reshape(3, hidden) * sign
        self._gate_bias, self._candidate_bias = bias[:2], bias[2].astype(dtype)
        click = model.input_weights[:, -1].reshape(3, hidden) * sign
        tiled = np.repeat(click[:, None].astype(dtype), _ROWS, axis=1)  # whole rows: no broadcast
        self._click_gates, self._click_candidate = tiled[:2], tiled[2]
        # exp(gate + click) is exp(gate) exp(click), as long as neither over- nor underflows.
        self._click_factor = np.exp(np.clip(tiled[:2], -_EXPONENT, _EXPONENT))
        largest = float(np.abs(click[:2]).max(initial=0.0))
        self._click_is_small = largest <= _EXPONENT
        self._back = float(np.abs(weights[:2]).sum(axis=1).max(initial=0.0))  # states are in ±1
        self._out = model.output_weights.astype(dtype)
        self._out_bias = self.dtype.type(model.output_bias)

    def click_probs(
        self, query: NDArray[np.int64], ranking: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return P(C_k = 1) and the bound of its error, (n, K) each (0 where nothing is dropped).

        It costs at most 2^K - 1 steps of the network a page.
        """
        parts = [slice(start, start + _PAGES) for start in range(0, len(query), _PAGES)]
        work = [(query[part], ranking[part]) for part in parts]
        if self.threads == 1 or len(work) == 1:
            done = [self._chunk(*pages) for pages in work]
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                done = list(pool.map(lambda pages: self._chunk(*pages), work))
        if not done:
            return np.zeros(ranking.shape), np.zeros(ranking.shape)
        probs, lost = zip(*done, strict=True)
        return np.concatenate(probs), np.concatenate(lost)

    def _chunk(
        self, query: NDArray[np.int64], ranking: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        n, slots = ranking.shape
        state = np.zeros((n, self._hidden), dtype=self.dtype)
        page, mass = np.arange(n), np.ones(n)
        follow: Outcomes = (np.arange(n), np.arange(0))  # rows without and with a click before
        probs, lost = np.empty((n, slots)), np.zeros((n, slots))
        room = _Room(self._hidden, self.dtype)
        for slot in range(slots):
            inputs = self._inputs(query, ranking[:, slot])
            reach = float(np.abs(inputs[:2]).max(initial=0.0)) + self._back
            room.exponentials = self._click_is_small and reach <= _EXPONENT
            state = self._step(state, inputs, page, follow, room)
            page = page[np.concatenate(follow)]
            chance = np.where(ranking[page, slot] >= 0, self._chances(state), 0.0)
            click = mass * chance
            probs[:, slot] = np.bincount(page, weights=click, minlength=n)
            if self.drop:
                kept = np.bincount(page, weights=mass, minlength=n)
                probs[:, slot] /= kept  # never 0: the likeliest prefix is always followed
                lost[:, slot] = np.maximum(1.0 - kept, 0.0)
            no_click = mass - click
            follow = self._followed(no_click, click, page, n)
            mass = np.concatenate([no_click[follow[0]], click[follow[1]]])
        return probs, lost

    def _inputs(self, query: NDArray[np.int64], document: NDArray[np.int64]) -> Floats:
        """Return what query and document add to the gates, (3, n, H)."""
        inputs = self._model.inputs(query, document).reshape(len(query), 3, self._hidden)
        inputs = inputs * self._sign
        inputs[:, :2] += self._gate_bias
        return np.ascontiguousarray(inputs.transpose(1, 0, 2), dtype=self.dtype)

    def _followed(
        self, no_click: NDArray[np.float64], click: NDArray[np.float64],
        page: NDArray[np.int64], n: int,
    ) -> Outcomes:  # fmt: skip
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
        self, state: Floats, inputs: Floats, page: NDArray[np.int64], follow: Outcomes, room: _Room
    ) -> Floats:
        """Return the states after one more rank: first those without a click at the rank before.

        ``state`` (r, H) are those of the prefixes ``page`` (r,) belongs to, ``inputs`` (3, n, H).
        """
        result = np.empty((len(follow[0]) + len(follow[1]), self._hidden), dtype=self.dtype)
        done = [0, len(follow[0])]  # where the next states without and with a click go
        with np.errstate(over="ignore"):
            for first in range(0, len(state), _ROWS):
                part = slice(first, first + _ROWS)
                self._gates(state[part], inputs, page[part], room)
                for clicked, rows in enumerate(follow):
                    bounds = np.searchsorted(rows, (first, first + _ROWS))
                    local = rows[bounds[0] : bounds[1]] - first
                    if not len(local):
                        continue
                    new = result[done[clicked] : done[clicked] + len(local)]
                    self._states(state[part], local, bool(clicked), room, new)
                    done[clicked] += len(local)
        return result

    def _gates(
        self, state: Floats, inputs: Floats, page: NDArray[np.int64], room: _Room
    ) -> None:
        """Fill ``room`` with what both outcomes share."""
        n = len(state)
        back, ahead = room.back[:, :n], room.ahead[:, :n]
        np.matmul(state, self._weights, out=back)
        inputs.take(page, axis=1, out=ahead, mode="clip")
        gates = back[:2]
        gates += ahead[:2]
        if room.exponentials:
            np.exp(gates, out=gates)
        back[2] += self._candidate_bias

    def _states(
        self, state: Floats, rows: NDArray[np.int64], clicked: bool, room: _Room, new: Floats
    ) -> None:
        """Write the states of the prefixes ``rows`` after this rank into ``new``."""
        n = len(rows)
        gates, candidate, ahead = room.gates[:, :n], room.candidate[:n], room.ahead[2, : len(state)]
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
        gates += 1
        np.divide(back[2], gates[0], out=candidate)
        candidate += ahead
        if clicked:
            candidate += self._click_candidate[:n]
        _tanh_of_half(candidate)
        np.subtract(state, candidate, out=new)
        new /= gates[1]
        new += candidate

    def _chances(self, state: Floats) -> NDArray[np.float64]:
        logits = (state @ self._out + self._out_bias).astype(np.float64)
        return 1.0 / (1.0 + np.exp(-np.clip(logits, -700.0, 700.0)))


class _Room:
    """Arrays for one thread's prefixes, used again and again."""

    def __init__(self, hidden: int, dtype: np.dtype[Any]) -> None:
        self.back = np.empty((3, _ROWS, hidden), dtype=dtype)
        self.ahead = np.empty((3, _ROWS, hidden), dtype=dtype)
        self.gates = np.empty((2, _ROWS, hidden), dtype=dtype)
        self.candidate = np.empty((_ROWS, hidden), dtype=dtype)
        self.exponentials = True  # whether gates are kept as exponentials


def _tanh_of_half(values: Floats) -> None:
    """Replace values -2 x by tanh(x) = 2 / (1 + exp(-2 x)) - 1, cheaper than ``np.tanh``."""
    np.exp(values, out=values)
    values += 1
    np.divide(2, values, out=values)
    values -= 1
