"""`yaie cache`: lists a running server's cached prefixes and explains cache misses."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from yaie.base.advised_error import AdvisedError
from yaie.cli import terminal
from yaie.cli.failures import usage_error
from yaie.cli.running import ApiKey, AsJson, Url, open_server

if TYPE_CHECKING:
    from yaie.cli.remote import ServerAnswers

_BAR = 24  # characters
_CAUSES = {
    "new": "never seen",
    "changed": "after a change of a cached prompt",
    "evicted": "cached before",
}
_LARGER = {
    "25%": "num_kept_by_25_tokens",
    "50%": "num_kept_by_50_tokens",
    "100%": "num_wanted_again_tokens",
}

app = typer.Typer(
    help="Inspect the prefix cache of a running server.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
ModelName = Annotated[
    str | None, typer.Option("--model", "-m", help="served model name", metavar="NAME")
]
Salt = Annotated[
    str | None, typer.Option("--salt", help="cache_salt of the namespace", metavar="TEXT")
]


@app.command("ls")
def list_branches(
    *,
    limit: Annotated[
        int, typer.Option("--limit", help="maximum branches to list", min=1, max=1000)
    ] = 30,
    salt: Salt = None,
    model: ModelName = None,
    url: Url = None,
    api_key: ApiKey = None,
    as_json: AsJson = False,
) -> None:
    """List the largest cached branches as a tree."""
    server = _open(url, api_key, model)
    found = server.post("/v1/cache/branches", _with(limit=limit, cache_salt=salt, model=model))
    if as_json:
        print(json.dumps(found))
        return
    branches = found["branches"]
    print(f"{'tokens':>9} {'below':>9} {'uses':>6} {'age':>9}  text")
    for each in branches:
        text = "  " * each["depth"] + shown_line(each["text"], 60 - 2 * min(each["depth"], 20))
        counts = f"{each['tokens']:>9,} {each['tokens_below']:>9,} {each['uses']:>6,}"
        print(f"{counts} {each['age_tokens']:>9,}  {text}")
    more = "" if found["is_complete"] else "; --limit lists more"
    terminal.note(f"{found['tokens']:,} tokens, {len(branches)} branches{more}")


@app.command("explain")
def explain(
    body: Annotated[
        Path, typer.Argument(help="request as JSON: messages or prompt", metavar="A.json")
    ],
    other: Annotated[
        Path | None, typer.Argument(help="request to compare with", metavar="[B.json]")
    ] = None,
    *,
    model: ModelName = None,
    url: Url = None,
    api_key: ApiKey = None,
    as_json: AsJson = False,
) -> None:
    """Explain how much of a prompt is cached, and why the rest is not."""
    fields = _read(body) | _with(model=model)
    if other is not None:
        fields["compare_with"] = _read(other)
    found = _open(url, api_key, model).post("/v1/cache/explain", fields)
    if as_json:
        print(json.dumps(found))
        return
    print("\n".join(explanation_lines(found, sys.stdout)))
    if found["comparison"] is not None:
        assert other is not None
        _show_comparison(found["comparison"], body.name, other.name)


@app.command("stats")
def show_stats(
    *, model: ModelName = None, url: Url = None, api_key: ApiKey = None, as_json: AsJson = False
) -> None:
    """Show hits, why prompt tokens were computed, and what a larger pool would have kept."""
    found = _open(url, api_key, model).get("/stats" + (f"?model={model}" if model else ""))
    numbers, info = found["stats"], found["info"] or {}
    if as_json:
        print(json.dumps(cache_numbers(numbers)))
        return
    prompt, cached = numbers["prompt_tokens"], numbers["cached_tokens"]
    held = numbers["num_live_slots"] + numbers["num_cached_slots"]
    print(f"{cached:,} of {prompt:,} prompt tokens were cached{_share(cached, prompt)}")
    print(
        f"{held:,} of {info.get('num_slots', 0):,} slots are in use, {numbers['num_nodes']:,} nodes"
    )
    print(f"{numbers['num_evicted_tokens']:,} tokens were evicted")
    missed = {name: numbers[f"missed_{name}_tokens"] for name in ("new", "changed", "evicted")}
    print("computed prompt tokens, by cause:")
    total = sum(missed.values())
    for name, meaning in _CAUSES.items():
        print(f"  {name:<8} {missed[name]:>12,}{_share(missed[name], total)}  {meaning}")
    print("cached prompt tokens with a larger pool:")
    for more, name in _LARGER.items():
        kept = cached + numbers[name]
        print(f"  +{more:<4} {kept:>14,}{_share(kept, prompt)}")


def cache_numbers(numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of `/stats` that concern the cache."""
    names = ("prompt_tokens", "cached_tokens", "num_evicted_tokens", *_LARGER.values())
    return {name: numbers[name] for name in names} | {
        f"missed_{name}_tokens": numbers[f"missed_{name}_tokens"] for name in _CAUSES
    }


