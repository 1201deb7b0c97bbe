"""The deployment card as text, and the tables that the text and the page share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..reporting.formats import PlainTable
from ..statistics import Estimate
from ..warning_signs.sign import percent
from .calibration import CONFIDENCE

if TYPE_CHECKING:
    from .card import DeploymentCard

NAMES = {"wips": "IPS, ratio form", "wpi": "PI, ratio form", "dr-pi": "doubly robust PI"}


def card_text(card: DeploymentCard) -> str:
    """Return the card as lines of text."""
    lines = [f"{card.policy}: {card.verdict.upper()}", card.reason, ""]
    lines += [f"  {name:<11} {text}" for name, text in summarise(card).items()]
    for table in (promise_table(card), estimate_table(card), unknown_table(card)):
        if table.rows:
            lines += ["", *_lines(table)]
    lines += ["", "Warning signs"]
    lines += [f"  {text}" for text in sign_lines(card)]
    return "\n".join([*lines, "", how_made(card)])


def summarise(card: DeploymentCard) -> dict[str, str]:
    """Return prediction, lift and what the log earned, each in words."""
    level = f"{CONFIDENCE:.0%}"
    return {
        "predicted": f"{card.deployed.value:.3f} clicks per page "
        f"({level}: {card.deployed.low:.3f} to {card.deployed.high:.3f})",
        "lift": f"{card.relative_lift.value:+.1%} "
        f"({level}: {card.relative_lift.low:+.1%} to {card.relative_lift.high:+.1%})",
        "the log": f"{card.earned.value:.3f} clicks per page (95%: {_range(card.earned)})",
    }


def promise_table(card: DeploymentCard) -> PlainTable:
    """Return what click models promise for the policy."""
    table = PlainTable(
        "Promises, clicks per page", "model",
        ("promised", "pessimistic", "cautious", "of unknown documents"),
        "pessimistic: what the log supports of the promise; cautious: every document one standard "
        "deviation below what is thought of it; of unknown documents: the share of the promised "
        "clicks that fall on documents which the log showed fewer than ten times. The interval is "
        "made from those called exposure and score.",
    )  # fmt: skip
    for one in card.promises:
        texts = [_number(value) for value in (one.promised, one.pessimistic, one.cautious)]
        table.add(one.model, [*texts, percent(one.hardly)])
    for name, reason in card.silent.items():
        table.add(name, [reason, "", "", ""])
    return table


def estimate_table(card: DeploymentCard) -> PlainTable:
    """Return the estimates that weight the log's pages."""
    table = PlainTable(
        "Estimates by weights, clicks per page", "estimator",
        ("value", "95% interval", "effective pages", "trusted"),
        "Second opinions that need no click model; they do not change the interval.",
    )  # fmt: skip
    for one in card.estimates:
        known = one.low is not None and one.high is not None
        table.add(NAMES[one.name], [
            _number(one.value), f"{one.low:.3f} to {one.high:.3f}" if known else "unknown",
            "unknown" if one.effective_size is None else f"{one.effective_size:,.0f}",
            "yes" if one.trusted else f"no: {one.doubt}",
        ])  # fmt: skip
    return table


def unknown_table(card: DeploymentCard) -> PlainTable:
    """Return the documents that the policy shows most of those that the log hardly showed."""
    table = PlainTable(
        "Documents to test first", "query and document",
        ("mean rank", "share of what is shown", "times in the log"),
        "Of the documents that the log showed fewer than ten times for their query, those that "
        "the policy shows most.",
    )  # fmt: skip
    for one in card.unknown:
        table.add(f"{one.query} / {one.document}", [
            f"{one.rank:.1f}", f"{one.share:.2%}", f"{one.logged:,.0f}",
        ])  # fmt: skip
    return table


def sign_lines(card: DeploymentCard) -> list[str]:
    """Return the signs that speak, and those that are silent or not known in a line each."""
    lines = [f"{sign.name}: {sign.warning}" for sign in card.signs.speaking]
    for heading, signs in (("silent", card.signs.silent), ("not known", card.signs.not_run)):
        if signs:
            lines.append(f"{heading}: {', '.join(sign.name for sign in signs)}")
    return lines


def how_made(card: DeploymentCard) -> str:
    """Return where the interval comes from, in a sentence."""
    made = card.calibration.made
    known = "policies" in made and "logs" in made
    many = f" ({made['policies']:,} policies after {made['logs']:,} logs)" if known else ""
    return (
        f"The {CONFIDENCE:.0%} interval is made from the promises of click models that were fitted "
        f"to the log, as they came true in simulated deployments{many}: docs/deployment_card.md."
    )


def _lines(table: PlainTable) -> list[str]:
    """Return a table as aligned text."""
    rows = [[table.names, *table.headings]]
    rows += [[name, *(cell.text for cell in cells)] for name, cells in table.rows.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = []
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        texts.append(f"  {'  '.join(cells)}".rstrip())
    return [table.title, *texts]


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def _range(number: Estimate) -> str:
    return f"{number.low:.3f} to {number.high:.3f}"
