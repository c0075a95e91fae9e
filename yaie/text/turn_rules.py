"""`TurnRules`: the orders of roles that a chat template takes, found by rendering short ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yaie.text.contents import ContentForms, Render

_ROLES = {"s": "system", "u": "user", "a": "assistant", "c": "assistant", "t": "tool"}


@dataclass(frozen=True, slots=True)
class TurnRules:
    """Orders that a template shows without an error and without a loss; by default all."""

    system: bool = True  # a first system message
    several_systems: bool = True  # before the other turns
    late_system: bool = True  # anywhere
    user_after_user: bool = True
    assistant_after_assistant: bool = True
    assistant_first: bool = True
    user_after_tool: bool = True
    several_calls: bool = True  # in one turn


def find_rules(render: Render, forms: Mapping[str, ContentForms]) -> TurnRules:
    """Return a template's rules. One that fails on plain conversations gets the default."""

    def takes(letters: str) -> bool:
        conversation, words = _make_conversation(letters, forms)
        text = render(conversation)
        return all(word in text for word in words)

    if not (takes("u") and takes("uau")):
        return TurnRules()
    system = takes("su")
    return TurnRules(
        system=system,
        several_systems=system and takes("ssu"),
        late_system=system and takes("us") and takes("suasu"),
        user_after_user=takes("uu"),
        assistant_after_assistant=takes("uaau"),
        assistant_first=takes("sau" if system else "au") and takes("au"),
        user_after_tool=takes("uctu") or not takes("uctau"),
        several_calls=takes("uCtt") or not takes("uct"),
    )


def _make_conversation(
    letters: str, forms: Mapping[str, ContentForms]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a conversation by the letters of its roles, and the words that it must show.

    `c` is a call, and `C` two.
    """
    conversation, words = [], []
    for at, letter in enumerate(letters):
        role, word = _ROLES[letter.lower()], f"qaturn{at}x"
        message: dict[str, Any] = {"role": role}
        if letter in "cC":
            word = ""
            names = ["qacall0x", "qacall1x"][: 1 if letter == "c" else 2]
            message["tool_calls"] = [
                {
                    "id": f"qaturn{number}id",
                    "type": "function",
                    "function": {"name": name, "arguments": {}},
                }
                for number, name in enumerate(names)
            ]
            words += names
        if letter == "t":
            message["tool_call_id"] = f"qaturn{int(letters[at - 1] == 't')}id"
        message["content"] = forms.get(role, ContentForms()).fit(word, None)
        conversation.append(message)
        words.append(word)
    return conversation, words
