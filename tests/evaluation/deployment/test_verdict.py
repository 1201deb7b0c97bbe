"""When the card says deploy."""

from __future__ import annotations

import pytest

from clickgym.evaluation.deployment.verdict import decide


@pytest.mark.parametrize(
    ("ends", "strange", "verdict"),
    [
        ((0.01, 0.1, 0.2), (), "deploy"),
        ((0.0, 0.1, 0.2), (), "test on a share"),
        ((-0.1, 0.1, 0.2), (), "test on a share"),
        ((-0.1, 0.0, 0.2), (), "do not deploy"),
        ((-0.5, -0.1, 0.2), (), "do not deploy"),
        ((0.01, 0.1, 0.2), ("moved",), "test on a share"),
    ],
)
def test_rule(ends, strange, verdict):
    assert decide(*ends, strange)[0] == verdict


def test_reasons_name_the_numbers():
    assert "-10% to +20%" in decide(-0.1, 0.1, 0.2)[1]
    assert "moved, noise are outside" in decide(0.1, 0.1, 0.2, ("moved", "noise"))[1]
