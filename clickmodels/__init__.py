"""Click models: distributions over click vectors, known (true users) or fitted."""

from .arm import ARM
from .arm_nc import ARMNC
from .base import ClickModel, NotCapable
from .cacm import CACMMinus
from .ccm import CCM
from .cm import CM
from .cocm import CoCM
from .ctr import CTR
from .dbn import DBN
from .dcm import DCM
from .dctr import DCTR
from .drctr import DRCTR
from .ensemble import Ensemble
from .fitting import bootstrap_weights, fit, fit_priors, member_seed, names
from .ncm.model import NCM
from .pages import NotExact
from .pbm import PBM
from .popularity import RankTopObs, TopPop, TopPopObs
from .rctr import RCTR
from .registry import register, registered
from .sdbn import SDBN
from .ubm import UBM
from .users import true_user, user_names, user_parameters, user_takes
from .verticals.fcm import FCM
from .verticals.vcm import VCM

__all__ = [
    "ARM", "ARMNC", "CCM", "CM", "CTR", "DBN", "DCM", "DCTR", "DRCTR", "FCM", "NCM", "PBM", "RCTR",
    "SDBN", "UBM", "VCM", "CACMMinus",
    "ClickModel", "CoCM", "Ensemble", "NotCapable", "NotExact", "RankTopObs", "TopPop", "TopPopObs",
    "bootstrap_weights", "fit", "fit_priors", "member_seed", "names", "register", "registered",
    "true_user", "user_names", "user_parameters", "user_takes",
]  # fmt: skip
