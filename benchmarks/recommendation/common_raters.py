"""Why item-based neighbours do better among popular candidates: common raters and ties.

    python benchmarks common_raters

Embedded ratings of the shape of MovieLens 1M (seed 0), 500 users: among each user's 300 most
popular candidates, as in "clickgym recommend curse --preset full", and among all.
"""

from __future__ import annotations

import numpy as np
from _measure import Row, new_parser, save_rows

from clickgym import data
from clickgym.policies.recommenders.neighbours import learn_item_neighbours
from clickgym.policies.recommenders.rating_matrix import Places, RatingMatrix

USERS, POPULAR = 500, 300


def main() -> None:
    options = new_parser(__doc__).parse_args()
    train, test = data.synthetic_ratings(seed=0).split(0.8, seed=0)
    rated = (train.matrix() > 0).astype(np.float32)
    common = (rated.T @ rated).toarray()  # how many users rated both of two items
    learned = learn_item_neighbours(RatingMatrix.of(train), np.random.default_rng(0))
    rows = []
    for label, n_docs in ((f"{POPULAR} popular candidates", POPULAR), ("all candidates", None)):
        world = test.world(train, n_users=USERS, n_docs=n_docs, seed=0)
        places = Places(train, world)
        items = np.broadcast_to(places.items(0, world.n_queries), world.candidates.shape)
        known = learned.of_users(places.user).astype(np.float32)
        raters, ties = [], []
        for row, (user, shown) in enumerate(zip(places.user, items, strict=True)):
            listed = shown[world.candidates[row]]
            own = rated.indices[rated.indptr[user] : rated.indptr[user + 1]]
            raters.append(np.median(common[np.ix_(listed, own)]))
            estimates = known[row, listed]
            ties.append(np.count_nonzero(estimates == np.nanmax(estimates)))
        rows += [
            Row(f"common raters of a candidate and an item of the user, {label}, median",
                float(np.median(raters)), "raters"),
            Row(f"candidates with a user's highest item-based estimate, {label}, median",
                float(np.median(ties)), "items"),
        ]  # fmt: skip
    for row in rows:
        print(f"{row.name}: {row.value:.1f}")
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
