"""Do FCM and VCM find their users again, and what can no log of clicks tell?

    python benchmarks vertical_fits [--json FILE]
    python benchmarks vertical_fits --direction 1 2 3

500,000 impressions of 200 queries with 20 documents each, ten in random order on a page, with a
block of one of four types at a random position; perplexity on 100,000 other pages. Errors are means
over types and positions, all shown equally often. "same tables" is a VCM user who reads alike
whether attracted by the block or not. --direction tells of logs of these seeds how far VCM's
direction is off, beside somebody who knows all the user's other parameters.
"""

from __future__ import annotations

import time

import numpy as np
from _measure import Row, new_parser, save_rows

from clickgym import clickmodels, data, evaluation
from clickgym.clickmodels import FCM, VCM

# Attention by position in a simulator of federated search: blocks of media, and of text.
MEDIA = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.3, 0.25, 0.2, 0.15, 0.1]
TEXT = [0.95, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05]
DECAYING = [0.68, 0.61, 0.48, 0.34, 0.28, 0.2, 0.11, 0.1, 0.08, 0.06]
# UBM's parameters as published by Chuklin, Serdyukov and de Rijke (SIGIR 2013): examination by rank
# and, 0 for none, the rank of the latest click; attractiveness by grade.
_PUBLISHED_ROWS = [
    [0.9921],
    [0.8951, 0.1199],
    [0.541, 0.0331, 0.2395],
    [0.567, 0.0187, 0.0794, 0.323],
    [0.4816, 0.0099, 0.0426, 0.1242, 0.3004],
    [0.5747, 0.0067, 0.0248, 0.0716, 0.121, 0.3107],
    [0.5461, 0.0042, 0.0179, 0.0476, 0.0713, 0.1449, 0.3018],
    [0.6483, 0.0032, 0.0101, 0.028, 0.0434, 0.0826, 0.1268, 0.3212],
    [0.698, 0.0023, 0.0082, 0.0215, 0.0303, 0.062, 0.0813, 0.1559, 0.3221],
    [1, 0.0029, 0.0106, 0.0263, 0.0305, 0.0599, 0.0917, 0.1518, 0.1901, 0.4149],
]  # fmt: skip
PUBLISHED = np.array([row + [0.0] * (10 - len(row)) for row in _PUBLISHED_ROWS])
ATTRACTIVENESS = [0.491912, 0.570803, 0.695883, 0.931482]
CASES = [("FCM", "published"), ("FCM", "decaying"), ("VCM", "decaying"), ("VCM", "same tables")]


def make_user(
    kind: str,
    gamma: str = "decaying",
    queries: int = 200,
    docs: int = 20,
    slots: int = 10,
    seed: int = 0,
) -> FCM | VCM:
    """Return a true user of four types of blocks.

    With ``gamma="published"`` examination and attractiveness are those of a paper, nearly all pages
    are clicked, and FCM's β(0) is 1; "decaying" examination depends on the rank alone, and β(0) is
    0.8. VCM's γ1 is another table, but the same with "same tables".
    """
    rng = np.random.default_rng(seed)
    rank, latest = np.arange(slots)[:, None], np.arange(slots)
    distance = np.where(latest == 0, rank + 1, np.maximum(rank + 1 - latest, 1))
    if gamma == "published":
        values = rng.choice(ATTRACTIVENESS, (queries, docs))
        table = PUBLISHED[:slots, :slots]
        spread = 1.0
    else:
        values = rng.choice([0.02, 0.06, 0.4, 0.6, 0.8], (queries, docs))
        values *= rng.uniform(0.8, 1.2, values.shape)
        table = np.tile(np.array(DECAYING[:slots])[:, None], (1, slots))
        spread = 1.25
    media, text = np.array(MEDIA[: slots + 1]), np.array(TEXT[: slots + 1])
    attention = np.stack([media, 0.9 * media, text, np.full(slots + 1, 0.5)])
    if kind == "FCM":
        far = np.abs(np.arange(-slots, slots))
        return FCM(values, table, attention, 1.0 / (far + spread).clip(1.0))
    upwards = rng.uniform(0.2, 0.8, attention.shape)
    vertical = np.where(latest == 0, 0.9 / (1 + 0.3 * rank), 0.7 / distance**0.4)
    return VCM(values, table, table if gamma == "same tables" else vertical, attention, upwards)


