"""The base of Stable-Baselines3 agents: seeds, learning in rollouts, checkpoints as data."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...common.runtime import import_extra
from ...common.typing import Integers
from ..base import Agent, count, number
from ..block_places import find_places

if TYPE_CHECKING:
    from .page_networks import PageNetwork
    from .vec_env import IdsVecEnv

_COUNTERS = ("num_timesteps", "_n_updates", "_n_calls", "_episode_num")
_REPLAYED = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


@dataclasses.dataclass(frozen=True)
class NetworkSettings:
    """The settings of all Stable-Baselines3 agents.

    Attributes
    ----------
    num_envs : int
        Pages shown at once.
    batch_size : int
        Pages (slots, for agents that fill slots) of a gradient step.
    learning_rate : float
        Of Adam, at first.
    half_life : float
        Pages after which the learning rate is half of what it was at first, a third after twice
        as many, and so on.
    hidden : int
        Width of the network's layers.
    """

    num_envs: int = count(256)
    batch_size: int = count(2048)
    learning_rate: float = number(2e-3)
    half_life: float = number(100_000.0)
    hidden: int = count(64)


@dataclasses.dataclass(frozen=True)
class ReplaySettings(NetworkSettings):
    """The settings of agents that learn from a replay buffer as well.

    Attributes
    ----------
    gradient_steps : int
        Between two batches of pages.
    averaging : float
        How far the network to deploy, a running mean, moves to the present one with each batch of
        pages.
    """

    gradient_steps: int = count(1)
    averaging: float = number(0.02, most=1)


@dataclasses.dataclass(frozen=True)
class ProximalSettings(NetworkSettings):
    """The settings of proximal policy optimisation as well.

    Attributes
    ----------
    steps : int
        Batches of pages between updates.
    epochs : int
        Times that the pages between two updates are learned from.
    clip_range : float
        How far the probability ratio counts.
    """

    steps: int = count(8)
    epochs: int = count(4)
    clip_range: float = number(0.2)


class StableBaselinesAgent(Agent):
    """An agent whose learning is done by a Stable-Baselines3 algorithm.

    A subclass says how pages are seen (``action``) and makes the algorithm
    (``make_algorithm``). Global random generators, which Stable-Baselines3 draws from, are the
    agent's own while it learns and are given back afterwards.
    """

    extra = "agents"
    reward_scale: ClassVar[float] = 1.0
    sees_last: ClassVar[bool] = False  # whether the network knows which document was placed last
    credit: ClassVar[bool | str] = (
        True  # which rewards of slots are asked for, where they are filled
    )

    def prepare(self) -> None:
        """Make the environments and the algorithm."""
        import_extra("sb3_contrib", self.extra, f"{self.name} needs")  # it brings the other
        from stable_baselines3.common.logger import Logger

        from .vec_env import IdsVecEnv

        world = self.task.world
        if world.features is None:  # then only what is learned for a query alone tells them apart
            self._features = np.tile(
                np.eye(world.n_docs, dtype=np.float32), (world.n_queries, 1, 1)
            )
        else:
            self._features = world.standardised_features.copy()  # writeable, as torch wants it
        self._candidates = world.candidates.copy()
        shape = self.settings.num_envs, self.action
        envs = self.task.vector_env(
            *shape, "ids", slot_rewards=self.action == "slots" and self.credit
        )
        self._env: IdsVecEnv = IdsVecEnv(envs, self.reward_scale)
        self._generators: Any = None
        with self._own_generators():
            self.model: Any = self.make_algorithm()
        self.model.set_logger(Logger(None, []))  # or each rollout would make one

    def make_algorithm(self) -> Any:
        """Return the algorithm, made with ``shared_arguments``."""
        raise NotImplementedError

    def shared_arguments(self, **of_policy: Any) -> dict[str, Any]:
        """Return the arguments that every algorithm gets; ``of_policy`` goes to its policy."""
        own = self.settings
        shared = {
            "env": self._env, "learning_rate": self._rate(), "batch_size": own.batch_size,
            "seed": self.seed, "device": "cpu",
            "policy_kwargs": {"network": self.make_network, **of_policy},
        }  # fmt: skip
        if not isinstance(own, ProximalSettings):
            return shared
        undiscounted = {"gamma": 1.0, "gae_lambda": 1.0}
        return shared | undiscounted | {"n_epochs": own.epochs, "clip_range": own.clip_range}

    def make_network(self) -> PageNetwork:
        """Return a new network for the world's pages."""
        from .page_networks import PageNetwork, PlaceScores

        head = PlaceScores(*find_places(self.task)) if self.task.places_blocks else None
        own = self.task.slots, self.settings.hidden
        return PageNetwork(self._features, self._candidates, *own, head, self.sees_last)

    def _rate(self) -> Callable[[float], float]:
        """Return the learning rate as a function of the pages shown so far.

        Stable-Baselines3's own schedules follow the share of a ``learn`` call that is left, and a
        training run makes many.
        """
        rate, half_life = self.settings.learning_rate, self.settings.half_life
        return lambda _: rate / (1.0 + self._env.finished / half_life)

    @contextmanager
    def _own_generators(self) -> Iterator[None]:
        import torch

        before = _generators()
        if self._generators is None:
            torch.manual_seed(self.seed)
            np.random.seed(self.seed)  # noqa: NPY002
            random.seed(self.seed)
        else:
            _set_generators(self._generators)
        try:
            yield
        finally:
            self._generators = _generators()
            _set_generators(before)

    def learn(self, until: int) -> None:
        """Learn rollout by rollout until ``pages`` is at least ``until``."""
        with self._own_generators():
            while self.pages < until:
                self.model.learn(1, log_interval=None, reset_num_timesteps=False)
                self.pages = self._env.finished

    def state(self) -> dict[str, Any]:
        """Return parameters, optimisers, counters, generators and the replay buffer."""
        model = self.model
        legacy = self._generators[1]
        return {
            "parameters": _arrays(model.policy.state_dict()),
            "optimisers": [_arrays(optimiser.state_dict()) for optimiser in self._optimisers()],
            "counters": {key: int(getattr(model, key)) for key in _COUNTERS if hasattr(model, key)},
            "finished": self._env.finished,
            "torch": self._generators[0].numpy().copy(),
            "numpy": [legacy[0], legacy[1].copy(), *legacy[2:]],
            "started": model._last_obs is not None,
            "query": self._queries(),
            "environment": self._env.env.np_random.bit_generator.state,
            "replayed": self._replay_state(),
        }

    def _queries(self) -> Integers:
        if self.model._last_obs is None:
            return np.zeros(0, dtype=np.int64)
        return self.model._last_obs[:, 0].astype(np.int64)

    def _optimisers(self) -> list[Any]:
        policy = self.model.policy
        if hasattr(policy, "critic"):
            return [policy.actor.optimizer, policy.critic.optimizer]
        return [policy.optimizer]

    def _replay_state(self) -> dict[str, Any] | None:
        buffer = getattr(self.model, "replay_buffer", None)
        if buffer is None:
            return None
        rows = buffer.buffer_size if buffer.full else buffer.pos
        arrays: dict[str, Any] = {key: getattr(buffer, key)[:rows].copy() for key in _REPLAYED}
        return arrays | {"pos": int(buffer.pos), "full": bool(buffer.full)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from ``state``. A page that was half filled (slots) is started again."""
        import torch

        model = self.model
        model.policy.load_state_dict(_tensors(state["parameters"]))
        for optimiser, saved in zip(self._optimisers(), state["optimisers"], strict=True):
            optimiser.load_state_dict(_optimiser_state(saved))
        for key, value in state["counters"].items():
            setattr(model, key, value)
        self._env.finished = state["finished"]
        if hasattr(model, "exploration_rate"):  # it follows the pages, but only from the next on
            model.exploration_rate = model.exploration_schedule(1.0)
        numpy = state["numpy"]
        self._generators = torch.from_numpy(state["torch"].copy()), tuple(numpy), random.getstate()
        if state["started"]:
            model._last_obs = self._env.resume(state["query"], state["environment"])
            model._last_episode_starts = np.ones(self._env.num_envs, dtype=bool)
        if state["replayed"] is not None:
            replayed, buffer = state["replayed"], model.replay_buffer
            for key in _REPLAYED:
                getattr(buffer, key)[: len(replayed[key])] = replayed[key]
            buffer.pos, buffer.full = replayed["pos"], replayed["full"]


def _generators() -> tuple[Any, ...]:
    import torch

    return torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002


def _set_generators(states: tuple[Any, ...]) -> None:
    import torch

    torch.set_rng_state(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    random.setstate(states[2])


def _arrays(value: Any) -> Any:
    """Return ``value`` with arrays for tensors, at any depth."""
    if hasattr(value, "detach"):
        return value.detach().cpu().numpy().copy()
    if isinstance(value, dict):
        return {key: _arrays(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_arrays(item) for item in value]
    return value


def _tensors(arrays: dict[Any, Any]) -> dict[Any, Any]:
    import torch

    return {key: torch.from_numpy(np.array(array)) for key, array in arrays.items()}


def _optimiser_state(saved: dict[str, Any]) -> dict[str, Any]:
    state = {key: _tensors(values) for key, values in saved["state"].items()}
    for values in state.values():
        values["step"] = values["step"].reshape(())  # files have no arrays without dimension
    return {"state": state, "param_groups": saved["param_groups"]}
