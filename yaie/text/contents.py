"""Message contents: their texts, and the format that a chat template reads: text or parts.

Templates of vision models often iterate over parts and skip string content. The format is found by
rendering two words, since the template source does not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter

Render = Callable[[list[dict[str, Any]]], str]  # returns "" if the template fails
Content = str | list[dict[str, str]]

_WORDS = ("qafirst", "qasecond")
_OTHER = "qaother"
# A lone system message may fail, and an answer needs a question.
_BEFORE = {"assistant": ("user",), "tool": ("user", "assistant"), "function": ("user",)}


def content_text(content: object, where: str) -> str:
    """Return the text of a message's content; `where` names it in errors.

    Raises `InvalidRequest` or `UnsupportedParameter`.
    """
    return "\n".join(content_texts(content, where))


def content_texts(content: object, where: str) -> list[str]:
    """Return the texts in a content's parts, or the string itself. Raises as `content_text`."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, Sequence):
        raise InvalidRequest(f"{where} must be a string or a list of parts", param=where)
    texts = []
    for at, part in enumerate(content):
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, Mapping):
            raise InvalidRequest(f"{where}[{at}] must be an object", param=f"{where}[{at}]")
        kind = part.get("type")
        if kind == "refusal" and isinstance(part.get("refusal"), str):
            texts.append(part["refusal"])  # an assistant's refusal
            continue
        if kind is None:
            raise InvalidRequest(
                f'{where}[{at}].type is missing; send {{"type": "text", "text": ...}}',
                param=f"{where}[{at}].type",
            )
        if kind != "text":
            raise UnsupportedParameter(
                f"{where}[{at}].type is {str(kind)[:40]!r}; this model is served for text "
                "only, so send parts of type 'text'",
                param=f"{where}[{at}].type",
            )
        text = part.get("text")
        if not isinstance(text, str):
            raise InvalidRequest(
                f"{where}[{at}].text must be a string", param=f"{where}[{at}].text"
            )
        texts.append(text)
    return texts


@dataclass(frozen=True, slots=True)
class ContentForms:
    """The content formats that a template shows for one role."""

    text: bool = True
    parts: bool = False  # all of a list
    first_part: bool = False

    def fit(self, text: str, given: Sequence[str] | None) -> Content:
        """Return a content in a format that the template shows.

        `text` is the whole content, and `given` the texts of its parts if it came as a list.
        """
        if given is not None and self.parts:
            return as_parts(given)
        is_listed = not self.text and (self.parts or self.first_part)
        return as_parts([text]) if is_listed else text


def as_parts(texts: Sequence[str]) -> list[dict[str, str]]:
    """Return texts as content parts."""
    return [{"type": "text", "text": text} for text in texts]


def forms_of_roles(render: Render, roles: Sequence[str]) -> dict[str, ContentForms]:
    """Return the content formats that a template shows, by role; roles begin with "user"."""
    found: dict[str, ContentForms] = {}
    for role in roles:
        whole = " ".join(_WORDS)
        found[role] = ContentForms(
            text=_is_shown(render, role, whole, found),
            parts=_is_shown(render, role, as_parts(_WORDS), found),
            first_part=_is_shown(render, role, as_parts([whole]), found),
        )
    return found


def _is_shown(
    render: Render, role: str, content: Content, forms: Mapping[str, ContentForms]
) -> bool:
    """Return True if the prompt contains both words, and not as a Python repr."""
    before = [
        {"role": other, "content": forms.get(other, ContentForms()).fit(_OTHER, None)}
        for other in _BEFORE.get(role, ())
    ]
    after = [] if role != "system" else [{"role": "user", "content": _fit_user(forms)}]
    text = render([*before, {"role": role, "content": content}, *after])
    return all(word in text for word in _WORDS) and not any(
        f"{quote}{word}{quote}" in text for word in _WORDS for quote in "'\""
    )


def _fit_user(forms: Mapping[str, ContentForms]) -> Content:
    return forms.get("user", ContentForms()).fit(_OTHER, None)
