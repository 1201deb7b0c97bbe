"""Stable-Baselines3's policy classes, around our networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3 import DQN, SAC
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from stable_baselines3.sac.policies import Actor, SACPolicy
from torch import Tensor, nn
from torch.nn import functional

from .page_networks import PageNetwork, ScoresCritic

NEVER = -1e9  # the value of a document that cannot be placed


class _Identity(nn.Module):
    """Replaces Stable-Baselines3's layers after the features, which our network already has."""

    def forward(self, value: Tensor) -> Tensor:
        """Return ``value``."""
        return value


class _AroundTheScorer:
    """Puts the network where Stable-Baselines3's actor-critic policies have layers of their own."""

    def __init__(self, *args: Any, network: Callable[[], PageNetwork], **kwargs: Any) -> None:
        self.make_network = network
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        policy: Any = self  # the layers are not of the types declared there
        policy.mlp_extractor, policy.action_net = self.make_network(), _Identity()
        policy.value_net = _Identity()
        self._more_parameters()
        settings = policy.optimizer_kwargs
        policy.optimizer = policy.optimizer_class(
            policy.parameters(), lr=lr_schedule(1), **settings
        )

    def _more_parameters(self) -> None:
        """Make what is learned beside the network."""


class ScoresPolicy(_AroundTheScorer, ActorCriticPolicy):
    """Scores around the scorer's, with one spread for all candidates."""

    def _more_parameters(self) -> None:
        # One for all candidates: their places in the list mean nothing.
        self.log_std = nn.Parameter(torch.full((1,), float(self.log_std_init)))


class MaskedSlotsPolicy(_AroundTheScorer, MaskableActorCriticPolicy):
    """The scorer's scores are the logits of the next document."""


