"""The picture of a deployment card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..reporting.figures import (
    BEST,
    LOGGING,
    MAX_REWARD,
    PROMISED,
    RANDOM,
    TOP_DOWN,
    new_figure,
    save_figure,
)
from .card_text import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .card import DeploymentCard


def plot_card(card: DeploymentCard, path: str | None = None) -> Figure:
    """Draw the predicted interval above promises and estimates, with what the log earned."""
    estimates = [one for one in card.estimates if one.low is not None]
    count = 1 + len(card.promises) + len(estimates)
    figure = new_figure(8.5, 1.2 + 0.3 * count)
    axis = figure.subplots()
    names = ["predicted (90%)"]
    low, high = card.deployed.low, card.deployed.high
    axis.barh(0, high - low, left=low, height=0.62, color=MAX_REWARD, alpha=0.3)
    axis.plot([card.deployed.value] * 2, [-0.31, 0.31], color=MAX_REWARD, linewidth=3)
    for place, one in enumerate(card.promises, 1):
        names.append(one.model)
        label = _once(place == 1)
        axis.plot(one.promised, place, "o", color=PROMISED, label=label("promised"))
        if one.pessimistic is not None and one.cautious is not None:
            axis.plot([one.cautious, one.promised], [place] * 2, color=PROMISED, linewidth=0.8)
            axis.plot(one.pessimistic, place, "D", color=TOP_DOWN, label=label("pessimistic"))
            axis.plot(one.cautious, place, "|", color=PROMISED, label=label("cautious"))
    for place, estimate in enumerate(estimates, 1 + len(card.promises)):
        names.append(NAMES[estimate.name] + ("" if estimate.trusted else " (not trusted)"))
        colour = BEST if estimate.trusted else RANDOM
        ends: list[Any] = [estimate.low, estimate.value, estimate.high]
        axis.plot(ends, [place] * 3, color=colour)
        axis.plot(ends[1], place, "s", color=colour)
    axis.axvline(card.earned.value, color=LOGGING, linestyle="--", label="the log")
    _set_limits(axis, card)
    axis.set_yticks(range(count), names)
    axis.set_ylim(count - 0.4, -0.6)
    axis.set_xlabel("clicks per page")
    axis.set_title(f"{card.policy}: {card.verdict}", fontsize=11, parse_math=False)
    axis.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    if path is not None:
        save_figure(figure, path)
    return figure


def _once(first: bool) -> Any:
    """Return what labels a mark the first time that it is drawn."""
    return lambda text: text if first else None


def _set_limits(axis: Any, card: DeploymentCard) -> None:
    """Leave out what estimates and cautious promises that say nothing would stretch to."""
    inside = [card.earned.value, card.deployed.low, card.deployed.high]
    inside += [one.promised for one in card.promises]
    inside += [end for one in card.estimates if one.trusted for end in (one.low, one.high)]  # type: ignore[misc]
    room = 0.35 * (max(inside) - min(inside)) + 0.02 * card.earned.value
    axis.set_xlim(max(min(inside) - room, 0.0), max(inside) + room)
