"""The judge of schema cases, on cases of each verdict; sizes of the generated schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.grammars import large_schema
from benchmarks.schema_suite import Case, forms, judge, with_yaie
from yaie.models.load.folder import open_folder
from yaie.text.tokenizer import load_tokenizer

TWO = {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "instances", "verdict"),
    [
        (TWO, [({"b": [], "a": None}, True), ({"c": 1}, False)], "agrees"),
        (True, [({"b": [], "a": None}, True), (False, True)], "agrees"),
        ({"type": "array", "uniqueItems": True}, [([1, 1], False)], "refused"),
        ({"const": 1}, [(1.0, True)], "stricter"),
        ({"type": "string"}, [("a", False), (1, False)], "looser"),
    ],
)
def test_a_case_is_judged_by_its_instances(
    schema: Any, instances: list[tuple[Any, bool]], verdict: str
) -> None:
    compile_ = with_yaie(load_tokenizer(Path(open_folder("builtin").path)))
    assert judge(Case("draft7", "a case", schema, tuple(instances)), compile_) == verdict


def test_an_instance_has_a_form_for_each_order_of_its_keys() -> None:
    found = set(forms([{"a": {"b": 1, "c": 2}, "d": 3}]))
    assert len(found) == 4
    assert '[{"d": 3, "a": {"c": 2, "b": 1}}]' in found


@pytest.mark.parametrize("num_bytes", [1024, 64 * 1024])
def test_a_large_schema_fills_its_size(num_bytes: int) -> None:
    assert 0.6 * num_bytes < len(json.dumps(large_schema(num_bytes))) <= num_bytes
