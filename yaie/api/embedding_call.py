"""`EmbeddingCall`: texts as requests, and their answers as vectors."""

from __future__ import annotations

from yaie.api.embedding import Embeddings, Texts, is_list_of_ids, list_texts, stack
from yaie.api.prompt_kinds import naming_entry
from yaie.api.prompts import ReadPrompt
from yaie.api.request_maker import CallOptions, RequestMaker
from yaie.base.errors import YaieError
from yaie.text.answer import Answer
from yaie.text.embeddings import Embedder


class EmbeddingCall:
    """The texts of one call. `answers` by request id, to be grown by an engine."""

    def __init__(
        self,
        maker: RequestMaker,
        texts: Texts,
        *,
        prompt_name: str | None,
        dimensions: int | None,
        truncate: bool,
        options: CallOptions,
    ) -> None:
        """Raises `InvalidRequest`; a wrong text of a list is named by its index."""
        self._embedder = Embedder(maker.tokenizer, maker.info)
        self._embedder.check_dimensions(dimensions)
        self._dimensions = dimensions
        prompt = self._embedder.prompt(prompt_name)
        self.answers: dict[str, Answer] = {}
        listed = list_texts(texts)
        is_list = not (isinstance(texts, str) or is_list_of_ids(texts))
        for index, text in enumerate(listed):
            name = f"input[{index}]" if is_list else "input"
            with naming_entry(name):
                if isinstance(text, str):
                    ids = self._embedder.encode(text, prompt, truncates=truncate, name=name)
                    read = ReadPrompt(text, tuple(ids))
                else:
                    read = maker.reader.read_prompt(text)
                request = maker.pooled(read, self._embedder.pooling, options)
                self.answers[request.request_id] = maker.answer(request, read)

    def result(self) -> Embeddings:
        """Return the vectors, once every answer is over. Raises the engine's first error."""
        answers = self.answers.values()
        for answer in answers:
            if answer.error is not None:
                raise YaieError.from_wire(answer.error)
        vectors = [self._embedder.vector(answer.pooled, self._dimensions) for answer in answers]
        return Embeddings(
            stack(vectors),
            sum(answer.usage.prompt_tokens for answer in answers),
            sum(answer.usage.cached_tokens for answer in answers),
        )
