"""Simulated logs written as tables that other people might have: texts as ids, and oddities.

``python tests/own_tables.py clicks.csv`` writes the one that docs/own_log.md shows the report on.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from clickgym import clickmodels, data, envs, policies

WORDS = ("rote schuhe", "café crème", "東京 天気", "зимняя куртка", "lamp <b>LED</b>", "naïve & co")


def simulate(n_queries, n_docs, pages, slots=10, seed=0, user="CoCM", logging="epsilon-oracle"):
    """Return a world, its true user, and a log of a ranker's stochastic variant."""
    world = data.synthetic_world(n_queries=n_queries, n_docs=n_docs, seed=seed)
    person = clickmodels.true_user(user, world)
    log = envs.collect(
        world, person, policies.logging_policy(logging, world, slots=slots), pages, seed=seed
    )
    return world, person, log


def query_id(query):
    return f"{WORDS[query % len(WORDS)]} {query}"


def document_id(query, document):
    return f"sku-{query:03d}/{document}é"


def write_table(path: Path, log, oddities=True):
    """Write a log as a long CSV table without propensities and grades, with a few oddities.

    Odd are a page that is longer than the others, one that shows a document twice, and a query
    that differs from another only by white space.
    """
    rows = []
    for page, (query, ranking, clicks) in enumerate(
        zip(log.query.tolist(), log.ranking.tolist(), log.clicks.tolist(), strict=True)
    ):
        shown = [
            [document_id(query, document), int(click)]
            for document, click in zip(ranking, clicks, strict=True)
            if document >= 0
        ]
        name = query_id(query)
        if oddities and page == 3:
            shown += [[f"sku-{query:03d}/extra-{extra}", 0] for extra in range(4)]
        if oddities and page == 5:
            shown[1][0] = shown[0][0]
        if oddities and page == 7:
            name = name.replace(" ", "  ")
        rows += [
            [f"p{page}", name, rank, document, click]
            for rank, (document, click) in enumerate(shown, start=1)
        ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["page_id", "query", "position", "item_id", "clicked"])
        writer.writerows(rows)
    return path


def true_value(world, user, rankings: Path, frequencies):
    """Return what rankings written in a table's ids earn on the true user, clicks per page.

    ``frequencies`` are those of the simulated world's queries, which the report could only guess.
    """
    queries = {query_id(query): query for query in range(world.n_queries)}
    pages = {}
    with rankings.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            pages.setdefault(queries[row["query"]], []).append(row["document"])
    asked = np.array(sorted(pages))
    longest = max(map(len, pages.values()))
    ranking = np.full((len(asked), longest), -1)
    for place, query in enumerate(asked.tolist()):
        documents = {document_id(query, number): number for number in range(world.n_docs)}
        ranking[place, : len(pages[query])] = [documents[one] for one in pages[query]]
    weight = frequencies[asked] / frequencies[asked].sum()
    return float(weight @ user.expected_clicks(asked, ranking))


def write_example(path: Path):
    """Write 20,000 pages of 400 queries, more than 200,000 rows."""
    return write_table(path, simulate(400, 30, 20_000, seed=1)[2])


if __name__ == "__main__":
    write_example(Path(sys.argv[1]))
