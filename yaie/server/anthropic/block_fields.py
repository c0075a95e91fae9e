"""Fields of one block of `/v1/messages`, checked, and the texts of blocks that are text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter

Block = dict[str, Any]
# Members of a server tool's result that a model can read, in their order.
_READABLE = (
    "title", "url", "text", "stdout", "stderr", "content", "source", "data", "lines",
    "tool_references", "tool_name", "error_code", "error_message",
)  # fmt: skip


def read_kind(block: object, where: str) -> str:
    """Return the type of a block."""
    if not isinstance(block, dict):
        raise InvalidRequest(f"{where} must be an object", param=where)
    return read_string(block, "type", where)


def read_string(block: Block, name: str, where: str) -> str:
    """Return a field that must be a string."""
    value = block.get(name)
    if not isinstance(value, str):
        raise InvalidRequest(f"{where}.{name} must be a string", param=f"{where}.{name}")
    return value


def read_text(block: Block, where: str) -> str | None:
    """Return the text of a block that is text; None for a block of another type."""
    read = _TEXTS.get(read_kind(block, where))
    return None if read is None else read(block, where)


def read_texts(blocks: object, where: str) -> list[str]:
    """Return the texts of blocks that must all be text."""
    if not isinstance(blocks, list):
        raise InvalidRequest(f"{where} must be a string or a list of blocks", param=where)
    texts = []
    for at, block in enumerate(blocks):
        text = read_text(block, f"{where}[{at}]")
        if text is None:
            raise refuse(block["type"], f"{where}[{at}]", "'text' here")
        texts.append(text)
    return texts


def join_texts(content: object, where: str) -> str:
    """Return a string, or the texts of blocks that must all be text, each on a line."""
    return content if isinstance(content, str) else "\n".join(read_texts(content, where))


def refuse(kind: str, where: str, read: str) -> UnsupportedParameter:
    """Return the error of a block that a model cannot read."""
    return UnsupportedParameter(
        f"{where}.type is {kind[:40]!r}; this model reads {read}", param=f"{where}.type"
    )


def result_text(content: object) -> str:
    """Return the readable texts in the result of a tool that a server ran."""
    texts, waiting = [], [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, dict):
            waiting += [value[name] for name in reversed(_READABLE) if name in value]
    return "\n".join(filter(None, texts))


def _plain(block: Block, where: str) -> str:
    return read_string(block, "text", where)


def _document(block: Block, where: str) -> str:
    """Return a document given as text or as text blocks, after its title and context."""
    source = block.get("source")
    inner = f"{where}.source"
    kind = read_kind(source, inner)
    assert isinstance(source, dict)
    if kind == "text":
        text = read_string(source, "data", inner)
    elif kind == "content":
        text = join_texts(source.get("content"), f"{inner}.content")
    else:
        raise UnsupportedParameter(
            f"{where}.type is 'document' with a source of type {kind[:40]!r}; this model reads "
            "sources of type 'text' and 'content'",
            param=f"{inner}.type",
        )
    about = [block[name] for name in ("title", "context") if isinstance(block.get(name), str)]
    return "\n".join([*filter(None, about), text])


def _search_result(block: Block, where: str) -> str:
    head = [read_string(block, name, where) for name in ("title", "source")]
    return "\n".join([*filter(None, head), join_texts(block.get("content"), f"{where}.content")])


def _tool_reference(block: Block, where: str) -> str:
    return read_string(block, "tool_name", where)


_TEXTS: Mapping[str, Callable[[Block, str], str]] = {
    "text": _plain,
    "document": _document,
    "search_result": _search_result,
    "tool_reference": _tool_reference,
}
