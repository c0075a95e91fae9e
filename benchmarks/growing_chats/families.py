"""The built-in model with the chat templates and markers of other families, for growing chats.

Each folder has the built-in weights. Markers are separate tokens, as in the families: they use the
ids of the built-in tokenizer's rarest tokens.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaie.models.builtin import BUILTIN_MODEL_DIR

_TEMPLATES = Path(__file__).with_name("templates")
_END_ID = 2  # the built-in model's end of a turn; families name it differently
_BEGIN_ID = 1  # and the beginning of one


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFamily:
    """Chat template and markers of a model family."""

    begin: str = "<|im_start|>"
    end: str = "<|im_end|>"
    bos: str | None = None
    marks: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()  # markers hidden in decoded text, like special tokens


FAMILIES = {
    "qwen3": TemplateFamily(marks=("<think>", "</think>")),
    "llama3": TemplateFamily(
        begin="<|start_header_id|>",
        end="<|eot_id|>",
        bos="<|begin_of_text|>",
        marks=("<think>", "</think>"),
        hidden=("<|end_header_id|>", "<|python_tag|>"),
    ),
    "mistral": TemplateFamily(
        begin="[INST]",
        end="</s>",
        bos="<s>",
        hidden=(
            "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]",
            "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[ARGS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]",
            "[THINK]", "[/THINK]",
        ),
    ),
    "chatml": TemplateFamily(marks=("<think>", "</think>")),
}  # fmt: skip


def write_model(family: str, folder: Path) -> Path:
    """Write the built-in model with a family's template; return the folder."""
    marks = FAMILIES[family]
    left_out = shutil.ignore_patterns("*.py", "*.md", "__pycache__")
    shutil.copytree(BUILTIN_MODEL_DIR, folder, ignore=left_out)
    shutil.copyfile(_TEMPLATES / f"{family}_like.jinja", folder / "chat_template.jinja")
    _edit(folder / "tokenizer.json", lambda tokenizer: _with_marks(tokenizer, marks))
    bos = {"bos_token": marks.bos} if marks.bos else {}
    _edit(folder / "tokenizer_config.json", lambda about: about | bos | {"eos_token": marks.end})
    return folder


def _edit(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def _with_marks(tokenizer: dict[str, Any], family: TemplateFamily) -> dict[str, Any]:
    """Return a tokenizer whose last and rarest tokens are replaced by a family's markers."""
    hidden = (*family.hidden, *((family.bos,) if family.bos else ()))
    added = [*((mark, False) for mark in family.marks), *((mark, True) for mark in hidden)]
    model, tokens = tokenizer["model"], tokenizer["added_tokens"]
    by_rank = sorted(model["vocab"], key=model["vocab"].__getitem__)
    freed = by_rank[len(by_rank) - len(added) :]
    renamed = {_BEGIN_ID: family.begin, _END_ID: family.end}
    for token in tokens:
        if token["id"] in renamed:
            del model["vocab"][token["content"]]
            token["content"] = renamed[token["id"]]
            model["vocab"][token["content"]] = token["id"]
    for name, (mark, is_hidden) in zip(freed, added, strict=True):
        tokens.append({**tokens[0], "id": model["vocab"].pop(name), "content": mark,
                       "special": is_hidden})  # fmt: skip
    tokens.sort(key=lambda token: token["id"])
    model["merges"] = [pair for pair in model["merges"] if "".join(pair) not in freed]
    return tokenizer
