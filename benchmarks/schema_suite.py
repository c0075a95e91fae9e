"""Agreement with the JSON-Schema-Test-Suite: each case compiles and agrees, or is refused.

`python -m benchmarks.schema_suite ARCHIVE` prints JSON, for YAIE and for llguidance with its own
defaults. ARCHIVE holds the suite, as the source distribution of `jsonschema` on PyPI does. A case
is a schema with instances. It is

- `agrees`: every valid instance is an answer that the grammar allows, and no invalid one is;
- `refused`: it does not compile, and the error says why;
- `stricter`: only a valid instance is excluded, whatever the order of its keys;
- `looser`: an invalid instance is allowed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llguidance import LLMatcher, LLTokenizer

from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar
from yaie.engine.grammar.compiler import GrammarCompiler
from yaie.models.load.folder import open_folder
from yaie.text.tokenizer import Tokenizer, load_tokenizer

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
MAX_ORDERS = 720  # of the keys of one instance

Accepts = Callable[[str], bool]
Compile = Callable[[Any], Accepts]  # raises InvalidRequest


@dataclass(frozen=True, slots=True)
class Case:
    """One schema of the suite, and its instances with their validity."""

    draft: str
    name: str
    schema: Any
    instances: tuple[tuple[Any, bool], ...]


def read_suite(archive: Path) -> Iterator[Case]:
    """Yield the required cases of all drafts; optional ones are left out."""
    with tarfile.open(archive) as suite:
        for member in sorted(suite.getmembers(), key=lambda each: each.name):
            parts = Path(member.name).parts
            if len(parts) < 3 or parts[-3] != "tests" or not member.name.endswith(".json"):
                continue
            file = suite.extractfile(member)
            if parts[-2] not in DRAFTS or file is None:
                continue
            for case in json.load(file):
                schema = case["schema"]
                if isinstance(schema, dict):
                    schema = {"$schema": DRAFTS[parts[-2]], **schema}
                yield Case(
                    draft=parts[-2],
                    name=f"{Path(parts[-1]).stem}: {case['description']}",
                    schema=schema,
                    instances=tuple((test["data"], test["valid"]) for test in case["tests"]),
                )


def judge(case: Case, compile_: Compile) -> str:
    """Return the word of the module's docstring for a case."""
    try:
        accepts = compile_(case.schema)
    except InvalidRequest:
        return "refused"
    verdict = "agrees"
    for instance, is_valid in case.instances:
        is_accepted = any(accepts(text) for text in forms(instance))
        if is_accepted and not is_valid:
            return "looser"
        if is_valid and not is_accepted:
            verdict = "stricter"
    return verdict


def forms(instance: Any) -> Iterator[str]:
    """Yield the instance as JSON with its keys in each order."""
    for ordered in itertools.islice(_orders(instance), MAX_ORDERS):
        yield json.dumps(ordered, ensure_ascii=False)


def _orders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for keys in itertools.permutations(value):
            for values in itertools.product(*([*_orders(value[key])] for key in keys)):
                yield dict(zip(keys, values, strict=True))
    elif isinstance(value, list):
        for items in itertools.product(*([*_orders(item)] for item in value)):
            yield list(items)
    else:
        yield value


def with_yaie(tokenizer: Tokenizer) -> Compile:
    """Return the compilation of a served request."""
    end = tokenizer.eos_token_id or 0
    compiler = GrammarCompiler(
        lambda: tokenizer, vocab_size=tokenizer.vocab_size, end_token_ids=[end]
    )

    def compile_(schema: Any) -> Accepts:
        start = compiler.compile(Grammar.json_schema(schema))

        def accepts(text: str) -> bool:
            state = start.copy()
            for token_id in tokenizer.encode(text, add_special_tokens=False):
                if state.is_over or not state.allows(token_id):
                    return False
                state.observe(token_id)
            return state.is_over or state.allows(end)

        return accepts

    return compile_


def with_llguidance(tokenizer: Tokenizer) -> Compile:
    """Return a compilation with the library's own defaults."""
    wrapped = LLTokenizer(tokenizer.fast.to_str())

    def compile_(schema: Any) -> Accepts:
        source = LLMatcher.grammar_from_json_schema(json.dumps(schema))
        start = LLMatcher(wrapped, source, log_level=0)
        if start.is_error():
            raise InvalidRequest(start.get_error())

        def accepts(text: str) -> bool:
            matcher = start.deep_copy()
            tokens = tokenizer.encode(text, add_special_tokens=False)
            return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

        return accepts

    return compile_


def main() -> None:
    """Read the archive, judge its cases, print the counts."""
    parser = argparse.ArgumentParser(description="Agreement with the JSON-Schema-Test-Suite.")
    parser.add_argument("archive", type=Path)
    parser.add_argument("--list", help="also the names of cases with this verdict")
    options = parser.parse_args()
    tokenizer = load_tokenizer(Path(open_folder("builtin").path))
    cases = list(read_suite(options.archive))
    report: dict[str, Any] = {"benchmark": "schema_suite", "cases": len(cases)}
    for name, make in (("yaie", with_yaie), ("llguidance", with_llguidance)):
        compile_ = make(tokenizer)
        verdicts = [(case, judge(case, compile_)) for case in cases]
        report[name] = {
            draft: dict(Counter(verdict for case, verdict in verdicts if case.draft == draft))
            for draft in DRAFTS
        }
        if options.list:
            report[f"{name}: {options.list}"] = [
                f"{case.draft} {case.name}" for case, each in verdicts if each == options.list
            ]
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
