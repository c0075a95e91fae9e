"""Structured output through `instructor`, in its default mode."""

from __future__ import annotations

import asyncio
from typing import Any

import instructor
import pytest
from instructor.core import InstructorRetryException

from tests.clients.questions import (
    HELLO,
    MODEL,
    PERSON_QUESTION,
    TOO_LONG,
    UNKNOWN,
    WRONG_KEY,
    Person,
    user,
)

NAME = f"openai/{MODEL}"


def extract(text: str, name: str = NAME, address: Any = None, **fields: Any) -> Any:
    client: Any = instructor.from_provider(name, **(address or {}))
    return client.create(
        response_model=Person, messages=[user(text)], max_retries=1, max_tokens=256, **fields
    )


def test_schema() -> None:
    assert isinstance(extract(PERSON_QUESTION), Person)


def test_stream() -> None:
    client: Any = instructor.from_provider(NAME)
    *_, last = client.create_partial(
        response_model=Person, messages=[user(PERSON_QUESTION)], max_tokens=256
    )
    assert isinstance(last.name, str) and isinstance(last.age, int)


def test_async_16() -> None:
    async def all_of_them() -> list[Any]:
        client: Any = instructor.from_provider(NAME, async_client=True)
        asked = [
            client.create(
                response_model=Person,
                messages=[user(f"{PERSON_QUESTION} {n}")],
                max_tokens=256,
                max_retries=1,
            )
            for n in range(16)
        ]
        return list(await asyncio.gather(*asked))

    assert all(isinstance(person, Person) for person in asyncio.run(all_of_them()))


def test_errors(draining_url: str) -> None:
    for text, name, words in (
        (HELLO, f"openai/{UNKNOWN}", "404"),
        (TOO_LONG, NAME, "maximum context length"),
    ):
        with pytest.raises(InstructorRetryException, match=words):
            extract(text, name)
    with pytest.raises(InstructorRetryException, match="temperature"):
        extract(HELLO, temperature=-1)
    with pytest.raises(InstructorRetryException, match="the API key is wrong"):
        extract(HELLO, address={"api_key": WRONG_KEY})
    with pytest.raises(InstructorRetryException, match="shutting down"):
        extract(HELLO, address={"base_url": f"{draining_url}/v1"})
