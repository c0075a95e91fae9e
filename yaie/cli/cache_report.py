"""The lines that explain how far a prompt is cached, and why no further."""

from __future__ import annotations

from typing import Any, TextIO

from yaie.cli import terminal

_BAR = 24  # characters


def explanation_lines(found: dict[str, Any], stream: TextIO) -> list[str]:
    """Return a server's explanation as lines for a stream."""
    cached, total = found["cached_tokens"], found["prompt_tokens"]
    full = round(_BAR * cached / max(total, 1))
    name = found["cause"].replace("_", " ") if found["cause"] else "cached"
    lines = [
        f"{'█' * full}{'░' * (_BAR - full)} {cached:,} of {total:,} tokens are cached",
        f"{terminal.bold(name, stream)}: {found['reason']}",
    ]
    if found["changed"]:
        lines.append(f"  changed  {', '.join(found['changed'])}")
    if (place := found["divergence"]) is not None:
        lines += [
            f"  token    {place['position']:,}, in {place['field']}",
            f"  before   {shown_line(place['before'])}",
            f"  yours    {shown_line(place['text'])}",
        ]
        for each in place["held"]:
            lines.append(f"  cached   {shown_line(each['text'])}  ({each['tokens']:,} tokens)")
    if (eviction := found["eviction"]) is not None:
        ago = f"{eviction['age_tokens']:,} processed tokens ago"
        if eviction["age_s"] is not None:
            ago += f", {eviction['age_s']:,.0f} s"
        lines.append(f"  evicted  {eviction['tokens']:,} tokens, {ago} ({eviction['reason']})")
    return lines


def shown_line(text: str, width: int = 60) -> str:
    """Return a text on one line, cut to a width."""
    shown = repr(text)[1:-1]
    return shown if len(shown) <= width else shown[: max(1, width - 1)] + "…"
