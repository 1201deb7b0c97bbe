"""What the numbers of a report on one's own log say, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...clickmodels.uncertainty.exposure import PLAIN
from ...evaluation import CrossTable
from ...evaluation.offpolicy.slate_estimates import ENOUGH
from ..engine.rows import Row, distinct, where

CLEAR = 0.1  # a promise this much above the others' median is the optimiser's curse
_RANDOM = 0.5  # chance of two equal pages, above which the log is hardly random
_ALIKE = 0.5  # rank correlation of two halves, below which a model is not stable


@dataclass(frozen=True)
class Findings:
    """What the rows of a report say."""

    rows: Sequence[Row]

    def of_log(self, quantity: str) -> float | None:
        """Return a number of the log."""
        (row,) = where(self.rows, part="log", quantity=quantity)
        value: float | None = row["value"]
        return value

    @cached_property
    def perplexities(self) -> dict[str, Row]:
        """The row of each fitted model's perplexity."""
        return {row["model"]: row for row in where(self.rows, part="model", quantity="perplexity")}

    @cached_property
    def models(self) -> list[str]:
        """The fitted models."""
        return list(self.perplexities)

    @cached_property
    def best_model(self) -> str:
        """The model with the lowest perplexity on held-out pages."""
        return min(self.models, key=lambda name: self.perplexities[name]["value"] or np.inf)

    @cached_property
    def above_best(self) -> dict[str, Row]:
        """How far each other model is above the best one, both on the same pages."""
        return {row["model"]: row for row in where(self.rows, part="comparison")}

    @cached_property
    def as_good(self) -> list[str]:
        """Other models that the held-out pages do not show to be worse than the best one."""
        return [name for name, row in self.above_best.items() if row["low"] <= 0]

    def same_as(self, policy: str) -> list[str]:
        """Return the other rankings that show the same pages as this one."""
        rows = where(self.rows, part="same pages")
        first = {row["quantity"]: row["policy"] for row in rows}
        alike = [*dict.fromkeys(first.values()), *first]
        shown = first.get(policy, policy)
        return [name for name in alike if first.get(name, name) == shown and name != policy]

    @cached_property
    def logged(self) -> dict[str, float | None]:
        """What each model says that the held-out pages earned."""
        rows = where(self.rows, part="model", quantity="logged")
        return {row["model"]: row["value"] for row in rows}

    @cached_property
    def priors(self) -> dict[str, str]:
        """With which prior each model was fitted."""
        rows = where(self.rows, part="model", quantity="prior")
        return {row["model"]: row["text"] for row in rows}

    @cached_property
    def trust(self) -> dict[str, float]:
        """Which share of the differences that a model sees can be relied on, of careful models."""
        rows = where(self.rows, part="model", quantity="trust")
        return {row["model"]: row["value"] for row in rows if self.priors[row["model"]] != PLAIN}

    def promise(self, policy: str) -> float | None:
        """Return what can be promised for a ranking; None where its model does not know.

        None too where that is still far above what the other models say: a log that a model was
        fitted to closely bears it out, whatever it says of other pages.
        """
        rows = where(self.rows, part="policy", quantity="promise", policy=policy)
        value: float | None = rows[0]["value"] if rows else None
        if value is None or self.suspect is None or self.cross is None:
            return value
        others = self.cross.others[self.cross.policies.index(policy)]
        return None if value - others > CLEAR * max(others, 1e-12) else value

    @cached_property
    def warnings(self) -> list[Row]:
        """A row for each warning sign of the suggested ranking: 1 speaks, 0 is silent."""
        return where(self.rows, part="warning")

    @cached_property
    def cross(self) -> CrossTable | None:
        """What every model says of every policy; None without policies."""
        judged = where(self.rows, part="judgement")
        if not judged:
            return None
        names, judges = distinct(judged, "policy"), distinct(judged, "judge")
        values = np.full((len(names), len(judges)), np.nan)
        own = [0] * len(names)
        for row in judged:
            place = names.index(row["policy"])
            values[place, judges.index(row["judge"])] = row["value"]
            own[place] = judges.index(row["model"])
        return CrossTable(names, judges, values, own)

    @cached_property
    def nothing_to_learn(self) -> str:
        """Why the clicks tell no documents apart: there is none, or all are clicked; else ""."""
        rates = {row["value"] for row in where(self.rows, part="rank", quantity="click_rate")}
        if rates <= {0.0, None}:
            return "No document was clicked"
        return "Every document that was shown was clicked" if rates <= {1.0, None} else ""

    @cached_property
    def suspect(self) -> int | None:
        """The policy whose own model promises most above the others' median."""
        return None if self.cross is None else self.cross.suspect

    @cached_property
    def only_own_judge(self) -> bool:
        """Whether that promise is far above what the others say."""
        if self.cross is None or self.suspect is None or self.nothing_to_learn:
            return False
        others = self.cross.others[self.suspect]
        return bool(self.cross.excess[self.suspect] > CLEAR * max(others, 1e-12))

    @cached_property
    def recommended(self) -> int | None:
        """The ranking that is ahead of most others by models that suggested neither of the two.

        Every ranking has another panel of judges (all models but its own), so that medians over
        those panels cannot be compared: a strict judge lowers the rankings of all models but its
        own. Pairs can: see ``CrossTable.leads``. Of rankings that are ahead of equally many, the
        one with the largest gain over the pages as logged by ``lift``, as always with two models,
        which have no impartial judge; with a single model, the one that it promises most for.
        None where no ranking is ahead of another.
        """
        if self.cross is None or self.nothing_to_learn or self.undecided:
            return None
        if self.suspect is None:
            return int(np.argmax(self.cross.promised))
        gains = [self.lift(place) for place in range(len(self.cross.policies))]
        first = [-np.inf if gain is None else gain for gain in gains]
        return max(range(len(first)), key=lambda place: (self.leading[place], first[place]))

    @cached_property
    def undecided(self) -> bool:
        """Whether impartial judges compare the rankings, and none is ahead of another."""
        several = self.cross is not None and len(self.cross.judges) > 2
        return several and not any(self.leading)

    @cached_property
    def leading(self) -> list[int]:
        """How many rankings each one is ahead of; all 0 where two models judge."""
        assert self.cross is not None
        few = len(self.cross.judges) < 3
        return [0] * len(self.cross.policies) if few else [int(n) for n in self.cross.ahead]

    def lift(self, policy: int) -> float | None:
        """Return the median gain over the pages as logged, each by the same other model."""
        assert self.cross is not None
        gains = [
            self.cross.values[policy, place] - logged
            for place, judge in enumerate(self.cross.judges)
            if place != self.cross.own[policy] and (logged := self.logged.get(judge)) is not None
        ]
        return float(np.median(gains)) if gains else None

    @cached_property
    def groups(self) -> list[list[int]]:
        """The ranks that are tied together."""
        rows = where(self.rows, part="log", quantity="group")
        return [[row["rank"] for row in where(rows, value=n)] for n in distinct(rows, "value")]

    def estimate(self, policy: str, quantity: str) -> Row | None:
        """Return the row of an estimate."""
        found = where(self.rows, part="estimate", policy=policy, quantity=quantity)
        return found[0] if found else None


