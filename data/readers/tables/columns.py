"""Which column of a table means what: given, or guessed from the names people use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .sources import BadLog, TableSource

_USERS = (
    ("user", "userid", "uid", "userhash", "username", "userpseudoid"),
    ("customer", "customerid", "member", "memberid", "account", "accountid", "buyer", "buyerid",
     "shopper", "shopperid", "subscriber", "subscriberid", "profileid", "personid"),
    ("visitor", "visitorid", "fullvisitorid", "client", "clientid", "anonymousid", "cookie",
     "cookieid", "device", "deviceid"),
)  # fmt: skip
# By role, the names people use in order of preference: a later group is asked only when none of
# an earlier one is there. Written without case and punctuation.
NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "query": (
        ("query", "queryid", "qid", "queryhash", "querymd5", "searchquery", "searchterm", "term",
         "keyword", "keywords"),
        *_USERS,
    ),
    "document": (
        ("doc", "docid", "document", "documentid", "url", "urlid", "item", "itemid", "product",
         "productid", "asin", "sku", "docs", "docids", "documents", "documentids", "urls", "items",
         "itemids", "products", "productids", "results"),
        ("querydocids", "querydocid"),
    ),
    "rank": (
        ("rank", "position", "pos", "slot", "ranks", "positions"),
        ("itemlistindex", "listposition", "resultrank", "resultposition", "displayrank",
         "displayposition"),
    ),
    "click": (
        ("click", "clicked", "clicks", "isclick", "isclicked", "nclicks", "clickcount",
         "clickeddocs", "clickedids", "clickeditems", "clickedurls"),
        ("event", "eventtype", "action"),
    ),
    "page": (
        ("page", "pageid", "serp", "serpid", "impression", "impressionid", "request", "requestid",
         "searchid", "pageviewid", "listid", "slateid"),
    ),
    "session": (("session", "sessionid", "sid"),),
    "user": _USERS,
    "time": (
        ("time", "timestamp", "ts", "datetime", "date", "eventtime", "day"),
        ("eventtimestamp", "eventdate", "timestampms", "unixtime", "epoch", "createdat",
         "servertime", "requesttime", "searchtime"),
    ),
    "propensity": (("propensity", "propensityscore", "pscore", "loggingprobability"),),
    "grade": (("grade", "relevance", "label", "judgement", "judgment"),),
    "weight": (("weight", "sampleweight"), ("impressions",)),
    "vertical": (("vertical", "verticaltype"),),
    "vertical_position": (("verticalposition", "verticalrank"),),
}  # fmt: skip
REQUIRED = ("query", "document", "click")
IDS = ("query", "document", "page", "session", "user")


@dataclass(frozen=True)
class Columns:
    """The column of each role, and which of them nobody gave.

    Attributes
    ----------
    by_role : dict from role to the name of its column
    guessed : tuple of str
        The roles whose column was found by its name.
    """

    by_role: dict[str, str]
    guessed: tuple[str, ...] = ()

    def get(self, role: str) -> str | None:
        """Return the column of a role; None where the table has none."""
        return self.by_role.get(role)

    def without(self, role: str) -> Columns:
        """Return the same but for one role, which no column has."""
        by_role = {other: name for other, name in self.by_role.items() if other != role}
        return Columns(by_role, tuple(other for other in self.guessed if other != role))

    def __str__(self) -> str:
        return ", ".join(
            f"{role}={name}" + (" (guessed)" if role in self.guessed else "")
            for role, name in self.by_role.items()
        )


def find_columns(
    source: TableSource,
    given: Mapping[str, str | None],
    kept: Sequence[str] = (),
    required: Sequence[str] = REQUIRED,
    names: Mapping[str, tuple[tuple[str, ...], ...]] = NAMES,
) -> Columns:
    """Return the column of every role; raise where one is missing or could be several.

    ``given`` maps roles to columns; None is to be guessed, ``""`` means that there is none.
    ``kept`` are columns with a use of their own, which no guess may take; ``names`` are those that
    people use, by role.
    """
    named = {role: name for role, name in given.items() if name}
    for what, name in (*named.items(), *(("features or extra", name) for name in kept)):
        if name not in source.names:
            raise BadLog(f"{source.where}: no column {name!r} for {what}; {_list_names(source)}")
    by_role = dict(named)
    guessed = []
    for role in NAMES:
        if role in given and given[role] is None:
            found = _guess(source, role, names[role], {*by_role.values(), *kept})
            if found is not None:
                by_role[role] = found
                guessed.append(role)
    for role in required:
        if role not in by_role:
            raise BadLog(
                f"{source.where}: no column looks like the {role}; say which it is ({role}=…); "
                f"{_list_names(source)}{_doubt_header(source)}"
            )
    _pair_verticals(source, by_role, guessed)
    ordered = {role: by_role[role] for role in NAMES if role in by_role}
    return Columns(ordered, tuple(guessed))


def find_impressions(source: TableSource) -> str | None:
    """Return the column that counts impressions, by its name; None where there is none."""
    return next((name for name in source.names if _plain(name) == "impressions"), None)


def _pair_verticals(source: TableSource, by_role: dict[str, str], guessed: list[str]) -> None:
    """Drop a guessed type or place of the vertical without the other; raise if it was given."""
    found = [role for role in ("vertical", "vertical_position") if role in by_role]
    if len(found) != 1:
        return
    if found[0] not in guessed:
        raise BadLog(
            f"{source.where}: {found[0]}={by_role[found[0]]!r} is given, but a vertical has a type "
            "and a place; give vertical=… and vertical_position=…"
        )
    guessed.remove(found[0])
    del by_role[found[0]]


def _list_names(source: TableSource) -> str:
    shown = ", ".join(map(repr, source.names[:30]))
    return f"its columns are {shown}" + (", …" if len(source.names) > 30 else "")


def _doubt_header(source: TableSource) -> str:
    """Return a question where the names do not look like those of columns."""
    odd = any(re.fullmatch(r"\s*#.*|sep=.*|[\s\d.,:-]+", name) for name in source.names)
    return "; does its first line name the columns?" if odd or len(source.names) == 1 else ""


def _guess(
    source: TableSource, role: str, names: tuple[tuple[str, ...], ...], taken: set[str]
) -> str | None:
    for group in names:
        free = [name for name in source.names if name not in taken]
        found = [name for name in free if _plain(name) in group]
        if not found:  # a field of records: items.item_id
            found = [name for name in free if _plain(name.rpartition(".")[2]) in group]
        if len(found) > 1:
            raise BadLog(
                f"{source.where}: the {role} could be any of the columns "
                f"{', '.join(map(repr, found))}; say which ({role}=…)"
            )
        if found:
            return found[0]
    return None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
