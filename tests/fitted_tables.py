"""Every table fit on one small log, for the tests of what they do not know."""

from __future__ import annotations

import functools

from clickgym import clickmodels, data, envs, policies

TABLES = ("PBM", "UBM", "DBN", "SDBN", "CCM", "DCM", "CM", "ARM", "CACM-minus", "ARM-NC")


@functools.cache
def small_log(docs=12):
    world = data.synthetic_world(n_queries=20, n_docs=docs, seed=7)
    user = clickmodels.true_user("CoCM", world, slots=6)
    logging = policies.stochastic(world.gain, 0.2, slots=6)
    return world, logging, envs.collect(world, user, logging, 3_000, seed=1)


@functools.cache
def fitted(name, prior="plain"):
    world, logging, log = small_log()
    return clickmodels.fit(
        name, log, world, prior=prior, logging=logging if prior == "score" else None
    )
