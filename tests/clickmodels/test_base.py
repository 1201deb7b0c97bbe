"""Click models beyond their contract: parameters, models of one's own, the registry."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over
from model_contract import (
    ALPHA,
    PAGES,
    SAMPLERS,
    VECTORS,
    all_pages,
    fit_p_value,
    joint,
    many,
)

from clickgym import clickmodels
from clickgym.clickmodels import ClickModel, NotCapable, NotExact, registry
from clickgym.clickmodels.reading.cascade import CascadeModel

TABLE = np.full((2, 3), 0.5)
SPOILT = np.array([[0.5, 0.5, 0.5], [0.5, np.nan, 0.5]])


@loop_over(
    ("name", "argument", "value"),
    [
        *((name, "attractiveness", value) for name in (
            "PBM", "UBM", "DBN", "SDBN", "CM", "DCM", "CCM", "CoCM")
          for value in (TABLE + 0.6, TABLE - 0.6, SPOILT, TABLE[0], TABLE[:0], TABLE.astype(str))),
        ("PBM", "examination", [0.5, 1.1]),
        ("PBM", "examination", [0.5, -0.1]),
        ("PBM", "examination", [0.5, np.nan]),
        ("PBM", "examination", [[0.5]]),
        ("UBM", "examination", [0.5, 0.5]),
        ("UBM", "examination", [[0.5, 0.5]]),
        ("UBM", "examination", np.zeros((0, 0))),
        ("UBM", "examination", [[0.5, 0.5], [0.5, 2.0]]),
        ("DBN", "satisfaction", TABLE + 0.6),
        ("DBN", "satisfaction", SPOILT),
        ("DBN", "satisfaction", TABLE[:1]),
        ("DBN", "continuation", 1.1),
        ("DBN", "continuation", np.nan),
        ("DBN", "continuation", [0.9]),
        ("SDBN", "satisfaction", SPOILT),
        ("SDBN", "satisfaction", TABLE[:1]),
        ("DCM", "continuation", [0.5, 1.1]),
        ("DCM", "continuation", []),
        ("DCM", "continuation", 0.5),
        ("CCM", "continuation", [0.5, 0.5]),
        ("CCM", "continuation", [0.5, 0.5, np.nan]),
        ("CoCM", "satisfaction", -0.1),
        ("CoCM", "continuation", 1.1),
        ("CoCM", "modes", (0.6, 0.4)),
        ("CoCM", "modes", (0.2, 0.7, 0.3)),
        ("CoCM", "modes", (1.5, -0.5, 0.0)),
        ("CoCM", "modes", (0.5, np.nan, 0.5)),
        ("CoCM", "no_look", [0.5, 1.5]),
        ("CoCM", "no_look", 0.2),
    ],
)  # fmt: skip
def test_a_bad_parameter_is_named(name, argument, value):
    good = {
        "PBM": {"attractiveness": TABLE, "examination": [0.5]},
        "UBM": {"attractiveness": TABLE, "examination": [[0.5]]},
        "DBN": {"attractiveness": TABLE, "satisfaction": TABLE, "continuation": 0.9},
        "SDBN": {"attractiveness": TABLE, "satisfaction": TABLE},
        "CM": {"attractiveness": TABLE},
        "DCM": {"attractiveness": TABLE, "continuation": [0.9]},
        "CCM": {"attractiveness": TABLE, "continuation": [0.9, 0.5, 0.1]},
        "CoCM": {"attractiveness": TABLE},
    }
    with pytest.raises(ValueError, match=rf"^{argument}\b"):
        registry.registered_class(name)(**good[name] | {argument: value})


# Models of one's own


@pytest.fixture
def own_registry(monkeypatch):
    """Names that a test registers are forgotten after it."""
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))


def load_saved(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    return ClickModel.load(tmp_path / "model.safetensors")


class Tiring(ClickModel):
    """Each click halves the attractiveness of what follows: depends on the whole prefix."""

    def __init__(self, attractiveness, fatigue=0.5):
        self.attractiveness = np.asarray(attractiveness)
        self.fatigue = fatigue

    def relevance(self):
        return self.attractiveness

    def conditional_click_probs(self, query, ranking, clicks):
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        before = np.cumsum(clicks, axis=1) - clicks
        values = np.where(ranking >= 0, self.attractiveness[query[:, None], ranking], 0.0)
        return values * self.fatigue**before

    def state(self):
        return {"attractiveness": self.attractiveness, "fatigue": self.fatigue}


class Popular(ClickModel):
    """Ranks, and can do nothing else."""

    capabilities = frozenset({"rank"})

    def relevance(self):
        return TABLE


OWN = Tiring(np.random.default_rng(5).random((6, 7)))


def tiring_joint(clicks, values):
    prob, factor = 1.0, 1.0
    for click, value in zip(clicks, values, strict=True):
        prob *= value * factor if click else 1 - value * factor
        factor *= 0.5 if click else 1.0
    return prob


def own_joint(page):
    query, ranking = PAGES[page]
    values = [OWN.attractiveness[query, document] if document >= 0 else 0 for document in ranking]
    return np.array([tiring_joint(clicks, values) for clicks in VECTORS.tolist()])


@loop_over("page", PAGES)
def test_an_own_models_log_likelihood_follows_from_its_conditionals(page):
    np.testing.assert_allclose(joint(OWN, page), own_joint(page), atol=1e-14)


@loop_over("page", PAGES)
def test_an_own_models_click_probs_follow_from_its_conditionals(page):
    got = OWN.click_probs(*many(page, 1))[0]
    np.testing.assert_allclose(got, own_joint(page) @ VECTORS, atol=1e-14)


@loop_over("page", PAGES)
@loop_over("sampler", ["sample", "sample_page"])
def test_an_own_models_samples_follow_from_its_conditionals(page, sampler):
    clicks = SAMPLERS[sampler](OWN, page, 10_000 if sampler == "sample" else 1000)
    assert fit_p_value(clicks, own_joint(page)) > ALPHA


def test_an_own_models_shape_follows_from_its_relevance():
    assert OWN.shape == (6, 7)


def test_an_own_model_is_saved_and_loaded_once_registered(own_registry, tmp_path):
    clickmodels.register("Tiring")(Tiring)
    again = load_saved(OWN, tmp_path)
    assert type(again) is Tiring
    np.testing.assert_array_equal(joint(again, "full"), joint(OWN, "full"))


def test_an_own_model_that_is_not_registered_cannot_be_saved(monkeypatch, tmp_path):
    monkeypatch.setattr(Tiring, "name", "Tiring")
    with pytest.raises(ValueError, match=r"Tiring is not registered.*register it first"):
        OWN.save(tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_an_own_model_that_is_not_registered_has_the_name_of_its_class():
    class Unnamed(CascadeModel):
        pass

    assert Unnamed.name == "Unnamed"


def test_a_half_written_model_can_be_printed():
    class Half(ClickModel):
        pass

    assert repr(Half()).startswith("Half(its shape is not known")


class Wrong(Popular):
    """Gives what it is told to as conditionals."""

    capabilities = ClickModel.capabilities

    def __init__(self, probs):
        self.probs = np.array(probs)

    def conditional_click_probs(self, query, ranking, clicks):
        return np.broadcast_to(self.probs, (len(query), *self.probs.shape))


DERIVED = {
    "log_likelihood": lambda model: model.log_likelihood([0], [[0, 1, 2]], [[0, 1, 0]]),
    "sample": lambda model: model.sample([0], [[0, 1, 2]], np.random.default_rng(0)),
    "click_probs": lambda model: model.click_probs([0], [[0, 1, 2]]),
}


@loop_over("method", DERIVED)
@loop_over(
    ("probs", "message"),
    [
        ([0.5, 1.2, 0.5], r"of Wrong gave 1\.2, which is no probability"),
        ([-0.1, 0.2, 0.5], r"of Wrong gave -0\.1, which is no probability"),
        ([0.1, np.nan, 0.5], "of Wrong gave nan, which is no probability"),
        ([0.1, 0.5], r"of Wrong gave an array of shape \(\d, 2\), but the pages have \(\d, 3\)"),
        (0.1, r"of Wrong gave an array of shape \(\d,\), but the pages have \(\d, 3\)"),
    ],
)
def test_wrong_conditionals_of_an_own_model_are_told_in_words(method, probs, message):
    with pytest.raises(ValueError, match=message):
        DERIVED[method](Wrong(probs))


def test_a_subclass_that_is_not_registered_is_not_saved_as_its_parent(tmp_path):
    class Patient(clickmodels.PBM):
        pass

    with pytest.raises(ValueError, match="Patient is not registered"):
        Patient(TABLE, [1.0]).save(tmp_path / "model.safetensors")


@loop_over("slots", [1, 13, 14])
def test_click_probs_by_prefixes_are_exact_up_to_fourteen_slots(slots):
    model = Tiring(np.full((1, 14), 0.5), fatigue=1.0)
    got = model.click_probs([0], [np.arange(slots)])
    np.testing.assert_allclose(got, np.full((1, slots), 0.5), atol=1e-12)


def test_click_probs_by_prefixes_beyond_fourteen_slots_are_not_exact():
    model = Tiring(np.full((1, 15), 0.5))
    with pytest.raises(NotExact, match="14 slots, not 15"):
        model.click_probs([0], [np.arange(15)])


def test_click_probs_by_prefixes_are_the_same_for_many_pages_as_for_few(monkeypatch):
    monkeypatch.setattr("clickgym.clickmodels.pages._PREFIX_ROWS", 16)  # two pages at a time
    query, ranking = all_pages()
    expected = [own_joint(page) @ VECTORS for page in PAGES]
    np.testing.assert_allclose(OWN.click_probs(query, ranking), expected, atol=1e-14)


def test_a_model_beyond_the_prefix_limit_can_be_estimated():
    model = Tiring(np.full((1, 20), 0.5), fatigue=1.0)
    probs, stderr = model.estimate_click_probs([0], [np.arange(20)], 400, np.random.default_rng(0))
    assert (np.abs(probs - 0.5) < 4 * stderr).all()


@loop_over("method", ["log_likelihood", "sample", "click_probs", "expected_clicks"])
def test_a_model_that_only_ranks_is_not_capable_of(method):
    arguments = {
        "log_likelihood": ([0], [[0]], [[False]]),
        "sample": ([0], [[0]], np.random.default_rng(0)),
    }
    with pytest.raises(NotCapable, match="Popular is not generative: only rank"):
        getattr(Popular(), method)(*arguments.get(method, ([0], [[0]])))


def test_a_model_that_only_ranks_has_no_conditionals():
    with pytest.raises(NotCapable, match="Popular does not define conditional_click_probs"):
        Popular().conditional_click_probs([0], [[0]], [[False]])


def test_a_model_that_only_ranks_cannot_be_estimated():
    with pytest.raises(NotCapable, match="Popular is not generative"):
        Popular().estimate_click_probs([0], [[0]], 10, np.random.default_rng(0))


def test_a_model_without_fit_cannot_be_fitted():
    with pytest.raises(NotCapable, match="Popular does not define fit"):
        Popular.fit(None, None)


# The registry


def test_a_name_cannot_be_taken_by_another_class(own_registry):
    with pytest.raises(ValueError, match=r"'PBM' is taken by clickgym\.clickmodels\.pbm\.PBM"):
        clickmodels.register("PBM")(Tiring)


def test_a_name_cannot_be_taken_by_a_class_of_the_same_name_elsewhere(own_registry):
    other = type("PBM", (ClickModel,), {})
    with pytest.raises(ValueError, match="'PBM' is taken"):
        clickmodels.register("PBM")(other)


def test_a_refused_class_leaves_the_name_as_it_was(own_registry):
    with pytest.raises(ValueError, match="taken"):
        clickmodels.register("PBM")(Tiring)
    assert registry.registered_class("PBM") is clickmodels.PBM


def test_a_class_made_again_replaces_itself(own_registry):
    def cell():
        class Mine(ClickModel):
            pass

        return clickmodels.register("Mine")(Mine)

    cell()
    second = cell()
    assert registry.registered_class("Mine") is second


def test_registering_gives_the_class_its_name(own_registry):
    class Named(ClickModel):
        pass

    clickmodels.register("Very Named")(Named)
    assert Named.name == "Very Named"


def test_an_unknown_class_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown click model 'pbm'; known: .*PBM"):
        registry.registered_class("pbm")
