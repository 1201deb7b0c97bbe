"""Vectorised ranking environments as Stable-Baselines3 wants them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from ...common.typing import Booleans, Integers
from ...envs import RankingVectorEnv

WIDEST = 100.0  # of scores: the environment takes any, and clipping them would tie the best


class StableBaselinesVecEnv(VecEnv):
    """Hands a :class:`RankingVectorEnv` to Stable-Baselines3, whole, without a loop over pages.

    Stable-Baselines3 knows no Gymnasium ``VectorEnv``; this gives it what its own ``VecEnv``
    gives: a reset in the same step, ``terminal_observation`` and ``TimeLimit.truncated`` in the
    infos, and, as its ``Monitor`` does, ``episode`` with the return ``r``, length ``l`` and time
    ``t``, so that ``rollout/ep_rew_mean`` is logged.
    """

    def __init__(self, env: RankingVectorEnv) -> None:
        if not isinstance(env, RankingVectorEnv):
            raise ValueError(
                f"env must be a RankingVectorEnv, not {type(env).__name__}: make it with "
                'gym.make_vec(..., vectorization_mode="vector_entry_point")'
            )
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self._actions: Any = None
        self._info: dict[str, Any] = {}
        self._returns = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, dtype=np.int64)
        self._start = time.time()

    def reset(self) -> Any:
        """Reset all pages, with the seed that ``seed()`` set."""
        # One generator and one set of options for the batch: the first environment's.
        observation, _ = self.env.reset(seed=self._seeds[0], options=self._options[0] or None)
        self._reset_seeds()
        self._reset_options()
        self._returns[:] = 0.0
        self._lengths[:] = 0
        return observation

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], Booleans, list[dict[str, Any]]]:
        """Step all pages."""
        observation, rewards, terminated, truncated, info = self.env.step(self._actions)
        done = terminated | truncated
        self._info = info
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if done.any():
            final = info["final_obs"]
            elapsed = round(time.time() - self._start, 6)
            returns, lengths = self._returns.tolist(), self._lengths.tolist()
            for row in np.flatnonzero(done).tolist():
                infos[row] = {
                    "terminal_observation": final[row],
                    "TimeLimit.truncated": False,
                    "episode": {"r": returns[row], "l": lengths[row], "t": elapsed},
                }
            self._returns[done] = 0.0
            self._lengths[done] = 0
        return observation, rewards.astype(np.float32), done, infos

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute, the same for every page."""
        value = getattr(self.env, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the whole batch."""
        setattr(self.env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the batch and return its rows (``action_masks`` for MaskablePPO)."""
        result = getattr(self.env, method_name)(*method_args, **method_kwargs)
        return [None if result is None else result[row] for row in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for every page, but for ``Monitor``, whose work is done here."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a picture of each page."""
        images = self.env.render()
        return [None] * self.num_envs if images is None else list(images)


class IdsVecEnv(StableBaselinesVecEnv):
    """A batch whose observations are numbers (n, 1) or (n, 1 + N): the id, and what is placed.

    Stable-Baselines3 would turn ids into one-hot vectors as long as the world has queries; the
    networks look features up instead. Rewards are multiplied by ``scale``.

    Attributes
    ----------
    finished : int
        Pages that were shown.
    ended, lengths : (m,)
        The environments whose pages ended in the last step, where pages are filled slot by slot,
        and how many slots were filled.
    shares : (m, K)
        What each slot earned, multiplied by ``scale``.
    """

    def __init__(self, env: RankingVectorEnv, scale: float = 1.0) -> None:
        super().__init__(env)
        self.scale = scale
        width = (env.single_observation_space.shape or (1,))[0]
        highest = float(max(env.world.n_queries, env.slots + 1))
        self.observation_space = spaces.Box(0.0, highest, (width,), np.float32)
        if env.settings.action == "scores":
            shape = env.single_action_space.shape
            self.action_space = spaces.Box(-WIDEST, WIDEST, shape, np.float32)
        self.finished = 0

    def _numbers(self, observation: NDArray[Any]) -> NDArray[np.float32]:
        return observation.reshape(self.num_envs, -1).astype(np.float32)

    def reset(self) -> NDArray[np.float32]:
        """Reset all pages."""
        return self._numbers(super().reset())

    def resume(self, query: Integers, state: dict[str, Any]) -> NDArray[np.float32]:
        """Start pages of ``query`` (n,), with the generator in ``state``."""
        self._reset_seeds()
        observation, _ = self.env.reset(seed=0, options={"query": query})
        self.env.np_random.bit_generator.state = state
        return self._numbers(observation)

    def step_wait(self) -> tuple[Any, NDArray[np.float32], Booleans, list[dict[str, Any]]]:
        """Step all pages."""
        observation, rewards, done, infos = super().step_wait()
        self.finished += int(done.sum())
        if self.env.settings.slot_rewards:
            self.ended = np.flatnonzero(done)
            final = self._info["final_info"] if len(self.ended) else self._info
            self.shares = final["slot_rewards"][self.ended] * self.scale
            self.lengths = (final["ranking"][self.ended] >= 0).sum(axis=1)
        return self._numbers(observation), rewards * np.float32(self.scale), done, infos
