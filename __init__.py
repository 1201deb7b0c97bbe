"""clickgym: train a ranking agent inside a learned click model, deploy it on the true user."""

from importlib.metadata import PackageNotFoundError, version

from . import agents, clickmodels, data, envs, evaluation, policies, studies

try:
    __version__ = version("clickgym")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["agents", "clickmodels", "data", "envs", "evaluation", "policies", "studies"]
