"""Drawing without replacement, by dynamic programming over how many of each weight were drawn."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ...common.typing import Floats, Integers

MOST_WORK = 500_000_000  # multiplications, about a second; marginals that need more are sampled


class Layer(NamedTuple):
    """The states after some draws, and the draws that lead on from them.

    Attributes
    ----------
    left : (S, T)
        How many documents of each type are left.
    state, drawn, following : (E,)
        A draw from ``state`` of a document of type ``drawn`` leads to ``following``, a state of the
        next layer. Empty for the last layer.
    n_following : int
        States of the next layer.
    """

    left: Integers
    state: Integers
    drawn: Integers
    following: Integers
    n_following: int


def count_states(counts: tuple[int, ...], slots: int) -> list[int]:
    """Return how many states there are after 0, 1, ... ``slots - 1`` draws."""
    numbers = [1] + [0] * (slots - 1)
    for count in counts:
        numbers = [sum(numbers[max(i - count, 0) : i + 1]) for i in range(slots)]
    return numbers


def count_work(counts: tuple[int, ...], slots: int) -> int:
    """Return about how many multiplications ``draw_moments`` takes."""
    numbers = count_states(counts, slots)
    return sum(number * drawn for drawn, number in enumerate(numbers, 1)) * len(counts) ** 2


@lru_cache(maxsize=4)
def list_layers(counts: tuple[int, ...], slots: int) -> tuple[Layer, ...]:
    """Return the states of every layer, which queries with the same counts share."""
    numbers = count_states(counts, slots)
    left = np.array([counts], dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    result = []
    for number in numbers[1:]:
        state, drawn = np.nonzero(left)
        following, first = _merge_states(left, state, drawn, number)
        result.append(Layer(left, state, drawn, following, number))
        left = left[state[first]]
        left[np.arange(number), drawn[first]] -= 1
    return (*result, Layer(left, none, none, none, 0))


def _merge_states(
    left: Integers, state: Integers, drawn: Integers, number: int
) -> tuple[Integers, Integers]:
    """Return each draw's state of the next layer (E,), and a draw that leads to each (number,).

    States are told apart by a random linear code of 64 bits. Their number is known, so a collision
    shows, and another code is tried.
    """
    rng = np.random.default_rng(0)
    while True:
        code = rng.integers(1 << 63, size=left.shape[1:])
        with np.errstate(over="ignore"):
            codes = (left @ code)[state] - code[drawn]
        values, first, following = np.unique(codes, return_index=True, return_inverse=True)
        if len(values) == number:
            return following, first


def draw_moments(
    counts: tuple[int, ...], logs: tuple[float, ...], slots: int
) -> tuple[Floats, Floats]:
    """Return the probabilities of types, slot by slot and for pairs of slots.

    Parameters
    ----------
    counts : T integers
        How many documents there are of each type; at least ``slots`` in all.
    logs : T floats
        The log-weight of a document of each type.
    slots : int
        How many documents are drawn.

    Returns
    -------
    slot : (K, T)
        P(draw j is of type t).
    joint : (K, T, K, T)
        P(draw j is of type t and draw k of type u).

    Notes
    -----
    One pass forwards. Besides its probability, each state carries one number for each earlier
    (draw, type): the probability of the state together with that draw. The weight that is
    left in a state is a sum over what is left, never a difference, and is scaled state by state,
    so steep weights lose no digits.
    """
    n_types = len(counts)
    slot = np.zeros((slots, n_types))
    joint = np.zeros((slots, n_types, slots, n_types))
    reached = np.ones(1)
    earlier = np.zeros((1, 0))  # (S, j * T)
    for j, layer in enumerate(list_layers(counts, slots)):
        chance = _next_type(layer.left, np.array(logs))
        slot[j] = reached @ chance
        joint[j, :, j, :] = np.diag(slot[j])
        pairs = (earlier.T @ chance).reshape(j, n_types, n_types)
        joint[:j, :, j, :] = pairs
        joint[j, :, :j, :] = pairs.transpose(2, 0, 1)
        if layer.n_following:
            moved = chance[layer.state, layer.drawn]
            ends = (layer.following, layer.state)
            step = csr_array((moved, ends), shape=(layer.n_following, len(layer.left)))
            latest = np.zeros((layer.n_following, n_types))
            latest[layer.following, layer.drawn] = reached[layer.state] * moved
            earlier = np.hstack([step @ earlier, latest])
            reached = step @ reached
    return slot, joint


def _next_type(left: Integers, logs: Floats) -> Floats:
    """Return the probability of each type for the next draw, (S, T)."""
    with np.errstate(divide="ignore"):
        weight = np.log(left) + logs
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True)