def summarise(found: Findings, name: str) -> str:
    """Return the paragraph at the top of the page."""
    if found.nothing_to_learn:
        why = (
            f"{found.nothing_to_learn}, so the log does not tell which documents users like: no "
            "model and no ranking is recommended or doubted."
        )
        return " ".join(filter(None, [_say_log(found, name), why, _say_failures(found)]))
    parts = [_say_log(found, name), _say_models(found), _say_suspect(found), _say_policy(found)]
    parts += [_say_promise(found), _say_warnings(found), _say_estimates(found)]
    parts += [_say_log_limits(found), _say_failures(found)]
    return " ".join(part for part in parts if part)


def _say_log(found: Findings, name: str) -> str:
    pages, queries = found.of_log("impressions"), found.of_log("queries")
    clicks = found.of_log("clicks_per_page")
    return (
        f"{name} has {_count(pages, 'page', 'pages')} of {_count(queries, 'query', 'queries')}, "
        f"with {clicks:.3f} clicks per page."
    )


def _say_models(found: Findings) -> str:
    best = found.perplexities[found.best_model]
    text = (
        f"Of {_join(found.models)}, {found.best_model} predicts clicks on held-out pages best "
        f"(perplexity {best['value']:.4f}, between {best['low']:.4f} and {best['high']:.4f})"
        if len(found.models) > 1
        else f"{found.best_model} has perplexity {best['value']:.4f} on held-out pages"
    )
    worse = [name for name in found.above_best if name not in found.as_good]
    verdicts = ((found.as_good, "not clearly worse"), (worse, "clearly worse"))
    said = [f"{_join(names)} {_is(names)} {verdict}" for names, verdict in verdicts if names]
    if said:
        text += f"; compared on the same pages, {' and '.join(said)}"
    unstable = [
        row["model"]
        for row in where(found.rows, part="stability", quantity="correlation")
        if row["value"] is not None and row["value"] < _ALIKE
    ]
    if unstable:
        text += f"; fitted to two halves of the log, {_join(unstable)} would rank quite differently"
    return text + "."


def _say_suspect(found: Findings) -> str:
    cross, place = found.cross, found.suspect
    if cross is None or place is None:
        return ""
    name, judge = cross.policies[place], cross.judges[cross.own[place]]
    promised, others = cross.promised[place], cross.others[place]
    if found.only_own_judge:
        return (
            f"Do not trust {name}: {judge} itself promises {promised:.3f} clicks per page for this "
            f"ranking, while the median of the other models is {others:.3f}. Only its own judge "
            "likes it so much: the ranking makes use of what this model gets wrong. That is the "
            "optimiser's curse."
        )
    return (
        f"No promise is far above what the other models say; the largest difference is that of "
        f"{name} ({promised:.3f} by {judge} itself, {others:.3f} by the others' median)."
    )


