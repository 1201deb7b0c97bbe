"""The neural click model's GRU in the form that its many steps are cheapest in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Integers

if TYPE_CHECKING:
    from .model import NCM

AnyFloats = NDArray[np.floating[Any]]


class Gates:
    """The weights of the GRU, for steps by exponentials in one precision.

    σ(x) = 1 / (1 + exp(-x)) and tanh(x) = 2 / (1 + exp(-2 x)) - 1, so what adds up to x is kept
    negated for the reset and update gates, and times -2 for the candidate. Each of the three has
    an array of its own, (3, ., H), so that all operations run over contiguous memory.
    """

    def __init__(self, model: NCM, dtype: np.dtype[Any]) -> None:
        self._model, self._dtype = model, dtype
        self.hidden = hidden = len(model.output_weights)
        self._sign = sign = np.array([-1.0, -1.0, -2.0])[:, None, None]
        weights = model.hidden_weights.reshape(3, hidden, hidden).transpose(0, 2, 1)
        self.weights = np.ascontiguousarray(weights * sign, dtype=dtype)
        bias = model.hidden_bias.reshape(3, 1, hidden) * sign
        self._gate_bias, self.candidate_bias = bias[:2], bias[2].astype(dtype)
        self.click = (model.input_weights[:, -1].reshape(3, 1, hidden) * sign).astype(dtype)
        self._out = model.output_weights.astype(dtype)
        self._out_bias = dtype.type(model.output_bias)

    def inputs(self, query: Integers, document: Integers) -> AnyFloats:
        """Return what query, document and biases add to the gates, (3, n, H).

        The candidate's ``candidate_bias`` is not among them: the reset gate scales it.
        """
        inputs = self._model.inputs(query, document).reshape(-1, 3, self.hidden)
        inputs = inputs.transpose(1, 0, 2) * self._sign
        inputs[:2] += self._gate_bias
        return np.ascontiguousarray(inputs, dtype=self._dtype)

    def logits(self, state: AnyFloats) -> AnyFloats:
        """Return the logits of a click in these states (n, H), (n,)."""
        result: AnyFloats = state @ self._out + self._out_bias
        return result


def write_next_states(
    state: AnyFloats,
    exponentials: AnyFloats,
    back: AnyFloats,
    ahead: tuple[AnyFloats, ...],
    candidate: AnyFloats,
    new: AnyFloats,
) -> None:
    """Write the states that follow ``state`` (n, H) into ``new``, which may be ``state`` itself.

    ``exponentials`` (2, n, H) are those of the reset and update gates; ``back`` is what the state
    and ``ahead`` what the inputs add to the candidate. ``candidate`` is room to work in, and may
    be ``back`` itself; ``exponentials`` is written over.
    """
    exponentials += 1
    np.divide(back, exponentials[0], out=candidate)
    for part in ahead:
        candidate += part
    np.exp(candidate, out=candidate)  # now a tanh, cheaper than by ``np.tanh``
    candidate += 1
    np.divide(2, candidate, out=candidate)
    candidate -= 1
    np.subtract(state, candidate, out=new)
    new /= exponentials[1]
    new += candidate
