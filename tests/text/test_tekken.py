"""Mistral's own tokenizer file, `tekken.json`, in folders without `tokenizer.json`."""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from yaie.base.errors import ModelUnsupported
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import load_tokenizer

SPECIAL = ("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "<pad>")
NUM_SPECIAL = 10  # the others are placeholders
MERGED = (b"th", b"the", b" th", b" the", b"in", b"ing", b" r", "é".encode())
PATTERN = r" ?[a-zé]+|\s+|[^a-zé\s]+"
TEMPLATE = "{{ '<s>' }}{% for m in messages %}[INST]{{ m['content'] }}[/INST]{% endfor %}"


def write_tekken(folder: Path) -> list[bytes]:
    """Write the file and a chat template; return the tokens by rank."""
    tokens = [*(bytes([byte]) for byte in range(256)), *MERGED]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    special = [
        {"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(SPECIAL)
    ]
    config = {
        "pattern": PATTERN,
        "num_vocab_tokens": len(vocab),
        "default_vocab_size": len(vocab) + NUM_SPECIAL - 1,  # the last token is beyond it
        "default_num_special_tokens": NUM_SPECIAL,
        "version": "v11",
    }
    content = {"config": config, "vocab": vocab, "special_tokens": special}
    (folder / "tekken.json").write_text(json.dumps(content))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return tokens[:-1]


def encode(text: str, tokens: list[bytes]) -> list[int]:
    """Join the pair of the lowest rank until none is left, word by word."""
    rank = {token: at for at, token in enumerate(tokens)}
    found = []
    for word in re.findall(PATTERN, text):
        parts = [bytes([byte]) for byte in word.encode()]
        while True:
            pairs = [(rank.get(a + b, len(rank)), at) for at, (a, b) in enumerate(pairwise(parts))]
            best, at = min(pairs, default=(len(rank), 0))
            if best == len(rank):
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        found += [rank[part] + NUM_SPECIAL for part in parts]
    return found


@pytest.mark.integration
def test_tekken_is_read(tmp_path: Path) -> None:
    tokens = write_tekken(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    for text in ("the ring in the thing", "é then 12\n\n the", "日本 ing"):
        expected = encode(text, tokens)
        assert any(len(tokens[token - NUM_SPECIAL]) > 1 for token in expected)
        assert tokenizer.encode(text) == [1, *expected]
    rendered = ChatTemplate(tokenizer).render([{"role": "user", "content": "the"}])
    assert list(rendered) == [1, 3, *encode("the", tokens), 4]


@pytest.mark.integration
def test_a_file_of_the_first_form_names_the_package_that_reads_it(tmp_path: Path) -> None:
    write_tekken(tmp_path)
    content = json.loads((tmp_path / "tekken.json").read_text())
    del content["special_tokens"]
    (tmp_path / "tekken.json").write_text(json.dumps(content))
    with pytest.raises(ModelUnsupported, match="mistral-common"):
        load_tokenizer(tmp_path)
