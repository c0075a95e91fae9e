"""Fields that constrain the text of an answer, under the names that several servers use."""

from __future__ import annotations

from typing import Annotated, Any

from yaie.server.schemas.base import Extension, RequestBody, Used

_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
_TEXT = {"type": ["string", "null"]}
_SCHEMA_TYPES = {"type": ["object", "boolean", "string", "null"]}
_OBJECT = {"type": ["object", "null"]}


class StructuredFields(RequestBody):
    """Fields of structured output; `yaie.server.requests.grammar_fields` reads them."""

    response_format: Annotated[
        Any,
        Used(
            "Types `text`, `json_object` and `json_schema`, the latter with `json_schema.schema`. "
            "The answer follows the schema with and without `strict`.",
            "`text`",
            example={
                "type": "json_schema",
                "json_schema": {"name": "person", "schema": _SCHEMA, "strict": True},
            },
            schema=_OBJECT,
        ),
    ] = None
    structured_outputs: Annotated[
        Any,
        Extension(
            "vLLM's: an object with one of `json`, `regex`, `choice`, `grammar` and `json_object`.",
            example={"choice": ["yes", "no"]},
            schema=_OBJECT,
        ),
    ] = None
    guided_json: Annotated[
        Any,
        Extension(
            "A JSON schema, as an object, a boolean or text.", example=_SCHEMA, schema=_SCHEMA_TYPES
        ),
    ] = None
    guided_regex: Annotated[
        Any,
        Extension(
            "A regular expression that the whole answer matches.", example="[0-9]+", schema=_TEXT
        ),
    ] = None
    guided_choice: Annotated[
        Any,
        Extension(
            "Texts, one of which is the answer.",
            example=["yes", "no"],
            schema={"type": ["array", "null"], "items": {"type": "string"}},
        ),
    ] = None
    guided_grammar: Annotated[
        Any,
        Extension(
            "A grammar in Lark's syntax, or in the EBNF of llama.cpp.",
            example='start: "yes" | "no"',
            schema=_TEXT,
        ),
    ] = None
    regex: Annotated[
        Any, Extension("SGLang's name of `guided_regex`.", example="[0-9]+", schema=_TEXT)
    ] = None
    ebnf: Annotated[
        Any,
        Extension(
            "SGLang's name of `guided_grammar`.", example='root ::= "yes" | "no"', schema=_TEXT
        ),
    ] = None
    grammar: Annotated[
        Any,
        Extension(
            "llama.cpp's name of `guided_grammar`.", example='root ::= "yes" | "no"', schema=_TEXT
        ),
    ] = None
    json_schema: Annotated[
        Any,
        Extension(
            "SGLang's and llama.cpp's name of `guided_json`.",
            example=_SCHEMA,
            schema=_SCHEMA_TYPES,
        ),
    ] = None
