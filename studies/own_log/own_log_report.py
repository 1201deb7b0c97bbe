"""The page of a report on one's own log: its paragraph, tables and pictures."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ...evaluation.logs.description import RARE
from ...evaluation.offpolicy.slate_estimates import ENOUGH
from ...evaluation.reporting.formats import PlainTable, Shown
from ...evaluation.statistics import BOLD
from ..engine.rows import Row, distinct, where
from ..study import Report
from .estimates import ESTIMATORS
from .findings import CLEAR, Findings, summarise
from .log_fits import say_priors
from .own_log_pictures import draw_log, draw_models, draw_policies

SHOW, MODELS, LOG = "What the models would have you show", "The click models", "The log"
WARNS = "What warns"
_NUMBERS = {
    "impressions": ("pages", "{:,.0f}"),
    "queries": ("queries", "{:,.0f}"),
    "documents": ("pairs of query and document", "{:,.0f}"),
    "clicks_per_page": ("clicks per page", "{:.3f}"),
    "clicked_pages": ("pages with a click", "{:.1%}"),
    "head": ("pages of the most frequent tenth of the queries", "{:.1%}"),
    "effective_queries": ("equally frequent queries that would be as concentrated", "{:,.1f}"),
    "rare_documents": (f"pairs shown fewer than {RARE} times", "{:.1%}"),
    "same_page": ("chance that two pages of a query are equal (1: no randomness)", "{:.1%}"),
    "weakest": ("documents of the weakest tie between ranks", "{:,.0f}"),
    "held_out": ("pages held out to judge by", "{:,.0f}"),
    "held_out_clicks": ("clicks per held-out page", "{:.3f}"),
}


def make_report(rows: list[Row], name: str) -> Report:
    """Return the report of a log of this name."""
    found = Findings(rows)
    tables = {
        SHOW: [*_cross_tables(found), *_estimate_tables(found), *_example_tables(found)],
        **({WARNS: [_warning_table(found)]} if found.warnings else {}),
        MODELS: [_model_table(found)],
        LOG: [_log_table(found), *_oddity_tables(found)],
        "Files": [_file_table(rows)],
    }
    failures = where(rows, part="failure")
    if failures:
        tables = {"What failed": [_failure_table(failures)], **tables}
    figures = {}
    if found.cross is not None:
        figures["policies.png"] = f"{SHOW}: {_POLICIES_CAPTION}", draw_policies(found)
    figures["models.png"] = f"{MODELS}: {_MODELS_CAPTION}", draw_models(found)
    figures["log.png"] = f"{LOG}: {_LOG_CAPTION}", draw_log(found)
    texts = {
        "judgements.csv": _csv(tables[SHOW][0]) if tables[SHOW] else "",
        "models.csv": _csv(tables[MODELS][0]),
    }
    summary = summarise(found, name)
    printed = [*tables[SHOW][:1], *tables[MODELS]]
    return Report(
        f"Which click model to trust: {name}", summary, tables, figures, texts=texts,
        printed=printed, lines=["", summary, ""],
    )  # fmt: skip


_POLICIES_CAPTION = (
    "each line is a ranking that one model suggests. Red: the clicks per page that its own model "
    "promises; red and hollow: the promise that can be kept. Other marks: what the other models "
    "say of it, and a bar at their median. A red mark far to the right of the others is a promise "
    "that only its own model believes."
)
_MODELS_CAPTION = (
    "perplexity on held-out pages (1 is perfect, 2 is a coin; lower is better) with 95% bootstrap "
    "intervals over pages; perplexity by rank, and how far it is above that of the best model "
    "there; how alike a model ranks when it is fitted to one half of the log and to the other (1: "
    "the same order, 0: unrelated)."
)
_LOG_CAPTION = (
    "clicks by rank; the chance that two pages of a query show the same document at a rank; how "
    "much of the traffic the most frequent queries have; and how many documents tie two ranks "
    "together by having been shown at both (red: none)."
)


def _cross_tables(found: Findings) -> list[PlainTable]:
    cross = found.cross
    if cross is None:
        return []
    table = PlainTable(
        "What every model says that the rankings earn, clicks per page", "ranking",
        [*(f"by {judge}" for judge in cross.judges), "others' median", "own - others",
         "can be promised", "ahead of", "hardly ever shown"],
        _explain_rankings() + _explain_promises(found) + _explain_baselines(found)
        + _explain_same(found),
    )  # fmt: skip
    for place, name in enumerate(cross.policies):
        values = [
            Shown(f"{value:.3f}", BOLD if judge == cross.own[place] else "", float(value))
            for judge, value in enumerate(cross.values[place])
        ]
        (rare,) = where(found.rows, part="policy", policy=name, quantity="hardly shown")
        several = len(cross.judges) > 1
        table.rows[name] = [
            *values,
            _number(cross.others[place] if several else None),
            _number(cross.excess[place] if several else None, "{:+.3f}"),
            _number(found.promise(name)),
            _number(found.leading[place] if len(cross.judges) > 2 else None, "{:.0f}"),
            _number(rare["value"], "{:.1%}"),
        ]
    logged = [_number(found.logged.get(judge)) for judge in cross.judges]
    table.rows["pages as logged"] = [*logged, *[Shown("-")] * 5]
    return [table]


def _explain_rankings() -> str:
    return (
        "Max-Reward: the ranking for which a search inside the model finds the most expected "
        "clicks. Top-Down: documents by the relevance that the model gives them. Bold: the model "
        "that the ranking comes from. Others' median: of the models that it does not come from; "
        "compare it along its own row only, since the rankings of each model have other judges. "
        "Ahead of: how many other rankings it beats in pairs, each pair by the models that "
        "suggested neither of the two (the median of the differences that they see), so that both "
        "have the same judges. Hardly ever shown: the share of the documents that it shows which "
        f"the training part of the log showed fewer than {RARE} times. "
    )


def _explain_promises(found: Findings) -> str:
    if not found.trust:
        return ""
    shares = ", ".join(f"{share:.0%} for {name}" for name, share in found.trust.items())
    return (
        "Can be promised: less than the own model's number, because the ranking was chosen for "
        "what that model likes, also where it errs. So the model is asked a little below its mean, "
        "and of what it then expects above the pages as logged, only that share is promised which "
        f"its differences between logged pages turned out to be worth ({shares}). Nothing can be "
        f"promised where even that is more than {CLEAR:.0%} above the others' median. "
    )


def _explain_baselines(found: Findings) -> str:
    return (
        f"Three numbers to compare with: all pages of the log had "
        f"{found.of_log('clicks_per_page') or 0:.3f} clicks; the held-out ones had "
        f"{found.of_log('held_out_clicks') or 0:.3f}; and what each model expects of those is the "
        "row of pages as logged. A model's gain is its value of a ranking less its own value of "
        "the pages as logged, for a model that is too generous is so to both."
    )


def _explain_same(found: Findings) -> str:
    rows = where(found.rows, part="same pages")
    pairs = [f"{row['quantity']} and {row['policy']}" for row in rows]
    return "".join(f" {pair} are the same ranking." for pair in pairs)


def _estimate_tables(found: Findings) -> list[PlainTable]:
    rows = where(found.rows, part="estimate")
    if not rows:
        return []
    (logging,) = where(found.rows, part="logging", quantity="propensities")
    doubts = [row["text"] for row in where(found.rows, part="logging", quantity="doubt")]
    left_out = (
        f" Pages left out for showing a document twice: {logging['value']:,.0f}."
        if logging["value"]
        else ""
    )
    table = PlainTable(
        "Estimates without a click model, from held-out pages, clicks per page", "ranking",
        [text for name in ESTIMATORS.values() for text in (name, "effective pages")],
        f"With 95% intervals. Propensities of the log: {logging['text']}.{left_out}"
        + "".join(f" Doubt: {doubt}." for doubt in doubts)
        + " Effective pages: how many pages of the ranking itself would say as much; below "
        f"{ENOUGH} an estimate means little, whatever its interval, and near 1 nothing. Values "
        "and intervals are cut to what a page can have. To compare with: the clicks that held-out "
        "pages had, "
        f"{found.of_log('held_out_clicks') or 0:.3f}.",
    )  # fmt: skip
    first = found.cross.policies if found.cross else ()
    for policy in distinct(rows, "policy", first):
        cells = []
        for name in ESTIMATORS:
            row, size = found.estimate(policy, name), found.estimate(policy, f"{name} size")
            cells += [_estimate(row), _number(size["value"] if size else None, "{:,.1f}")]
        table.rows[policy] = cells
    return [table]


def _estimate(row: Row | None) -> Shown:
    """Return an estimate with its interval; nothing where the log says nothing."""
    if row is None:
        return Shown("-")
    low, high = row["low"], row["high"]
    if low is None or high is None or abs(low) == float("inf"):
        return Shown("nothing known")
    return Shown(f"{row['value']:.3f} [{low:.3f}, {high:.3f}]", value=row["value"])


def _warning_table(found: Findings) -> PlainTable:
    """Return every sign with its sentence: those that speak first, then silent and unknown ones."""
    table = PlainTable(
        f"What warns of {found.warnings[0]['policy']} before it is deployed", "sign", ["it says"],
        "Asked of the part of the log that the models were fitted to. Silence is no proof: what "
        "each sign sees is in docs/warnings.md.",
    )  # fmt: skip
    known = [row for row in found.warnings if row["value"] is not None]
    for row in sorted(known, key=lambda row: -row["value"]):
        table.add(row["quantity"], [row["text"] if row["value"] else "nothing to warn of"])
    for row in found.warnings:
        if row["value"] is None:
            table.add(row["quantity"], [f"not known: {row['text']}"])
    return table


def _example_tables(found: Findings) -> list[PlainTable]:
    if found.cross is None or found.recommended is None:
        return []
    name = found.cross.policies[found.recommended]
    rows = where(found.rows, part="example", policy=name)
    most = max((row["rank"] for row in rows), default=0)
    table = PlainTable(
        f"{name}: first documents of the most frequent queries", "query",
        ["pages", *(f"rank {rank}" for rank in range(1, most + 1))],
        "The whole rankings, and those of the other policies, are files: see below.",
    )  # fmt: skip
    for query in distinct(rows, "quantity"):
        part = where(rows, quantity=query)
        documents = [row["text"] for row in part]
        texts = [Shown(text) for text in [*documents, *[""] * (most - len(documents))]]
        table.rows[query] = [_number(part[0]["value"], "{:.1%}"), *texts]
    return [table]


def _model_table(found: Findings) -> PlainTable:
    table = PlainTable(
        "Click models", "model",
        ["perplexity ↓", "above the best", "expected clicks of held-out pages",
         "same order in both halves", "same first document"],
        "Perplexity on held-out pages with a 95% bootstrap interval over pages; bold: lowest. "
        "Above the best: the difference from the lowest, of both models on the same resampled "
        "pages, with its own interval; a model whose interval is all above 0 is clearly worse, "
        "even where the two perplexities have intervals that overlap. "
        f"Held-out pages had {found.of_log('held_out_clicks') or 0:.3f} clicks. Same order: "
        "Spearman's rank correlation of the relevance that two models give, one fitted to each "
        "half of the training part; same first: the share of traffic whose first document is the "
        f"same. {say_priors(found.priors)}",
    )  # fmt: skip
    for name, row in found.perplexities.items():
        text = f"{row['value']:.4f} [{row['low']:.4f}, {row['high']:.4f}]".replace("inf", "∞")
        halves = {
            one["quantity"]: one["value"]
            for one in where(found.rows, part="stability", model=name)
        }
        table.rows[name] = [
            Shown(text, BOLD if name == found.best_model else "", row["value"]),
            _above(found.above_best.get(name)),
            _number(found.logged.get(name)),
            _number(halves.get("correlation"), "{:.2f}"),
            _number(halves.get("same_first"), "{:.0%}"),
        ]
    return table


def _above(row: Row | None) -> Shown:
    """Return how far a model is above the best one, with the interval of the difference."""
    if row is None:
        return Shown("-")
    text = f"{row['value']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}]"
    return Shown(text.replace("inf", "∞"), value=row["value"])


def _log_table(found: Findings) -> PlainTable:
    (columns,) = where(found.rows, part="log", quantity="columns")
    groups = ["all" if len(found.groups) == 1 else ", ".join(map(str, g)) for g in found.groups]
    legend = f"Columns: {columns['text'] or 'those of a saved log'}."
    (unused,) = where(found.rows, part="log", quantity="unused")
    legend += f" Columns not read: {unused['text']}." if unused["text"] else ""
    table = PlainTable("Numbers", "number", ["value"], legend)
    for quantity, (name, form) in _NUMBERS.items():
        table.rows[name] = [_number(found.of_log(quantity), form)]
    table.rows["ranks tied together by documents shown at both"] = [Shown("; ".join(groups))]
    return table


def _oddity_tables(found: Findings) -> list[PlainTable]:
    rows = where(found.rows, part="oddity")
    notes = " ".join(row["text"] for row in where(found.rows, part="note"))
    if not rows and not notes:
        return []
    table = PlainTable("What is odd in the table", "oddity", ["number"], notes)
    for row in rows:
        table.rows[row["quantity"]] = [_number(row["value"], "{:,.0f}")]
    if not rows:
        table.add("nothing", ["0"])
    return [table]


def _failure_table(rows: Sequence[Row]) -> PlainTable:
    table = PlainTable(
        "What failed", "what", ["while", "error"], "--retry-failed tries again."
    )
    for number, row in enumerate(rows, start=1):
        name = row["model"] or row["quantity"]
        label = name if name not in table.rows else f"{name} ({number})"
        table.add(label, [row["quantity"], row["text"]])
    return table


def _file_table(rows: Sequence[Row]) -> PlainTable:
    table = PlainTable(
        "Files of this folder", "what", ["file"],
        "Rankings are in the ids of the log: query, rank, document; each lies beside its policy "
        "(.safetensors), which clickgym deploy and clickgym ope estimate take with the world. "
        "Models, the world and the log load with clickgym.clickmodels.ClickModel.load, "
        "clickgym.data.World.load and clickgym.data.ClickLog.load.",
    )  # fmt: skip
    for row in where(rows, part="file"):
        table.add(row["quantity"], [row["text"]])
    return table


def _number(value: float | None, form: str = "{:.3f}") -> Shown:
    return Shown("-") if value is None else Shown(form.format(value), value=float(value))


def _csv(table: PlainTable) -> str:
    """Return a table as CSV: numbers where cells stand for one, else their texts."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([table.names, *table.headings])
    for name, cells in table.rows.items():
        writer.writerow([name, *(c.text if c.value is None else repr(c.value) for c in cells)])
    return text.getvalue()
