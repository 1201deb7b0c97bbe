"""Recommending items to users who rated some of them."""

from __future__ import annotations

from typing import Any

from ..clickmodels import ClickModel, user_names
from ..data import World, embedded_ratings_world
from .ranking import RankingEnv
from .settings import environment_signature
from .vector import RankingVectorEnv

USER = "cascade-high"


class RecommendationEnv(RankingEnv):
    """A user opens the page of recommendations, the agent ranks items, the user clicks.

    It is :class:`RankingEnv` with a world of ratings: its queries are users, its documents items,
    and its true users click by the ratings of the test part (``data.Ratings.world``). What has no
    rating there is never clicked.

    ## Observation
    As in :class:`RankingEnv`. The features of the default world are made from the training part:
    an item's popularity and mean rating, then factors of item and user and their products.

    ## Action
    As in :class:`RankingEnv`. Candidates are the items with a training rating, but for those that
    the user rated in training.

    ## Reward
    As in :class:`RankingEnv`.

    ## Start
    A user with a test rating; all come equally often.

    ## End
    As in :class:`RankingEnv`.

    ## Info
    As in :class:`RankingEnv`.

    ## Arguments
    user : ``"no-bias"``, ``"examination-log"``, ``"examination-quad"``, ``"browsing-log"``,
        ``"browsing-quad"``, ``"cascade-low"`` or ``"cascade-high"`` (default), or a ``ClickModel``
        that is a true user.
    world : a ``World`` with ratings; default ``data.embedded_ratings_world()``: 990 users, 200
        items, 26 features.
    Then those of :class:`RankingEnv`.

    ## Version history
    v0: the first.
    """

    __signature__ = environment_signature(user=USER)

    def __init__(
        self,
        user: str | ClickModel = USER,
        world: World | None = None,
        *arguments: Any,
        **by_name: Any,
    ) -> None:
        super().__init__(_check_user(user), _choose_world(world), *arguments, **by_name)


class RecommendationVectorEnv(RankingVectorEnv):
    """``num_envs`` environments like :class:`RecommendationEnv`, stepped as one batch.

    ## Observation
    A batch of those of :class:`RecommendationEnv`.

    ## Action
    As in :class:`RankingVectorEnv`.

    ## Reward
    As in :class:`RankingVectorEnv`.

    ## Start
    As in :class:`RankingVectorEnv`.

    ## End
    As in :class:`RankingVectorEnv`.

    ## Info
    As in :class:`RankingVectorEnv`.

    ## Arguments
    num_envs : the number of environments.
    Then those of :class:`RecommendationEnv`.

    ## Version history
    v0: the first.
    """

    __signature__ = environment_signature("num_envs", user=USER)

    def __init__(
        self,
        num_envs: int = 1,
        user: str | ClickModel = USER,
        world: World | None = None,
        *arguments: Any,
        **by_name: Any,
    ) -> None:
        super().__init__(num_envs, _check_user(user), _choose_world(world), *arguments, **by_name)


def _check_user(user: str | ClickModel) -> str | ClickModel:
    known = user_names("ratings")
    if not isinstance(user, ClickModel) and user not in known:
        raise ValueError(
            f"user must be a ClickModel or a true user of ratings ({', '.join(known)}), "
            f"not {user!r}"
        )
    return user


def _choose_world(world: World | None) -> World:
    return embedded_ratings_world() if world is None else world
