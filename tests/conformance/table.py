"""Tables of docs/reference/model-support.md, written from the support data and the cases.

`python -m tests.conformance.table` rewrites the part of the page between the markers;
`test_table` fails while page and code differ.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tests.conformance.popular import POPULAR, count
from tests.conformance.popular_forms import cells, count_forms
from tests.conformance.recurrent import RECURRENT, RECURRENT_WRAPPED
from tests.conformance.wrapped import WRAPPED
from tests.conformance.zoo import CASES
from yaie.models.architecture.architectures import REFUSED, SUPPORTED
from yaie.models.architecture.support import check_supported
from yaie.models.architecture.text_backbones import WRAPPERS, Wrapper
from yaie.models.files.encoder_classes import ENCODERS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "model-support.md"
BEGIN = "<!-- begin: written by tests/conformance/table.py -->"
END = "<!-- end -->"


def render() -> str:
    """Return the tables as Markdown."""
    notes: defaultdict[str, list[str]] = defaultdict(list)
    for case in (*CASES, *RECURRENT):
        notes[case.architecture].append(case.note)
    lines = [
        "### What people run",
        "",
        f"{count()} {count_forms()}",
        "",
        "The column of 24 GiB has the best form of a row's smallest checkpoint, its size, and the",
        "perplexity that it loses. Experts of `int4` are rounded to nearest, which loses more.",
        "",
        "| checkpoint | class | weights | state | in 24 GiB | from GGUF |",
        "| --- | --- | --- | --- | --- | --- |",
        *(f"| {p.name} | `{p.architecture}` | {p.form} | {p.state} | {cells(p)}" for p in POPULAR),
        "",
        "### Architectures",
        "",
        "| architecture | known as | compared with transformers on |",
        "| --- | --- | --- |",
    ]
    for entry in sorted(SUPPORTED, key=lambda entry: entry.architecture.lower()):
        covered = "; ".join(notes[entry.architecture])
        lines.append(f"| `{entry.architecture}` | {entry.known_as} | {covered} |")
    lines += ["", "| encoder | known as |", "| --- | --- |"]
    lines += [f"| `{entry.architecture}` | {entry.known_as} |" for entry in ENCODERS]
    lines += ["", "| wrapper | known as | its text is computed by |", "| --- | --- | --- |"]
    for wrapper in sorted(WRAPPERS, key=lambda wrapper: wrapper.architecture.lower()):
        lines.append(f"| `{wrapper.architecture}` | {wrapper.known_as} | {_computes(wrapper)} |")
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for model_type, reason in REFUSED.items():
        reasons[reason].append(f"`{model_type}`")
    lines += ["", "| refused model types | reason |", "| --- | --- |"]
    lines += [f"| {', '.join(sorted(types))} | {reason} |" for reason, types in reasons.items()]
    return "\n".join(lines)


def _computes(wrapper: Wrapper) -> str:
    """Return the text-only classes of a wrapper's cases."""
    found = {
        check_supported(case.config().to_dict()).architecture
        for case in (*WRAPPED, *RECURRENT_WRAPPED)
        if case.architecture == wrapper.architecture
    }
    return ", ".join(f"`{name}`" for name in sorted(found))


def page_with(tables: str) -> str:
    """Return the whole page with new tables between its markers."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with(render()), encoding="utf-8")
