"""Whether the report finds the promise that is not kept, without knowing the true user.

Models are fitted with the plain prior and taken at their word: with the usual one promises are
kept better, and there is less to find.
Prints its table: ``pytest tests/studies/test_own_log_curse.py -m slow -s``.
"""

from __future__ import annotations

import numpy as np
import pytest
from own_tables import simulate, true_value, write_table

from clickgym import studies
from clickgym.evaluation.reporting.formats import markdown_lines
from clickgym.studies.own_log.findings import Findings, summarise

HEADINGS = ("seed", "suspect", "own promise", "others' median", "true", "largest true gap")


def judge_seed(seed, folder):
    """Return the suspect of a report, what is said of it and true, and the largest true gap."""
    world, user, log = simulate(100, 30, 100_000, seed=seed)
    table = write_table(folder / f"clicks-{seed}.csv", log, oddities=False)
    study = studies.OwnLogReport(str(table), stability=False, seed=seed, prior="plain")
    outcome = studies.compute_study(study, folder / str(seed), jobs=2)
    found = Findings(outcome.rows)
    cross, paths = found.cross, {}
    for row in outcome.rows:
        if row["part"] == "file" and row["quantity"] in cross.policies:
            paths[row["quantity"]] = folder / str(seed) / row["text"]
    frequencies = np.bincount(log.query, minlength=world.n_queries)
    truth = {name: true_value(world, user, path, frequencies) for name, path in paths.items()}
    optimised = [n for n, name in enumerate(cross.policies) if name.endswith("Max-Reward")]
    gaps = [cross.promised[n] - truth[cross.policies[n]] for n in optimised]
    worst = cross.policies[optimised[int(np.argmax(gaps))]]
    suspect = optimised[int(np.argmax(cross.excess[optimised]))]
    name = cross.policies[suspect]
    numbers = cross.promised[suspect], cross.others[suspect], truth[name], max(gaps)
    return name, numbers, worst, summarise(found, table.name)


@pytest.mark.slow
def test_the_promise_that_others_doubt_most_is_the_one_that_is_kept_least(tmp_path):
    lines, right, said = [], 0, 0
    for seed in range(10):
        name, numbers, worst, paragraph = judge_seed(seed, tmp_path)
        lines.append((str(seed), name, *(f"{number:.2f}" for number in numbers[:3]),
                      f"{worst}, {numbers[3]:.2f}"))  # fmt: skip
        print(" | ".join(lines[-1]), flush=True)
        right += name == worst
        said += f"Do not trust {worst}:" in paragraph
    print(markdown_lines(HEADINGS, lines))
    assert right >= 8
    assert said >= 8