class ScoresActor(Actor):
    """The scorer's scores, with one spread for all candidates, squashed."""

    def __init__(self, *args: Any, network: Callable[[], PageNetwork], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.latent_pi, self.mu, self.log_std
        self.network = network()
        self.log_std = nn.Parameter(torch.full((1,), float(self.log_std_init)))

    def get_action_dist_params(self, obs: Any) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Return means (n, N) and log standard deviations (n, N)."""
        means = self.network.forward_actor(obs)
        return means, self.log_std.clamp(-4.0, 1.0).expand_as(means), {}


class OneCritic(BasePolicy):
    """A critic of scores as SAC wants it.

    One, not the usual two: their minimum is against errors that bootstrapping adds up, and a page
    of one step has no next value.
    """

    def __init__(self, observation_space: Any, action_space: Any, critic: ScoresCritic) -> None:
        super().__init__(observation_space, action_space)
        self.critic = critic

    def forward(self, obs: Tensor, actions: Tensor) -> tuple[Tensor, ...]:
        """Return the values (n, 1)."""
        return (self.critic(obs[:, 0].long(), actions),)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        raise NotImplementedError("a critic does not act")


class ScoresSACPolicy(SACPolicy):
    """Actor and critics of SAC around the scorer, and the running mean of the actor's network."""

    def __init__(
        self,
        *args: Any,
        network: Callable[[], PageNetwork],
        critic: Callable[[], ScoresCritic],
        log_std_init: float = -1.0,
        **kwargs: Any,
    ) -> None:
        self.make_network, self.make_scores_critic = network, critic
        self.log_std_init = log_std_init
        super().__init__(*args, **kwargs)
        self.mean_network: PageNetwork = self.make_network().requires_grad_(False)
        actor: Any = self.actor
        self.mean_network.load_state_dict(actor.network.state_dict())

    def make_actor(self, features_extractor: Any = None) -> ScoresActor:
        """Return a new actor."""
        kwargs = self._update_features_extractor(self.actor_kwargs, features_extractor)
        kwargs["log_std_init"] = self.log_std_init
        return ScoresActor(**kwargs, network=self.make_network).to(self.device)

    def make_critic(self, features_extractor: Any = None) -> Any:
        """Return a new critic."""
        critic = self.make_scores_critic()
        return OneCritic(self.observation_space, self.action_space, critic).to(self.device)


class OneStepSAC(SAC):
    """SAC for pages of one step, which have no next value: neither it nor a target is computed.

    What is deployed is the running mean of the actor's network, which does not follow every step.
    """

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Take gradient steps on replayed pages, of the critic and then of the actor."""
        self.policy.set_training_mode(True)
        policy: Any = self.policy
        actor, critic = policy.actor, policy.critic
        self._update_learning_rate([actor.optimizer, critic.optimizer])
        buffer: Any = self.replay_buffer
        for _ in range(gradient_steps):
            replayed = buffer.sample(batch_size)
            actions, log_prob = actor.action_log_prob(replayed.observations)
            (values,) = critic(replayed.observations, replayed.actions)
            critic.optimizer.zero_grad()
            functional.mse_loss(values, replayed.rewards).div(2.0).backward()
            critic.optimizer.step()
            critic.requires_grad_(False)  # the actor follows its gradient by the actions alone
            (values,) = critic(replayed.observations, actions)
            actor.optimizer.zero_grad()
            (self.ent_coef_tensor * log_prob - values.squeeze(1)).mean().backward()
            actor.optimizer.step()
            critic.requires_grad_(True)
        move_towards(policy.mean_network, actor.network, self.tau)
        self._n_updates += gradient_steps


def move_towards(mean: nn.Module, module: nn.Module, share: float) -> None:
    """Move the parameters of a running mean by this share of the way to those of a module."""
    with torch.no_grad():
        for own, other in zip(mean.parameters(), module.parameters(), strict=True):
            own.lerp_(other, share)


class SlotsQNetwork(QNetwork):
    """The value of placing each candidate next: the page's value plus the candidate's score.

    The observation tells what is placed, so documents that cannot be placed are left out here.
    """

    def __init__(self, *args: Any, network: Callable[[], PageNetwork], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.q_net
        self.network = network()

    def forward(self, obs: Any) -> Tensor:
        """Return the values (n, N)."""
        scores, values = self.network(obs)
        return torch.where(self.network.read(obs)[1], scores + values, NEVER)

    def judge_choices(self, obs: Tensor, document: Tensor) -> Tensor:
        """Return the values (n,) of placing ``document`` (n,) next."""
        return self.network.judge_choices(obs, document)


class SlotsDQNPolicy(DQNPolicy):
    """The network of DQN and its target around the scorer."""

    def __init__(self, *args: Any, network: Callable[[], PageNetwork], **kwargs: Any) -> None:
        self.make_network = network
        super().__init__(*args, **kwargs)

    def make_q_net(self) -> SlotsQNetwork:
        """Return a new network."""
        kwargs = self._update_features_extractor(self.net_args, features_extractor=None)
        return SlotsQNetwork(**kwargs, network=self.make_network).to(self.device)


class FreeDQN(DQN):
    """DQN whose exploration draws free candidates by their values, each page by itself.

    Stable-Baselines3 explores uniformly, in all environments of a batch or in none, and without
    masks: most of its tries late on a page would be repaired into some other document, and most of
    the others would be documents that are known to be bad. Here a choice has a probability
    proportional to exp(value / temperature), where ``exploration_rate`` is the temperature.

    Values are regressed on returns to the end of the page, so there is no next value to ask a
    target network for; pages that have not ended are left out. The target network is the running
    mean of the network instead, and what is deployed: documents of nearly the same value change
    places from one gradient step to the next.
    """

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[Any], Any]:
        """Return the documents of the highest mean values."""
        with torch.no_grad():
            values = self.q_net_target(torch.as_tensor(observation))
        return values.argmax(dim=1).numpy(), state

    def _on_step(self) -> None:
        """Explore as the pages shown say."""
        self.exploration_rate = self.exploration_schedule(1.0)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Take gradient steps on replayed choices; only what was chosen is judged."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        buffer: Any = self.replay_buffer
        network: Any = self.q_net
        for _ in range(gradient_steps):
            replayed = buffer.sample(batch_size)
            values = network.judge_choices(replayed.observations, replayed.actions[:, 0].long())
            errors = functional.smooth_l1_loss(values, replayed.rewards[:, 0], reduction="none")
            ended = replayed.dones[:, 0]
            loss = (errors * ended).sum() / ended.sum().clamp(min=1.0)
            self.policy.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
        move_towards(self.q_net_target, self.q_net, self.tau)
        self._n_updates += gradient_steps

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        seen: Any = self._last_obs
        with torch.no_grad():
            values = self.q_net(torch.as_tensor(seen)).numpy()
        noise = np.random.gumbel(size=values.shape)  # noqa: NPY002
        action = (values + self.exploration_rate * noise).argmax(axis=1)
        return action, action
