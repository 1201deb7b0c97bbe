"""Logs in the indices of another world."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import data


def read(rows):
    """Return the world and the log of rows of page, query, document, rank and click."""
    import pyarrow as pa

    names = ("page", "query", "document", "rank", "click")
    columns = zip(*rows, strict=True)
    return data.read_log(pa.table(dict(zip(names, map(list, columns), strict=True))))


def random_rows(seed, queries, documents, pages):
    """Return pages of one to three documents, in the order of the generator."""
    rng = np.random.default_rng(seed)
    for page in range(pages):
        query = rng.choice(queries)
        shown = rng.permutation(documents)[: rng.integers(1, 4)]
        for rank, document in enumerate(shown):
            yield f"p{page}", f"q{query}", f"d{document}", rank + 1, int(rng.random() < 0.4)


def named_pages(world, log):
    """Return what each page shows, by name, with its clicks."""
    for query, ranking, clicks in zip(log.query, log.ranking, log.clicks, strict=True):
        shown = ranking[ranking >= 0]
        names = tuple(str(world.doc_ids[query, document]) for document in shown)
        yield str(world.query_ids[query]), names, tuple(clicks[: len(shown)].tolist())


def test_pages_show_the_same_documents_by_name_and_unknown_ones_are_left_out():
    world, _ = read(random_rows(0, range(6), 9, 60))
    own, log = read(random_rows(1, range(2, 9), 12, 200))
    joined, left_out = data.join_log(log, own, world)
    joined.check_world(world)
    known = {
        (str(world.query_ids[query]), str(world.doc_ids[query, document]))
        for query, document in np.argwhere(world.candidates)
    }
    expected = [
        page for page in named_pages(own, log) if all((page[0], name) in known for name in page[1])
    ]
    assert 0 < len(expected) < len(log)
    assert list(named_pages(world, joined)) == expected
    assert left_out == len(log) - len(expected)


def test_what_else_is_known_of_pages_stays_with_them():
    world, log = read(random_rows(0, range(3), 5, 40))
    other, _ = read(random_rows(2, range(3), 5, 15))
    joined, left_out = data.join_log(log, world, other)
    assert 0 < left_out < len(log)
    pages = dict(zip(log.extra["page"].tolist(), named_pages(world, log), strict=True))
    found = dict(zip(joined.extra["page"].tolist(), named_pages(other, joined), strict=True))
    assert found.items() <= pages.items()


def test_worlds_without_ids_cannot_be_joined():
    world, log = read(random_rows(0, range(3), 5, 40))
    nameless = data.World(np.zeros((2, 2), dtype=int))
    with pytest.raises(ValueError, match="both worlds must have ids of queries"):
        data.join_log(log, world, nameless)
