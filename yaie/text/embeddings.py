"""Embeddings: texts as the tokens that a model embeds, and its pooled rows as vectors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from yaie.base.embedding_info import EmbeddingInfo, Pooling
from yaie.base.errors import InvalidRequest, RequestFailed
from yaie.base.model_tasks import embedding_of
from yaie.base.types import EngineInfo
from yaie.text.tokenizer import Tokenizer, encode_start, too_long

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_DOCUMENTS = ("document", "passage", "search_document")  # names of a prompt before documents


class Embedder:
    """The text side of one embedding model."""

    def __init__(self, tokenizer: Tokenizer, info: EngineInfo) -> None:
        """Raises `InvalidRequest` for a model that makes no embeddings."""
        self._tokenizer = tokenizer
        self._info = info
        self._how = embedding_of(info)
        hf = tokenizer.hf
        adds_end = bool(getattr(hf, "init_kwargs", {}).get("add_eos_token"))
        self._end = tokenizer.eos_token_id if adds_end else None

    @property
    def pooling(self) -> Pooling:
        """The model's pooling."""
        return self._how.pooling

    @property
    def has_document_prompt(self) -> bool:
        """True if documents have a prompt, or texts have one by default."""
        how = self._how
        return how.default_prompt is not None or any(map(how.prompts.get, _DOCUMENTS))

    def prompt(self, name: str | None) -> str:
        """Return the text before texts by the prompt's name. Raises `InvalidRequest`."""
        how = self._how
        name = how.default_prompt if name is None else name
        if name is None:
            return ""
        if name not in how.prompts:
            known = ", ".join(map(repr, how.prompts)) or "none"
            raise InvalidRequest(
                f"prompt_name is {name[:80]!r}; this model's prompts are: {known}",
                param="prompt_name",
            )
        return how.prompts[name]

    def encode(
        self, text: str, prompt: str = "", *, truncates: bool = False, name: str = "input"
    ) -> list[int]:
        """Return the token ids of a prompt and a text, with the tokenizer's special tokens.

        `truncates` cuts the end of a text beyond the context, before a last special token. Raises
        `InvalidRequest`, or `ContextLengthExceeded`; `name` is the text's name in errors.
        """
        longest = self._info.max_model_len
        encode = partial(self._tokenizer.encode, name=name, kind="text")
        if truncates:
            ids = encode_start(encode, prompt + text, longest)
        else:
            ids = encode(prompt + text, max_tokens=longest)
        if self._end is not None and ids[-1:] != [self._end]:
            ids.append(self._end)
        if len(ids) > longest:
            if not truncates:
                raise too_long(name, len(ids), longest, "text")
            last = ids[-1:] if ids[-1] in self._tokenizer.special_ids else []
            ids = ids[: longest - len(last)] + last
        return ids

    def check_dimensions(self, dimensions: int | None) -> None:
        """Raise `InvalidRequest` unless vectors can be cut to this many numbers."""
        if dimensions is not None and not 1 <= dimensions <= self._how.size:
            raise InvalidRequest(
                f"dimensions must be between 1 and {self._how.size}, got {dimensions}",
                param="dimensions",
            )

    def vector(self, pooled: bytes, dimensions: int | None = None) -> Vector:
        """Return a pooled row as a vector: its first `dimensions` numbers, normalized again."""
        return vector_of(pooled, self._how, dimensions)


def vector_of(pooled: bytes, how: EmbeddingInfo, dimensions: int | None) -> Vector:
    """Return a pooled row as a vector: its first `dimensions` numbers.

    They are normalized again where the model's vectors are. Raises `RequestFailed` for an aborted
    text, which has no row.
    """
    import numpy as np  # programs import `LLM` without it

    if not pooled:
        raise RequestFailed("a text was aborted before its vector was computed", code="aborted")
    vector: Vector = np.frombuffer(pooled, dtype="<f4")[:dimensions].astype(np.float32)
    if how.normalizes:
        vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
    return vector
