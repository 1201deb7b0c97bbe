"""Click models: distributions over click vectors, known (true users) or fitted."""

from .base import ClickModel, NotCapable, NotExact
from .cocm import CoCM
from .dbn import DBN
from .pbm import PBM
from .registry import register, registered
from .ubm import UBM
from .users import true_user, user_names

__all__ = [
    "DBN", "PBM", "UBM", "ClickModel", "CoCM", "NotCapable", "NotExact",
    "register", "registered", "true_user", "user_names",
]  # fmt: skip
