"""Tools as a grammar can hold them: the schemas of their arguments, without what it cannot enforce.

A call's arguments follow the rest of the schema; the parser tells what the whole schema refuses.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar
from yaie.engine.grammar.schema_keywords import Unheld, drop_unheld, relax_alternatives
from yaie.engine.grammar.source_limits import MAX_BYTES, check_size
from yaie.text.formats.lark import Lark
from yaie.text.formats.syntax import CallSyntax
from yaie.text.formats.tool import Tool

LIMIT_S = 2.0  # processor time for the tools of a request
_SHARED = ("$schema", "$id", "$defs", "definitions")


def relax_tools(
    tools: Sequence[Tool], syntax: CallSyntax, places: Sequence[str]
) -> tuple[list[Tool], list[str]]:
    """Return tools whose calls a grammar in this syntax can hold, and what their schemas lost.

    The latter as `tool.keyword`. `places` are the client's names of the schemas. Raises
    `InvalidRequest` for a strict tool with a keyword that a grammar cannot hold.
    """
    relaxed: list[Tool] = []
    lost: list[str] = []
    began_s = time.thread_time()
    for tool, place in zip(tools, places, strict=True):
        if time.thread_time() - began_s > LIMIT_S:
            raise InvalidRequest(
                f"{place}: the schemas of the tools take more than {LIMIT_S:g} s to check; "
                "simplify them",
                param=place,
            )
        try:
            parameters, unheld = _relax(syntax, tool.name, json.dumps(tool.parameters))
        except RecursionError:
            raise InvalidRequest(f"{place} is nested too deeply; flatten it", param=place) from None
        if tool.is_strict and (kept := [each for each in unheld if not each.is_annotation]):
            raise InvalidRequest(
                f"{place} of the strict tool {tool.name!r} has {kept[0]}, which no grammar can "
                "hold; change or remove it, or omit strict",
                param=place,
            )
        relaxed.append(replace(tool, parameters=parameters))
        lost += dict.fromkeys(f"{tool.name}.{each.keyword}" for each in unheld)
    return relaxed, lost


@lru_cache(maxsize=1024)  # agents send the same tools in every turn
def _relax(syntax: CallSyntax, name: str, source: str) -> tuple[dict[str, Any], tuple[Unheld, ...]]:
    found: tuple[dict[str, Any], tuple[Unheld, ...]] = {}, ()
    for found in _attempts(syntax, name, json.loads(source)):
        if not _fault(syntax, name, found[0]):
            break
    return found


def _attempts(
    syntax: CallSyntax, name: str, whole: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], tuple[Unheld, ...]]]:
    """Yield schemas with fewer and fewer keywords; the last one holds in every syntax."""
    parameters, unheld = drop_unheld(whole, annotations=True)
    yield parameters, tuple(unheld)
    properties = parameters.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    names = [each for each in _list(parameters.get("required")) if isinstance(each, str)]
    required = [each for each in names if each in properties]
    if len(json.dumps(parameters)) <= MAX_BYTES:
        parameters, unheld = drop_unheld(whole, annotations=True, patterns=True)
        parameters, loosened = relax_alternatives(parameters)
        unheld += loosened
        yield parameters, tuple(unheld)
        shared = {key: parameters[key] for key in _SHARED if key in parameters}
        kept: dict[str, Any] = {}
        for key, schema in parameters.get("properties", {}).items() if properties else ():
            alone = {"properties": {key: schema}, "required": [key] if key in required else []}
            fault = _fault(syntax, name, {**shared, "type": "object", **alone})
            kept[key] = {} if fault else schema
            if fault:
                unheld.append(Unheld(("properties",), key, fault))
        yield {**parameters, "properties": kept}, tuple(unheld)
    unheld.append(Unheld((), "parameters", _fault(syntax, name, parameters)))
    every: dict[str, Any] = {key: {} for key in properties}
    yield {"type": "object", "properties": every, "required": required}, tuple(unheld)
    yield {"type": "object"}, tuple(unheld)


def _fault(syntax: CallSyntax, name: str, parameters: Mapping[str, Any]) -> str:
    """Return why llguidance refuses a tool's calls; empty if it does not."""
    from llguidance import LLMatcher  # late: few requests have a grammar

    lark = Lark({})  # without a tokenizer: markers are text
    try:
        calls = syntax.grammar([Tool(name, parameters)], lark, is_parallel=True)
        source = "\n".join(["start: calls", calls, *lark.terminals])
        check_size(Grammar(kind="lark", source=source, param="it"))
    except InvalidRequest as error:
        return error.message
    return LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(source)).partition("\n")[0]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
