"""Networks of the models that read from the top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from .embeddings import Embedding, Hidden, PairLogits
from .network import Network, click_loss

if TYPE_CHECKING:
    from ...data import World

GoesOn = tuple[Tensor | float, Tensor]  # after a skip, and after a click on each slot, (n, K)


class CascadeNetwork(Network):
    """Reading from the top; subclasses say how it goes on."""

    def __init__(self, world: World, slots: int, embedding: Embedding, hidden: Hidden) -> None:
        super().__init__()
        self.attractiveness = PairLogits(world, embedding, hidden)

    def goes_on(self, query: Tensor, ranking: Tensor, attractive: Tensor) -> GoesOn:
        """Return P(goes on) after a skip, and after a click on each slot, (n, K)."""
        raise NotImplementedError(f"{type(self).__name__} does not define goes_on()")

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, by filtering P(examined) down the page."""
        attractive = torch.sigmoid(self.attractiveness(query, ranking))
        attractive = torch.where(ranking >= 0, attractive, 0.0)
        after_skip, after_click = self.goes_on(query, ranking, attractive)
        examined = torch.ones(len(query), device=query.device)
        log_click = []
        for slot in range(ranking.shape[1]):
            value = attractive[:, slot]
            click = (examined * value).clamp(1e-7, 1.0 - 1e-7)
            log_click.append(torch.log(click))
            skipped = examined * (1.0 - value) / (1.0 - click) * after_skip
            examined = torch.where(clicks[:, slot], after_click[:, slot], skipped)
        return click_loss(torch.stack(log_click, dim=1), clicks, ranking >= 0)


class SDBNNetwork(CascadeNetwork):
    """The simplified dynamic Bayesian network."""

    def __init__(self, world: World, slots: int, embedding: Embedding, hidden: Hidden) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.satisfaction = PairLogits(world, embedding, hidden)

    def goes_on(self, query: Tensor, ranking: Tensor, attractive: Tensor) -> GoesOn:
        """Return one, and P(not satisfied)."""
        return 1.0, torch.sigmoid(-self.satisfaction(query, ranking))


class DBNNetwork(CascadeNetwork):
    """The dynamic Bayesian network."""

    def __init__(self, world: World, slots: int, embedding: Embedding, hidden: Hidden) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.satisfaction = PairLogits(world, embedding, hidden)
        self.continuation = nn.Parameter(torch.tensor(1.0))

    def goes_on(self, query: Tensor, ranking: Tensor, attractive: Tensor) -> GoesOn:
        """Return γ, and γ P(not satisfied)."""
        rate = torch.sigmoid(self.continuation)
        return rate, rate * torch.sigmoid(-self.satisfaction(query, ranking))


class DCMNetwork(CascadeNetwork):
    """The dependent click model."""

    def __init__(self, world: World, slots: int, embedding: Embedding, hidden: Hidden) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.continuation = nn.Parameter(torch.ones(slots))

    def goes_on(self, query: Tensor, ranking: Tensor, attractive: Tensor) -> GoesOn:
        """Return one, and a probability by rank."""
        return 1.0, torch.sigmoid(self.continuation).expand(ranking.shape)


class CCMNetwork(CascadeNetwork):
    """The click chain model."""

    def __init__(self, world: World, slots: int, embedding: Embedding, hidden: Hidden) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.continuation = nn.Parameter(torch.ones(3))

    def goes_on(self, query: Tensor, ranking: Tensor, attractive: Tensor) -> GoesOn:
        """Return τ₁, and τ₂ (1 - a) + τ₃ a."""
        skip, irrelevant, relevant = torch.sigmoid(self.continuation)
        return skip, irrelevant + (relevant - irrelevant) * attractive


class CMNetwork(CascadeNetwork):
    """The cascade model: each page counts down to its first click."""

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page down to its first click, (n,)."""
        log_click = nn.functional.logsigmoid(self.attractiveness(query, ranking))
        before = torch.cumsum(clicks, dim=1) - clicks.long()
        return click_loss(log_click, clicks, (ranking >= 0) & (before == 0))
