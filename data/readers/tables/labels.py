"""Grades that come from elsewhere: query, document and grade."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....common.typing import Booleans, Integers
from .columns import NAMES, find_columns
from .formats import adapt_labels
from .lists import as_lists, is_lists, list_lengths
from .sources import BadLog, Source
from .values import Ids, as_mask, encode_ids, whole_number


@dataclass(frozen=True)
class Labels:
    """Grades of documents for queries, all (L,); ``where`` they come from is for errors."""

    where: str
    query: Ids
    document: Ids
    grade: Integers

    def graded_queries(self, names: pa.StringArray) -> Booleans:
        """Return which of the queries have a grade."""
        graded = Ids(self.query.codes[self.grade >= 0], self.query.names).used()
        return as_mask(pc.is_in(names, graded))

    def find_pairs(
        self, queries: pa.StringArray, documents: pa.StringArray, keys: Integers
    ) -> Integers:
        """Return for each grade the pair that it is of, (L,); -1 where there is none.

        ``keys`` (P,) are the pairs: query times the number of documents plus document.
        """
        query, document = (
            pc.fill_null(pc.index_in(own.names, value_set=names), -1).to_numpy(
                zero_copy_only=False
            ).astype(np.int64)[own.codes]
            for own, names in ((self.query, queries), (self.document, documents))
        )  # fmt: skip
        wanted = np.where(
            (query >= 0) & (document >= 0), query * np.int64(len(documents)) + document, -1
        )
        order = np.argsort(keys)
        place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
        return np.where(keys[order[place]] == wanted, order[place], -1)


def read_labels(source: Source, format: str | None) -> Labels:
    """Read a table of query, document and grade; rows may hold lists of the last two."""
    adapted = adapt_labels(source, format)
    opened = adapted.source
    roles = dict.fromkeys(("query", "document", "grade"), None) | dict(adapted.columns)
    # In a log a rating may be anybody's stars; here it can be nothing but the grade.
    known = NAMES | {"grade": (*NAMES["grade"], ("rating",))}
    columns = find_columns(opened, roles, required=("query", "document", "grade"), names=known)
    names = columns.by_role
    table = opened.read(names.values(), [names["query"], names["document"]])
    query = encode_ids(table[names["query"]], "query", opened)
    document, grade = table[names["document"]], table[names["grade"]]
    if is_lists(document):
        lists, grades = (as_lists(column, "grade", opened) for column in (document, grade))
        lengths = list_lengths(lists)
        if (lengths != list_lengths(grades)).any():
            raise BadLog(f"{opened.where}: lists of documents and of grades differ in length")
        query = Ids(np.repeat(query.codes, lengths), query.names)
        document, grade = (pa.chunked_array([column.flatten()]) for column in (lists, grades))
    return Labels(
        opened.where,
        query,
        encode_ids(document, "document", opened),
        whole_number(grade, "grade", opened, missing=-1),
    )