def _share(part: int, whole: int) -> str:
    return f" ({part / whole:.1%})" if whole else ""


@app.command("warm")
def warm(
    file: Annotated[
        Path,
        typer.Argument(help="requests as JSON, one per line; - reads stdin", metavar="FILE.jsonl"),
    ],
    *,
    model: ModelName = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Prefill the prompts of requests into the cache, in file order."""
    bodies = _read_lines(file)
    server = _open(url, api_key, model)
    prompt = cached = 0
    for body in bodies:
        route = "/v1/chat/completions" if "messages" in body else "/v1/completions"
        fields = body | _with(model=model) | {"max_tokens": 1, "stream": False}
        fields.pop("max_completion_tokens", None)
        usage = server.post(route, fields)["usage"]
        prompt += usage["prompt_tokens"]
        cached += usage["prompt_tokens_details"]["cached_tokens"]
    computed = prompt - cached
    print(f"{len(bodies):,} prompts, {computed:,} tokens computed, {cached:,} were cached")


@app.command("clear")
def clear(
    *,
    admin_key: Annotated[
        str | None,
        typer.Option("--admin-key", help="admin key [YAIE_ADMIN_KEY]", metavar="KEY"),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Evict all cached tokens that no running request uses."""
    key = admin_key or os.environ.get("YAIE_ADMIN_KEY")
    if not key:
        raise usage_error(
            "clearing the cache needs the server's admin key",
            advice="--admin-key KEY, or YAIE_ADMIN_KEY",
        )
    server = _open(url, key, "any")
    server.key_advice = (
        "--admin-key (or YAIE_ADMIN_KEY) with the key of `yaie serve --admin-key KEY`"
    )
    found = server.post("/v1/cache/flush", {})
    if as_json:
        print(json.dumps(found))
        return
    print(f"{found['evicted_tokens']:,} tokens evicted, {found['kept_tokens']:,} in use kept")


def _open(url: str | None, key: str | None, model: str | None) -> ServerAnswers:
    why = "yaie cache reads the cache of a running server"
    return open_server(url, key, why=why, model=model or "")


def _with(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; `-` is standard input. Raises a usage error."""
    return _object(_text(path), str(path))


def _read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON object in each line that is not blank. Raises a usage error."""
    lines = enumerate(_text(path).splitlines(), 1)
    return [_object(line, f"line {number} of {path}") for number, line in lines if line.strip()]


def _text(path: Path) -> str:
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _no_request(str(path), getattr(error, "strerror", None) or str(error)) from None


def _object(text: str, place: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise _no_request(place, str(error)) from None
    if not isinstance(value, dict):
        raise _no_request(place, "it is not a JSON object")
    return value


def _no_request(place: str, why: str) -> AdvisedError:
    return usage_error(f"{place} is not a request as JSON", why=why, advice='{"messages": [...]}')


def _show_comparison(found: dict[str, Any], name: str, other: str) -> None:
    if found["position"] is None:
        print(f"{other} has the same prompt")
        return
    print(f"{other} shares {found['shared_tokens']:,} of its {found['prompt_tokens']:,} tokens")
    if not found["is_same_namespace"]:
        print("  its cache_salt differs, so no token is shared")
    width = max(len(name), len(other))
    for label, place in ((name, found["this"]), (other, found["other"])):
        shown = "ends here" if place is None else f"{place['field']}: {shown_line(place['text'])}"
        print(f"  {label:<{width}}  {shown}")


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
