"""The ledger of claims: what the robustness paper found, tested on the rows at hand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ...evaluation.reporting.formats import markdown_lines
from ..engine.rows import Row
from .claims import Claim
from .policy_claims import max_reward_gains, max_reward_in_vain, simple_gains
from .prediction_claims import (
    collapse,
    dbn_matched_and_mismatched,
    naive_at_ndcg,
    nothing_predicts,
    robust_three,
    simple_predicts_robustly,
)

HEADINGS = ("claim", "verdict", "tested", "numbers")
RULES = (
    "A claim holds when all its findings hold, and does not hold when one does not. Differences "
    "are taken within a seed; [low, high] is the 95% Student-t interval over seeds, of a mean rank "
    "correlation the 95% bootstrap interval over training logs. A finding holds when its interval "
    "lies wholly on the claimed side, does not hold when it lies wholly on the other side, and is "
    "undecided otherwise. A finding on every log needs the intervals of all of them, and fails by "
    "one on the other side at a level of 5% divided by their number; one on some log is the "
    "opposite of that. Nothing is corrected across findings. nPPL is equation 16 among the "
    "paper's six click models; its rise is out of minus in distribution, lower is more robust."
)


def ledger(rows: Sequence[Row]) -> list[Claim]:
    """Return the paper's eight claims with their findings on ``rows``."""
    simple = Claim(
        "Simpler models are the more robust", "sections 6.3 and 7",
        (simple_predicts_robustly(rows), simple_gains(rows)),
    )  # fmt: skip
    return [
        naive_at_ndcg(rows),
        collapse(rows),
        nothing_predicts(rows),
        dbn_matched_and_mismatched(rows),
        robust_three(rows),
        max_reward_gains(rows),
        max_reward_in_vain(rows),
        simple,
    ]


def ledger_lines(claims: Sequence[Claim]) -> list[tuple[str, ...]]:
    """Return the ledger's lines under ``HEADINGS``: a claim's own, then one a finding."""
    lines: list[tuple[str, ...]] = []
    for number, claim in enumerate(claims, start=1):
        lines.append((f"{number}. {claim.statement} ({claim.section})", claim.verdict, "", ""))
        lines += [("", found.verdict, found.test, found.numbers) for found in claim.findings]
    return lines


def ledger_markdown(claims: Sequence[Claim]) -> str:
    """Return the ledger as a Markdown table, with its rules."""
    return markdown_lines(HEADINGS, ledger_lines(claims)) + f"\n\n{RULES}\n"


def ledger_section(claims: Sequence[Claim]) -> str:
    """Return the claims, each above its findings, and the rules of the tests."""
    lines = []
    for number, claim in enumerate(claims, start=1):
        statement = escape(f"{number}. {claim.statement} ({claim.section})")
        lines.append(f'<tr class="claim"><th colspan="2">{statement}</th>')
        lines.append(f"<td>{_verdict(claim.verdict)}</td></tr>")
        for found in claim.findings:
            texts = "".join(f"<td>{escape(text)}</td>" for text in (found.test, found.numbers))
            lines.append(f"<tr>{texts}<td>{_verdict(found.verdict)}</td></tr>")
    head = "".join(f'<th scope="col">{name}</th>' for name in ("tested", "numbers", "verdict"))
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="scroll">{table}</div><p class="legend">{escape(RULES)}</p>\n'


def _verdict(verdict: str) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{verdict}</span>'