def make_log(
    user: FCM | VCM, n: int, seed: int = 1, without: float = 0.0, short: bool = False
) -> data.ClickLog:
    """Return random pages with blocks of all types at all positions; some have none, or are short.

    A share ``without`` has no block; with ``short`` pages have 0 to K results.
    """
    rng = np.random.default_rng(seed)
    queries, docs = user.shape
    query = rng.integers(0, queries, n).astype(np.int32)
    ranking = np.argsort(rng.random((n, docs)), axis=1)[:, : user.max_slots]
    if short:
        length = rng.integers(0, user.max_slots + 1, n)
        ranking = np.where(np.arange(user.max_slots) < length[:, None], ranking, -1)
    kinds = rng.integers(0, len(user.attention), n).astype(np.int32)
    kinds[rng.random(n) < without] = -1
    places = rng.integers(0, user.max_slots + 1, n).astype(np.int32)
    clicks = user.sample(query, ranking, rng, vertical=kinds, vertical_position=places)
    return data.ClickLog(query, ranking, clicks, vertical=kinds, vertical_position=places)


def plain_world(user: FCM | VCM) -> data.World:
    """Return the world of a user's queries, whose grades tell nothing."""
    return data.World(np.zeros(user.shape, dtype=int))


def describe(kind: str, gamma: str, impressions: int) -> tuple[str, list[Row]]:
    """Return a row of the table, and its numbers."""
    user = make_user(kind, gamma)
    log, test, world = make_log(user, impressions), make_log(user, 100_000, 2), plain_world(user)
    begin = time.perf_counter()
    model = clickmodels.fit(kind, log, world)
    seconds = time.perf_counter() - begin
    assert isinstance(model, (FCM, VCM))
    ubm = clickmodels.fit("UBM", log, world)
    oracle, own, plain = (evaluation.perplexity(one, test).mean for one in (user, model, ubm))
    errors = [np.abs(model.attention - user.attention)]
    if isinstance(model, VCM) and isinstance(user, VCM):
        errors.append(np.abs(model.upwards - user.upwards))
    numbers = [f"{part.mean():.3f}" for error in errors for part in (error[:, 0], error[:, 1:])]
    cells = [kind, gamma, *numbers, *["–"] * (4 - len(numbers))]
    cells += [f"{own / oracle - 1:.3%}", f"{plain / oracle - 1:.3%}", f"{seconds:.0f}"]
    rows = [Row(f"{kind}, {gamma}: fit", seconds, "s"), Row(f"{kind}, {gamma}", own, "perplexity")]
    return f"| {' | '.join(cells)} |", rows


def known_direction(user: VCM, log: data.ClickLog) -> np.ndarray:
    """Return the mean of the direction's posterior, (T, K+1), all other parameters known.

    Before the log every direction between 0.2 and 0.8 is as likely, as it is in ``make_user``.
    """
    assert log.vertical is not None
    assert log.vertical_position is not None
    pages = {"vertical": log.vertical, "vertical_position": log.vertical_position}
    attention, none = user.attention, np.zeros(user.attention.shape)
    plain, down, up = (
        np.exp(
            VCM(**user.state() | {"attention": none + noticed, "upwards": none + share})
            .log_likelihood(log.query, log.ranking, log.clicks, **pages)
        )
        for noticed, share in ((0, 0), (1, 0), (1, 1))
    )  # fmt: skip
    noticed = attention[log.vertical, log.vertical_position]
    group = log.vertical * attention.shape[1] + log.vertical_position
    shares = np.linspace(0.2, 0.8, 61)
    each = np.stack([
        np.bincount(
            group, np.log((1 - noticed) * plain + noticed * (share * up + (1 - share) * down))
        )
        for share in shares
    ])  # fmt: skip
    chance = np.exp(each - each.max(axis=0))
    return (shares @ chance / chance.sum(axis=0)).reshape(attention.shape)


def compare_directions(seeds: list[int], impressions: int) -> None:
    """Print the mean errors of VCM's direction, v ≥ 1, on logs of some seeds."""
    user = make_user("VCM")
    assert isinstance(user, VCM)
    print("| log's seed | direction's error, v ≥ 1 | all else known |\n|---|---|---|")
    for seed in seeds:
        log = make_log(user, impressions, seed)
        model = clickmodels.fit("VCM", log, plain_world(user))
        assert isinstance(model, VCM)
        fitted, known = (
            np.abs(found - user.upwards)[:, 1:].mean()
            for found in (model.upwards, known_direction(user, log))
        )
        print(f"| {seed} | {fitted:.3f} | {known:.3f} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = new_parser(__doc__)
    parser.add_argument("--impressions", type=int, default=500_000)
    parser.add_argument("--direction", type=int, nargs="+", metavar="SEED")
    options = parser.parse_args()
    if options.direction:
        compare_directions(options.direction, options.impressions)
        return
    print(
        "| user | examination | attention's error, v = 0 | v ≥ 1 | direction's, v = 0 | v ≥ 1 "
        "| perplexity above the oracle's | UBM's | seconds |\n|---|---|---|---|---|---|---|---|---|"
    )
    rows: list[Row] = []
    for kind, gamma in CASES:
        line, numbers = describe(kind, gamma, options.impressions)
        print(line, flush=True)
        rows += numbers
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
