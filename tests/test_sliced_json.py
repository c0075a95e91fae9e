"""JSON in slices, against the parser of the standard library."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sizes import large, size
from yaie.base import sliced_json
from yaie.base.errors import InvalidRequest
from yaie.base.sliced_json import MAX_VALUES, SLICE_CHARS, parse_body

SIMPLE = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
)
VALUES = st.recursive(
    SIMPLE,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=40,
)


def parsed(text: str) -> Any:
    """Return a text's value by the standard library; raise `InvalidRequest` where it must be."""
    try:
        value = json.loads(text, parse_constant=lambda name: 1 / 0)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, ZeroDivisionError):
        raise InvalidRequest("invalid") from None
    return value


def outcome(parse: Any, given: Any) -> Any:
    """Return a value as text, which tells 1 from 1.0 and true, or None for a refusal."""
    try:
        return json.dumps(parse(given))
    except InvalidRequest:
        return None


@large
@settings(max_examples=size(3000), deadline=None)
@given(VALUES, st.integers(50, 200), st.booleans(), st.sampled_from([None, 1]), st.randoms())
def test_slices_make_the_value_of_the_whole_and_refuse_what_it_refuses(
    value: Any, slice_chars: int, ascii_only: bool, indent: int | None, chance: random.Random
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliced_json, "SLICE_CHARS", slice_chars)
        patch.setattr(sliced_json, "_MAX_DEPTH", 1000)
        assert outcome(parse_body, text.encode()) == json.dumps(value)
        at = chance.randrange(len(text) + 1)
        edit = chance.choice(['"', "\\", ",", "]", "}", "[", "{", ":", "1", "\\ud83d", "\n", ""])
        broken = text[:at] + edit + text[at + chance.randrange(3) :]
        assert outcome(parse_body, broken.encode()) == outcome(parsed, broken)


@pytest.mark.parametrize("escape", ["\\n", "\\u00e9", "\\ud83d\\ude42", "é", "\\\\", '\\"', "\\/"])
def test_a_long_string_is_cut_between_its_characters(escape: str) -> None:
    for shift in range(14):
        text = '["' + "x" * shift + escape * SLICE_CHARS + '"]'
        assert parse_body(text.encode()) == json.loads(text)


@pytest.mark.parametrize("lone", ["\\ud83d", "\\ude42", "\\ud83d\\n", "\\ud83dx", "\\ud83d\\ud83d"])
@pytest.mark.parametrize("length", [0, SLICE_CHARS - 3, 3 * SLICE_CHARS])
def test_half_of_a_pair_is_refused_in_a_long_string(lone: str, length: int) -> None:
    with pytest.raises(InvalidRequest, match="surrogate"):
        parse_body(('{"a": "' + "x" * length + lone + '"}').encode())


def test_the_place_of_a_mistake_is_named_in_a_large_body() -> None:
    rows = ['{"role": "user", "content": "hello"}'] * 5000
    rows[3000] = '{"role": "user" "content": "hello"}'
    with pytest.raises(InvalidRequest, match="Expecting ',' delimiter at line 3001, column 17"):
        parse_body(("[" + ",\n".join(rows) + "]").encode())


@pytest.mark.parametrize("entry", ["[]", "{}", '"a"', "null", '{"a":1}', '[[],"a"]'])
def test_the_number_of_values_is_limited(entry: str) -> None:
    num_values = {'{"a":1}': 2, '[[],"a"]': 3}.get(entry, 1)
    many = MAX_VALUES // num_values
    assert len(parse_body(f"[{','.join([entry] * many)}]".encode())) == many
    with pytest.raises(InvalidRequest, match="more than 131072 values"):
        parse_body(f"[{','.join([entry] * (many + 1))}]".encode())
    fields = ",".join(f'"k{at}":1' for at in range(MAX_VALUES + 1))
    with pytest.raises(InvalidRequest, match="more than 131072 values"):
        parse_body(f"{{{fields}}}".encode())


def test_a_number_as_long_as_a_slice_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="a number with thousands of digits"):
        parse_body(b"[1." + b"0" * 3 * SLICE_CHARS + b"]")


def test_token_ids_are_not_counted() -> None:
    ids = [[7] * 8000] * 128
    assert parse_body(json.dumps({"prompt": ids}).encode()) == {"prompt": ids}


LARGE = {
    "objects": '{"x":[' + ",".join(['{"a":1}'] * 20_000) + "]}",
    "lists": "[" + ",".join(["[]"] * 50_000) + "]",
    "fields": "{" + ",".join(f'"k{at}":1' for at in range(50_000)) + "}",
    "numbers": "[" + ",".join(["1"] * 100_000) + "]",
    "text": '["' + "hello world\\n" * 30_000 + '"]',
    "nested": '{"a":' * 100 + "[" + ",".join(['{"a":1}'] * 20_000) + "]" + "}" * 100,
}


@pytest.mark.parametrize("kind", LARGE)
def test_no_call_of_the_c_parser_gets_more_than_a_slice(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = []

    class Decoder(json.JSONDecoder):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            scan = self.scan_once  # type: ignore[has-type]

            def scan_noted(text: str, at: int) -> Any:
                lengths.append(len(text) - at)
                return scan(text, at)

            self.scan_once = scan_noted

    def scanstring(text: str, at: int, strict: bool) -> Any:
        lengths.append(len(text))
        return json.decoder.scanstring(text, at, strict)  # type: ignore[attr-defined]

    monkeypatch.setattr(json, "JSONDecoder", Decoder)
    monkeypatch.setattr(sliced_json, "scanstring", scanstring)
    value = parse_body(LARGE[kind].encode())
    monkeypatch.undo()
    assert value == json.loads(LARGE[kind])
    assert max(lengths) <= SLICE_CHARS + 2
