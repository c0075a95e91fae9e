"""`PooledMethods`: `LLM` methods whose requests end after their prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from yaie.api.embedding import Embeddings, Texts
from yaie.api.embedding_call import EmbeddingCall
from yaie.api.local_engine import LocalEngine
from yaie.api.prompt_progress import ShowProgress, progress_bar
from yaie.api.ranking import Ranking, Scores
from yaie.api.ranking_call import RankingCall, check_ranking
from yaie.api.request_maker import CallOptions
from yaie.text.answer import Answer


class PooledMethods(LocalEngine):
    """Vectors of texts, and scores of documents."""

    def embed(
        self,
        texts: Texts,
        *,
        prompt_name: str | None = None,
        dimensions: int | None = None,
        truncate: bool = False,
        progress: ShowProgress = True,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> Embeddings:
        """Return the vectors of texts, by an embedding model or with the setting `pooling`.

        A text is a string or a list of token ids. `prompt_name` names the model's prompt before
        each text, such as "query". `dimensions` keeps the first numbers of each vector, and
        `truncate` cuts strings beyond the context. Raises `InvalidRequest` for a wrong text, and
        the error of the engine.
        """
        self._require_open()
        call = EmbeddingCall(
            self._maker,
            texts,
            prompt_name=prompt_name,
            dimensions=dimensions,
            truncate=truncate,
            options=CallOptions(cache_salt, priority, lora),
        )
        self._run_pooled(call.answers, progress)
        return call.result()

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        top_n: int | None = None,
        instruction: str | None = None,
        truncate: bool = False,
        progress: ShowProgress = True,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> Ranking:
        """Return the `top_n` best documents for a query, or all, best first, by a reranker.

        The query is computed once. `instruction` says what makes a document relevant, for models
        that read one. `truncate` cuts documents beyond the context. Raises `InvalidRequest` for a
        wrong query, document or `top_n`, and the error of the engine.
        """
        self._require_open()
        check_ranking(query, top_n)
        options = CallOptions(cache_salt, priority, lora)
        call = RankingCall(
            self._maker,
            query,
            documents,
            instruction=instruction,
            truncate=truncate,
            options=options,
        )
        self._run_pooled(call.answers, progress)
        return call.ranking(top_n)

    def score(
        self,
        text_1: str | Sequence[str],
        text_2: str | Sequence[str],
        *,
        instruction: str | None = None,
        truncate: bool = False,
        progress: ShowProgress = True,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> Scores:
        """Return the scores of one query and each document, or of two lists, by a reranker.

        Other arguments and errors are as in `rerank`.
        """
        self._require_open()
        options = CallOptions(cache_salt, priority, lora)
        call = RankingCall(
            self._maker,
            text_1,
            text_2,
            instruction=instruction,
            truncate=truncate,
            options=options,
        )
        self._run_pooled(call.answers, progress)
        return call.scores()

    def _run_pooled(self, answers: Mapping[str, Answer], progress: ShowProgress) -> None:
        with closing(self._grow(answers)) as deltas, progress_bar(len(answers), progress) as show:
            for delta in deltas:
                show(0, answers[delta.request_id].is_over)