def _say_policy(found: Findings) -> str:
    cross, place = found.cross, found.recommended
    if found.undecided:
        return (
            "Nothing tells the rankings apart: compared in pairs, each by the models that "
            "suggested neither of the two, none is ahead of another."
        )
    if cross is None or place is None:
        return ""
    name = cross.policies[place]
    same = _say_same(found.same_as(name))
    if found.suspect is None:
        return (
            "With a single model there is no second opinion on its rankings; it promises most, "
            f"{cross.promised[place]:.3f} clicks per page, for {name}{same}."
        )
    ahead, rest = found.leading[place], len(cross.policies) - 1 - len(found.same_as(name))
    compared = (
        f"compared in pairs, each by the models that suggested neither of the two, it is ahead of "
        f"{'all' if ahead == rest else f'{ahead} of the'} {rest} others"
        if len(cross.judges) > 2
        else "with two models there is no third one to compare their rankings, so this is the one "
        "whose gain over the pages as logged the other model finds largest"
    )
    text = (
        f"The ranking to try is {name}{same}: {compared}. Models other than its own say "
        f"that it earns {cross.others[place]:.3f} clicks per page (their median)"
    )
    gain = found.lift(place)
    if gain is not None:
        text += (
            f", {gain:.3f} more than they expect of the pages as logged" if gain > 0
            else ", no more than they expect of the pages as logged, so there is no case for a "
            "change"
        )  # fmt: skip
    return text + "."


def _say_promise(found: Findings) -> str:
    cross, place = found.cross, found.recommended
    if cross is None or place is None:
        return ""
    promise, judge = found.promise(cross.policies[place]), cross.judges[cross.own[place]]
    share = found.trust.get(judge)
    if promise is None or share is None:
        return ""
    return (
        f"{judge} itself expects {cross.promised[place]:.3f}; a promise that can be kept is "
        f"{promise:.3f}, because of many rankings this one was chosen for what {judge} likes, also "
        "where it errs, and the log bears out only so much of what it sees between pages: about "
        f"{share:.0%}."
    )


def _say_warnings(found: Findings) -> str:
    speaking = [row["quantity"] for row in found.warnings if row["value"]]
    if not found.warnings:
        return ""
    name = found.warnings[0]["policy"]
    if not speaking:
        return f"Nothing warns of {name} before it is deployed."
    signs = "sign" if len(speaking) == 1 else "signs"
    verb = f"warn{'s' * (len(speaking) == 1)}"
    return f"{len(speaking)} {signs} {verb} of {name}: {_join(speaking)}."


def _say_same(others: Sequence[str]) -> str:
    return f" ({_join(others)} {_is(others)} the same ranking)" if others else ""


def _say_estimates(found: Findings) -> str:
    cross, place = found.cross, found.recommended
    if cross is None or place is None:
        return ""
    rows = [found.estimate(cross.policies[place], f"{name} size") for name in ("wips", "wpi")]
    sizes = [row["value"] for row in rows if row is not None and row["value"] is not None]
    if not sizes:
        return ""
    pages = found.of_log("held_out") or 0.0
    size = f"{max(sizes):,.0f}" if max(sizes) >= 1 else "less than one"
    gain = found.lift(place)
    try_first = ", so try it on a small share of traffic first"
    advice = try_first if gain is None or gain > 0 else ""
    if max(sizes) >= ENOUGH:
        return f"Estimates without any model rest on effectively {size} of {pages:,.0f} pages."
    return (
        f"The log cannot confirm {cross.policies[place]}: estimates without any model rest on "
        f"effectively {size} of {_count(pages, 'held-out page', 'held-out pages')}{advice}."
    )


def _say_log_limits(found: Findings) -> str:
    texts = []
    if len(found.groups) > 1:
        groups = " and ".join(_ranks(group) for group in found.groups[:4])
        more = " and others" if len(found.groups) > 4 else ""
        texts.append(
            f"Ranks {groups}{more} share no documents, so no model can tell how much more users "
            "look at the ones than at the others."
        )
    same = found.of_log("same_page")
    if same is not None and same > _RANDOM:
        texts.append(
            f"The log is hardly random: two pages of the same query are equal in {same:.0%} of "
            "cases, so it says little about other orders."
        )
    return " ".join(texts)


def _say_failures(found: Findings) -> str:
    failed = [row["model"] or row["quantity"] for row in where(found.rows, part="failure")]
    return f"What failed, and is missing below: {_join(failed)}." if failed else ""


def _count(number: float | None, one: str, many: str) -> str:
    return f"{number or 0:,.0f} {one if number == 1 else many}"


def _is(names: Sequence[Any]) -> str:
    return "is" if len(names) == 1 else "are"


def _ranks(group: Sequence[int]) -> str:
    """Return ranks as they are said: "3", "1 to 3", or "1, 4, 7"."""
    if len(group) > 1 and list(group) == list(range(group[0], group[-1] + 1)):
        return f"{group[0]} to {group[-1]}"
    return ", ".join(map(str, group))


def _join(names: Sequence[Any]) -> str:
    """Return names as they are listed in a sentence."""
    texts = [str(name) for name in names]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
