"""The estimators by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from ...common import checks
from ...data import ClickLog, World
from ...policies import Policy
from .direct_method import click_model_value, regression_value
from .doubly_robust import doubly_robust_ips, doubly_robust_pi
from .importance import ips, on_policy, wips
from .inputs import check_inputs
from .pseudoinverse_estimates import pi, wpi
from .slate_estimates import SlateEstimate

# A new estimator is a function of ``Inputs`` and its own options, and a line here.
_ESTIMATORS: dict[str, Callable[..., SlateEstimate]] = {
    "on-policy": on_policy,
    "ips": ips,
    "wips": wips,
    "pi": pi,
    "wpi": wpi,
    "dm-tree": partial(regression_value, "tree"),
    "dm-lasso": partial(regression_value, "lasso"),
    "dm-model": click_model_value,
    "dr-ips": doubly_robust_ips,
    "dr-pi": doubly_robust_pi,
}


def estimate(
    name: str,
    log: ClickLog,
    rewards: ArrayLike,
    logging: Policy | None,
    target: Policy | None,
    world: World | None = None,
    **options: Any,
) -> SlateEstimate:
    """Estimate the target policy's value from a log of another policy.

    Parameters
    ----------
    name : str
        "on-policy", "ips", "wips", "pi", "wpi", "dm-tree", "dm-lasso", "dm-model", "dr-ips" or
        "dr-pi".
    log : ClickLog
        Its ``weight`` is honoured. Its ``log_propensity`` comes before ``logging.log_prob``.
    rewards : (n,)
        One per row: any number, see ``slate_rewards``.
    logging : Policy or None
        Who made the log. The pseudoinverse estimators need it; others only where the log has no
        propensities.
    target : Policy or None
        Whose value is asked for. Only "on-policy" does without: the log must be its own.
    world : World, optional
        For the features of "tree" and "lasso"; logs and policies are checked against it.
    **options
        clip : float
            Weights beyond ± this are set to it (not the direct methods): bias for less variance.
        weights : PseudoinverseWeights
            Made before, of these very policies, for "pi", "wpi" and "dr-pi".
        delta, reward_bound : float
            For ``bound`` of "pi": its δ (0.05), and what |rewards| never exceed (the larger of 1
            and what is seen).
        direct : "tree", "lasso", a regression with fit and predict, a fitted ClickModel
            The reward model of "dr-ips" and "dr-pi"; default "tree".
        predictions : (n,)
            What a click model given as ``direct`` predicts for the log's rows, if that is known.
        model : ClickModel
            Of "dm-model".
        reward : "clicks", "satisfied" or a function of (query, ranking)
            What click models predict.
        features : (Q, N, F), settings : dict
            Of regressions; default the world's standardised features. Settings are those of
            scikit-learn's tree, and of ``regressions.RewardLasso``.
        samples, seed : int
            For whatever is drawn: marginals ("pi", "wpi"), pages that a reward model is asked
            about where the target is stochastic, random halves. "dr-pi" draws marginals as "pi"
            does by default, unless it is given ``weights``.

    Returns
    -------
    SlateEstimate
        A float with standard error, 95% interval, method, and what is known of the weights.

    Notes
    -----
    Where all weights are zero, or those of a weighted form do not have a positive sum, the log says
    nothing about the target: 0 with an infinite interval, and "nothing known" in the method. The
    doubly robust ones then give what their reward model expects, with an infinite interval.

    Regressions are fitted to the first half of the log and asked about the second (the doubly
    robust ones also the other way round); to random halves of folded logs, and of logs that are
    sorted by query.
    """
    checks.choice(name, estimator_names(), "name")
    known = list(inspect.signature(_ESTIMATORS[name]).parameters)[1:]
    unknown = [option for option in options if option not in known]
    if unknown:
        takes = ", ".join(known) or "no options"
        raise TypeError(f"{name} has no option {unknown[0]!r}; it takes {takes}")
    if "seed" in options:
        checks.positive_integer(options["seed"], "seed", 0)
    inputs = check_inputs(log, rewards, logging, target, world)
    return _ESTIMATORS[name](inputs, **options)


def estimator_names() -> tuple[str, ...]:
    """Return the names that ``estimate`` takes."""
    return tuple(_ESTIMATORS)
