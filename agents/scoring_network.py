"""A network that scores each candidate in the context of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from ..common.typing import Floats, Integers
from ..data import World

_SHORTEST = 0.005  # the share of the newest weights in their average, after many steps


class ScoringNetwork:
    """Logits from features: a layer by document, the mean of all of them, two layers on both.

    Parameters
    ----------
    world : World
        With features, which are standardised.
    hidden : int
        Width of each layer.
    seed : int
        Of the first weights.

    Notes
    -----
    Equivariant: reordering the candidates reorders the logits. The last layer starts at zero, so
    all rankings are equally likely at first. The weights to deploy are averaged over the last few
    hundred steps, because single steps are noisy.
    """

    def __init__(self, world: World, hidden: int, seed: int) -> None:
        features = torch.from_numpy(world.standardised_features.copy())
        self._features = features
        self._candidates = torch.from_numpy(world.candidates.copy()).float()[..., None]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._first = nn.Linear(features.shape[2], hidden)
            self._middle = nn.Linear(2 * hidden, hidden)
            self._last = nn.Linear(hidden, 1)
        with torch.no_grad():
            self._last.weight.zero_()
        self._parameters = [
            p for layer in (self._first, self._middle, self._last) for p in layer.parameters()
        ]
        self.average = self._flat()
        self._steps = 0
        # Single steps are small beside the weights, so they are added in double precision.
        self._precise = nn.Parameter(torch.from_numpy(self._flat()))
        self._adam = torch.optim.Adam([self._precise])

    def _forward(self, query: Integers) -> torch.Tensor:
        index = torch.from_numpy(query.astype(np.int64))
        candidates = self._candidates[index]
        own = torch.relu(self._first(self._features[index]))
        others = (own * candidates).sum(1, keepdim=True) / candidates.sum(1, keepdim=True).clamp(1)
        both = torch.cat([own, others.expand_as(own)], dim=2)
        scores: torch.Tensor = self._last(torch.relu(self._middle(both)))[..., 0]
        return scores

    def logits(self, query: Integers) -> Floats:
        """Return the logits of queries, (q, N)."""
        with torch.no_grad():
            return self._forward(query).numpy().astype(np.float64)

    def final_logits(self, query: Integers) -> Floats:
        """Return the logits of the averaged weights, (q, N)."""
        current = self._flat()
        self._set(self.average)
        logits = self.logits(query)
        self._set(current)
        return logits

    def ascend(self, query: Integers, gradient: Floats, rate: float) -> None:
        """Move the weights along ``gradient`` (q, N) of the logits of queries (q,)."""
        upstream = torch.from_numpy(gradient.astype(np.float32))
        parts = torch.autograd.grad(self._forward(query), self._parameters, upstream)
        with torch.no_grad():
            self._precise.copy_(torch.from_numpy(self._flat()))
        self._precise.grad = -torch.cat([part.reshape(-1) for part in parts]).double()
        self._adam.param_groups[0]["lr"] = rate
        self._adam.step()
        self._set(self._precise.detach().numpy())
        self._steps += 1
        # At first the average follows closely, or it would remember the random start.
        share = max(_SHORTEST, 10.0 / (10.0 + self._steps))
        self.average += share * (self._flat() - self.average)

    def _flat(self) -> Floats:
        flat = torch.cat([p.detach().reshape(-1) for p in self._parameters])
        return flat.numpy().astype(np.float64)

    def _set(self, flat: Floats) -> None:
        values = torch.from_numpy(flat.astype(np.float32))
        parts = values.split([p.numel() for p in self._parameters])
        with torch.no_grad():
            for parameter, part in zip(self._parameters, parts, strict=True):
                parameter.copy_(part.view_as(parameter))

    def state(self) -> dict[str, Any]:
        """Return the weights and the optimiser's moments."""
        none = torch.zeros_like(self._precise)
        moments = self._adam.state[self._precise] or {"exp_avg": none, "exp_avg_sq": none}
        adam = {
            "first": -moments["exp_avg"].detach().numpy(),  # torch descends, the agent ascends
            "second": moments["exp_avg_sq"].detach().numpy().copy(),
            "steps": np.array([float(self._steps)]),
        }
        return {"weights": self._flat(), "average": self.average.copy(), "adam": adam}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a ``state``."""
        self._set(state["weights"])
        self.average = state["average"].copy()
        adam = state["adam"]
        self._steps = int(adam["steps"][0])
        self._adam.state[self._precise] = {
            "step": torch.tensor(float(self._steps)),
            "exp_avg": torch.from_numpy(-adam["first"]),
            "exp_avg_sq": torch.from_numpy(adam["second"].copy()),
        }
