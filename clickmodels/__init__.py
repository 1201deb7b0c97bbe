"""Click models: distributions over click vectors, known (true users) or fitted."""

from .arm import ARM
from .arm_nc import ARMNC
from .base import ClickModel, NotCapable, NotExact
from .cacm import CACMMinus
from .cocm import CoCM
from .ctr import CTR
from .dbn import DBN
from .dctr import DCTR
from .drctr import DRCTR
from .fitting import fit, names
from .ncm import NCM
from .pbm import PBM
from .ranktopobs import RankTopObs
from .rctr import RCTR
from .registry import register, registered
from .toppop import TopPop
from .toppopobs import TopPopObs
from .ubm import UBM
from .users import true_user, user_names

__all__ = [
    "ARM", "ARMNC", "CTR", "DBN", "DCTR", "DRCTR", "NCM", "PBM", "RCTR", "UBM", "CACMMinus",
    "ClickModel", "CoCM", "NotCapable", "NotExact", "RankTopObs", "TopPop", "TopPopObs",
    "fit", "names", "register", "registered", "true_user", "user_names",
]  # fmt: skip
