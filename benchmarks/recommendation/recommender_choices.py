"""What the choices that papers leave unsaid do to recommenders: P@10 on ratings of one's own.

    python benchmarks recommender_choices path/to/ml-latest-small

80% of the ratings to learn from (seed 0); the mean over three seeds of ties and starts, and their
range. Below it, why ties matter: how many items share a user's highest item-based estimate, and
whether the order of the file knows which items are popular.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _measure import Row, new_parser, new_table, save_rows, show
from scipy.stats import spearmanr

from clickgym import data, evaluation, policies
from clickgym.policies.recommenders.neighbours import learn_item_neighbours
from clickgym.policies.recommenders.rating_matrix import RatingMatrix

SEEDS = 3
CHOICES: dict[str, tuple[dict[str, Any], ...]] = {
    "random": ({},),
    "popularity": ({}, {"by": "mean"}),
    "user-based": (
        {}, {"minimum": 1}, {"signed": False}, {"capped": False}, {"ties": "index"}, {"common": 5},
        {"neighbours": 200},
    ),
    "item-based": (
        {}, {"minimum": 1}, {"signed": False}, {"capped": False}, {"ties": "index"}, {"common": 5},
        {"common": 20},
    ),
    "mf": (
        {}, {"capped": False}, {"sweep": "ratings"}, {"noise": 0.0}, {"noise": 0.05},
        {"iterations": 10}, {"iterations": 300},
    ),
}  # fmt: skip


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("ratings", help="what data.load_movielens reads")
    options = parser.parse_args()
    train, test = data.load_movielens(options.ratings).split(0.8, seed=0)
    shown = new_table("P@10", "recommender", "choice", "new items", "range", "all items", "range",
                      left=("choice",))  # fmt: skip
    rows = []
    worlds = [test.world(train, training_items=known) for known in (False, True)]
    for name, many in CHOICES.items():
        for choices in many:
            label = ", ".join(f"{key}={value!r}" for key, value in choices.items())
            cells = []
            for world, place in zip(worlds, ("new items", "all items"), strict=True):
                found = [
                    evaluation.list_precision(
                        policies.recommender(name, train, world, seed=seed, **choices), world
                    ).mean()
                    for seed in range(SEEDS)
                ]
                cells += [f"{np.mean(found):.4f}", f"{min(found):.4f} to {max(found):.4f}"]
                rows.append(Row(f"{name} {label}, {place}", float(np.mean(found)), "P@10"))
            shown.add_row(name, label, *cells)
    show(shown)
    rows += [
        Row("items with a user's highest item-based estimate, median", _count_ties(train, test),
            "items"),
        Row("rank correlation of an item's place in the file and its number of ratings",
            _order_of_file(train), ""),
    ]  # fmt: skip
    for row in rows[-2:]:
        print(f"{row.name}: {row.value:.2f}")
    save_rows(options.json, rows)


def _count_ties(train: data.Ratings, test: data.Ratings) -> float:
    """Return how many candidates have a user's highest estimate, the median over users."""
    world = test.world(train)
    users = np.unique(test.user)  # the queries of the world; document i is item i
    learned = learn_item_neighbours(RatingMatrix.of(train), np.random.default_rng(0))
    found = np.where(world.candidates, learned.of_users(users), np.nan).astype(np.float32)
    found = found[~np.isnan(found).all(axis=1)]
    return float(np.median((found == np.nanmax(found, axis=1, keepdims=True)).sum(axis=1)))


def _order_of_file(train: data.Ratings) -> float:
    number = np.bincount(train.item, minlength=train.n_items)
    return float(spearmanr(np.arange(train.n_items), number).statistic)


if __name__ == "__main__":
    main()
