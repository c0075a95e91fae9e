"""Table of a report, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.schedule.report import table

_HEAD = (
    "kind",
    "bits a weight",
    "perplexity",
    "over the first",
    "of later halves",
    "over the first",
    "equal answers",
    "common tokens",
    "tokens/s",
    "of a prompt",
)


def as_table(report: Mapping[str, Any]) -> str:
    """Return one row for each kind, then one for each file of llama.cpp, and notes."""
    rows = []
    for kind, row in report["kinds"].items():
        rows.append(
            [
                kind,
                f"{row['bits_per_weight']:.2f}",
                f"{row['perplexity']:.3f}",
                f"{row['ratio']:.4f} ± {row['ratio_error']:.4f}",
                f"{row['perplexity_half']:.3f}",
                f"{row['ratio_half']:.4f} ± {row['ratio_half_error']:.4f}",
                f"{row['identical']} of {report['chats']['number']}",
                f"{row['common_prefix']:.1f}",
                f"{row['tokens_per_s']:.0f}",
                f"{row['prompt_tokens_per_s']:.0f}",
            ]
        )
    for name, row in report["llama_cpp"].items():
        bits, speed, prompt_speed = (
            row.get(key) for key in ("bits_per_weight", "tokens_per_s", "prompt_tokens_per_s")
        )
        rows.append(
            [
                f"llama.cpp {name}",
                "" if bits is None else f"{bits:.2f}",
                "",
                "",
                f"{row['perplexity_half']:.3f}",
                f"{row['ratio_half']:.4f}",
                "",
                "",
                "" if speed is None else f"{speed:.0f}",
                "" if prompt_speed is None else f"{prompt_speed:.0f}",
            ]
        )
    return "\n".join([table(_HEAD, rows), *(f"\n{note}." for note in report["notes"])])
