"""Whether to deploy: a rule on the predicted interval."""

from __future__ import annotations

from collections.abc import Sequence

from ..warning_signs.sign import percent

DEPLOY, TEST, DO_NOT = "deploy", "test on a share", "do not deploy"
VERDICTS = (DEPLOY, TEST, DO_NOT)


def decide(
    low: float, middle: float, high: float, strange: Sequence[str] = ()
) -> tuple[str, str]:
    """Return the verdict and the reason for it.

    Parameters
    ----------
    low, middle, high : float
        The relative lift over what the log earned: the ends and the middle of its 90% interval.
    strange : sequence of str
        Traits that lie outside of the calibration.

    Notes
    -----
    "do not deploy": no gain is expected, the middle is not above 0. "deploy": even the lower end
    is above 0, and the policy is of a kind that the calibration has seen. "test on a share":
    whatever lies between.
    """
    text = f"{_signed(low)} to {_signed(high)}"
    if middle <= 0.0:
        return DO_NOT, f"No gain is to be expected: the predicted lift is {text}."
    if low <= 0.0:
        return TEST, (
            f"A gain is likelier than a loss, but a loss is possible: the predicted lift is {text}."
        )
    if strange:
        return TEST, (
            f"The predicted lift is {text}, but the prediction was never tried on such a policy: "
            f"{', '.join(strange)} {'is' if len(strange) == 1 else 'are'} outside of what it "
            "was calibrated on."
        )
    return DEPLOY, f"A gain is to be expected: the predicted lift is {text}."


def _signed(share: float) -> str:
    return f"{'+' if share >= 0 else '-'}{percent(abs(share))}"
