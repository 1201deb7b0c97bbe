"""The contract of click models, kept by FCM and VCM on pages with a block."""

from __future__ import annotations

import numpy as np
import pytest
from model_contract import CONDITIONAL_CHECKS, GENERATIVE_CHECKS, check_model

from clickgym.clickmodels import FCM, VCM, ClickModel

SLOTS, TYPES = 5, 2
OWN_FILES = {
    "check_parameters_do_not_follow_the_callers_arrays",
    "check_a_loaded_model_gives_identical_numbers",
}
CHECKS = [
    check
    for check in (*GENERATIVE_CHECKS, *CONDITIONAL_CHECKS)
    if check.__name__ not in OWN_FILES  # about saving, not about pages
]


class AtBlock(ClickModel):
    """A model all of whose pages have the same block."""

    def __init__(self, model, kind, place):
        self.model, self.block = model, {"vertical": kind, "vertical_position": place}

    def blocks(self, query):
        return {name: np.full(len(query), value) for name, value in self.block.items()}

    @property
    def max_slots(self):
        return self.model.max_slots

    def relevance(self):
        return self.model.relevance()

    def conditional_click_probs(self, query, ranking, clicks):
        return self.model.conditional_click_probs(query, ranking, clicks, **self.blocks(query))

    def log_likelihood(self, query, ranking, clicks):
        return self.model.log_likelihood(query, ranking, clicks, **self.blocks(query))

    def click_probs(self, query, ranking):
        return self.model.click_probs(query, ranking, **self.blocks(query))

    def expected_clicks(self, query, ranking):
        return self.model.expected_clicks(query, ranking, **self.blocks(query))

    def score_columns(self, query, columns):
        return self.model.score_columns(query, columns, **self.blocks(query))

    def sample_columns(self, query, columns, rng):
        return self.model.sample_columns(query, columns, rng, **self.blocks(query))

    def sample_page(self, query, ranking, uniforms):
        return self.model.sample_page(query, ranking, uniforms, **self.block)


def make(variant):
    """A model of random parameters; where it can, some users are satisfied or blind."""
    rng = np.random.default_rng(8)
    values, gammas = rng.random((6, 7)), rng.random((2, SLOTS, SLOTS))
    attention, upwards, satisfied, blind = rng.random((4, TYPES, SLOTS + 1))
    more = {"satisfied_without_click": satisfied, "blind": blind}
    if variant == "slot":
        return FCM(values, gammas[0], attention, rng.random(2 * SLOTS), latent="slot")
    if variant == "page":
        return FCM(values, gammas[0], attention, rng.random(2 * SLOTS), **more)
    return VCM(values, *gammas, attention, upwards, down=variant.removeprefix("down "), **more)


@pytest.mark.parametrize("variant", ["page", "slot", "down seed", "down page"])
def test_pages_with_a_block_keep_the_contract(variant, tmp_path):
    check_model(AtBlock(make(variant), kind=1, place=2), tmp_path, CHECKS)
