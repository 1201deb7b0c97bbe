"""Reading a page in one direction, as the complex click model does: equation 17's recursion."""

from __future__ import annotations

import numpy as np

from ...common.random import Uniforms
from ...common.typing import Booleans, Floats


class Browsing:
    """One direction of the complex click model. Pages are given in reading order.

    With ``b_k = a_k (1 - a_{k+1} / 2)`` and ``m`` clicks so far, the document at place ``k`` is
    clicked with probability ``b_k γ^k (1 - σ)^m``, or 0 right after a click. The state is thus
    the number of clicks and whether the latest document was clicked.
    """

    def __init__(self, satisfaction: float, continuation: float) -> None:
        self.stay = 1.0 - satisfaction
        self.continuation = continuation

    def conditionals(self, values: Floats, clicks: Booleans) -> Floats:
        """Return P(C_k = 1 | c_<k) for pages (n, K) of attractiveness and clicks; -> (n, K)."""
        before = np.zeros(values.shape, dtype=np.int64)
        before[:, 1:] = np.cumsum(clicks, axis=1)[:, :-1]
        probs = damp_by_next(values) * self._fading(values.shape[1]) * self.stay**before
        probs[:, 1:][clicks[:, :-1]] = 0.0
        return probs

    def marginals(self, values: Floats) -> Floats:
        """Return P(C_k = 1) for pages (n, K), by recursion over the state; -> (n, K)."""
        n, slots = values.shape
        base = np.ascontiguousarray((damp_by_next(values) * self._fading(slots)).T)
        result = np.empty((slots, n))
        for slot, (free, _, click) in enumerate(self._forward(base)):
            result[slot] = (free * click).sum(axis=0)
        return np.ascontiguousarray(result.T)

    def _forward(self, base: Floats):  # type: ignore[no-untyped-def]
        """Yield, place by place, P(m clicks, latest not clicked), the same clicked, P(click | m).

        ``base`` is (K, n): ``b_k γ^k``. The first two are (M, n) with M = most clicks + 1, the
        third is (M, n) too.
        """
        slots, n = base.shape
        most = (slots + 1) // 2 + 1  # no two clicks in a row
        free, after = np.zeros((most, n)), np.zeros((most, n))
        free[0] = 1.0
        powers = self.stay ** np.arange(most)[:, None]
        for slot in range(slots):
            click = base[slot] * powers
            yield free, after, click
            clicked = free * click
            free = free - clicked + after
            after = np.zeros((most, n))
            after[1:] = clicked[:-1]

    def expected(self, values: Floats) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n), in reading order.

        The recursion of ``marginals``, kept to the states that a slot can have.
        """
        slots, n = values.shape
        most = (slots + 1) // 2 + 2
        powers = self.stay ** np.arange(most)[:, None]
        free, after, click = (np.zeros((most, n)) for _ in range(3))
        free[0] = 1.0
        total = np.zeros(n)
        fading = 1.0
        for slot in range(slots):
            states = (slot + 1) // 2 + 1  # no two clicks in a row
            base = values[slot] * fading
            if slot + 1 < slots:
                base *= 1.0 - 0.5 * values[slot + 1]
            now = click[:states]
            np.multiply(free[:states], powers[:states], out=now)
            now *= base
            total += now.sum(axis=0)
            free[:states] += after[:states]
            free[:states] -= now
            after[1 : states + 1] = now
            fading *= self.continuation
        return total

    def upwards(self, values: Floats, clicks: Booleans, shown: Booleans) -> tuple[Floats, Floats]:
        """Return log P(c_<k) and log P(c_<k, C_k = 1) of pages (n, K) read from below.

        Pages and clicks are given from the top. What lies below a slot is summed out: with f the
        forward message over (number of clicks below, latest clicked) and β the probability of
        the clicks from the slot up to the top in that state, P = <f, β>. β is rescaled at every
        slot, so that long pages do not underflow.
        """
        n, slots = values.shape
        length = shown.sum(axis=1)
        above = np.zeros(values.shape)
        above[:, 1:] = values[:, :-1]
        place = np.maximum(length[:, None] - 1 - np.arange(slots), 0)  # how far from the start
        base = np.where(shown, values * (1.0 - above / 2.0), 0.0) * self.continuation**place
        base = np.ascontiguousarray(base.T)
        messages = list(self._forward(base[::-1]))[::-1]  # from the top; empty slots pass through
        most = len(messages[0][0])
        later, later_clicked = np.ones((most, n)), np.ones((most, n))
        scale = np.zeros(n)
        before, click = np.empty((slots, n)), np.empty((slots, n))
        for slot, (free, after, probs) in enumerate(messages):
            # β for C_k = 1: only from a free state, into (m + 1, clicked).
            clicked = np.zeros((most, n))
            clicked[:-1] = probs[:-1] * later_clicked[1:]
            skipped_free, skipped_after = (1.0 - probs) * later, later
            joint_click = (free * clicked).sum(axis=0)
            joint_skip = (free * skipped_free + after * skipped_after).sum(axis=0)
            with np.errstate(divide="ignore"):
                before[slot] = np.log(joint_click + joint_skip) + scale
                click[slot] = np.log(joint_click) + scale
            happened = clicks[:, slot]
            later = np.where(happened, clicked, skipped_free)
            later_clicked = np.where(happened, 0.0, skipped_after)
            largest = np.maximum(later.max(axis=0), later_clicked.max(axis=0))
            largest = np.where(largest > 0, largest, 1.0)
            later, later_clicked = later / largest, later_clicked / largest
            scale += np.log(largest)
        return np.ascontiguousarray(before.T), np.ascontiguousarray(click.T)

    def sample(self, values: Floats, uniforms: Floats) -> Booleans:
        """Draw clicks for pages laid out slot by slot, (K, n), from (K, n) uniforms."""
        probs = values.copy()
        probs[:-1] *= 1.0 - values[1:] * 0.5
        clicks = np.empty(values.shape, dtype=bool)
        examined = np.ones(values.shape[1])
        fade = np.array([self.continuation, self.continuation * self.stay])
        for slot in range(len(values)):
            probs[slot] *= examined
            np.less(uniforms[slot], probs[slot], out=clicks[slot])
            if slot:
                clicks[slot] &= ~clicks[slot - 1]
            examined *= fade.take(clicks[slot])
        return clicks

    def sample_page(self, values: list[float], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        clicks = [False] * len(values)
        draws = uniforms.take(len(values))
        following = [*values[1:], 0.0]
        continuation, stay = self.continuation, self.stay
        examined, free = 1.0, 0  # no click before this slot
        for slot, value in enumerate(values):
            uniform = draws[slot]
            # The first comparison settles most slots: few documents are worth a click at all.
            if uniform < value and slot >= free:  # noqa: SIM102
                if uniform < value * examined * (1.0 - following[slot] * 0.5):
                    clicks[slot] = True
                    examined *= stay
                    free = slot + 2
            examined *= continuation
        return clicks

    def _fading(self, slots: int) -> Floats:
        return np.asarray(self.continuation ** np.arange(slots), dtype=np.float64)


def damp_by_next(values: Floats) -> Floats:
    """Return ``a_k (1 - a_{k+1} / 2)`` for pages (n, K); beyond the page there is nothing."""
    result = values.copy()
    result[:, :-1] *= 1.0 - values[:, 1:] / 2.0
    return result
