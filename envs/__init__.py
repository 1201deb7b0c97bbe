"""Gymnasium environments: a world and a click model, single or in batches."""

from .federated import FederatedEnv
from .federated_vector import FederatedVectorEnv
from .ranking import RankingEnv
from .recommendation import RecommendationEnv, RecommendationVectorEnv
from .recording import RecordClicks, RecordVectorClicks, collect, record
from .registration import environment_ids, register_environments
from .spaces import Rankings
from .vector import RankingVectorEnv

register_environments()

__all__ = [
    "FederatedEnv", "FederatedVectorEnv", "RankingEnv", "RankingVectorEnv", "Rankings",
    "RecommendationEnv", "RecommendationVectorEnv", "RecordClicks", "RecordVectorClicks", "collect",
    "environment_ids", "record",
]  # fmt: skip
