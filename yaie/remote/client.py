"""`Client`: a model behind a YAIE server or another OpenAI-compatible server."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from http import HTTPStatus
from typing import Any, Self, TypeVar

from yaie.api.embedding import Embeddings, Texts, join, list_texts
from yaie.api.outputs import RequestOutput, StreamPiece
from yaie.api.prompt_kinds import (
    GrammarLike,
    Message,
    OnePrompt,
    Prompt,
    as_builtin_errors,
    is_conversation,
    is_list_of_prompts,
    naming_index,
    shifting_index,
)
from yaie.api.prompt_output import PromptOutput
from yaie.api.ranking import Ranking, Scores
from yaie.base.errors import ConfigError, InvalidRequest, RequestFailed
from yaie.remote.address import DEFAULT_PORT, base_url, key_of
from yaie.remote.embedding_reply import MOST_TEXTS, read_embeddings
from yaie.remote.ranking_reply import read_ranking, read_scores
from yaie.remote.replies import StreamBroke, as_whole, context_lengths, events_of
from yaie.remote.reply_assembly import GatheredReply, prompt_output_of
from yaie.remote.request_bodies import (
    Question,
    Sampling,
    chat_questions,
    either_body,
    text_questions,
)
from yaie.remote.transport import Exchange, Sender

Messages = str | Sequence[Message]
Pieces = Generator[StreamPiece, None, RequestOutput]
Grammars = GrammarLike | Sequence[GrammarLike | None] | None
Result = TypeVar("Result")


class Client:
    """A server and one of its models. Free it with `close()` or use it as a context manager.

    `url` defaults to YAIE_BASE_URL, else port 8000 on this machine. `api_key` defaults to
    YAIE_API_KEY; a named server may also receive OPENAI_API_KEY. `model` defaults to the first
    model that the server lists.

    `timeout_s` limits the silence of the server within a request. Requests refused with status 429
    or 503 are sent again up to `max_retries` times, after a `Retry-After` of at most 30 s. Lists
    are sent as one request per prompt, `max_concurrent` at a time.

    Any thread may call it. Methods raise the server's refusals as `LLM`'s errors, and
    `EngineUnavailable` without a server. The constructor raises `ConfigError`.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        model: str | None = None,
        *,
        timeout_s: float = 600.0,
        max_retries: int = 3,
        max_concurrent: int = 16,
    ) -> None:
        if not isinstance(max_concurrent, int) or max_concurrent < 1:
            raise ConfigError(
                f"max_concurrent must be a whole number from 1, got {max_concurrent!r:.40}",
                param="max_concurrent",
            )
        named = url or os.environ.get("YAIE_BASE_URL")
        self.url = base_url(named or f"http://127.0.0.1:{DEFAULT_PORT}")
        self.max_concurrent = max_concurrent
        key = key_of(api_key, is_named=named is not None)
        self._sender = Sender(self.url, key, timeout_s, max_retries, max_concurrent)
        self._model = model

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        sampling_params: Sampling | Sequence[Sampling] = None,
        *,
        grammar: Grammars = None,
        **fields: Any,
    ) -> list[RequestOutput]:
        """Continue each prompt; return one output per prompt, in order.

        Prompts are as in `LLM.generate`. `sampling_params` is `SamplingParams` or a mapping of body
        fields; only `max_tokens`, `temperature`, `top_p` and fields that differ from their default
        are sent. `fields` are further body fields, such as `return_token_ids=True`.

        The first refusal is raised, with the index of its prompt, and the remaining requests are
        aborted. If the engine fails on a request, its output has the cause in `error`.
        """
        return self._answers(text_questions(prompts, sampling_params, grammar, fields))

    def chat(
        self,
        messages: Messages | Sequence[Messages],
        sampling_params: Sampling | Sequence[Sampling] = None,
        *,
        grammar: Grammars = None,
        **fields: Any,
    ) -> list[RequestOutput]:
        """Answer one conversation, or each in a list; return one output per conversation.

        Text is one user message. `fields` are body fields, such as `tools` and
        `chat_template_kwargs`. Other arguments and errors are as in `generate`.
        """
        return self._answers(chat_questions(messages, sampling_params, grammar, fields))

    def stream(
        self,
        prompt: Prompt | Sequence[Message],
        sampling_params: Sampling = None,
        *,
        grammar: GrammarLike | None = None,
        **fields: Any,
    ) -> Pieces:
        """Continue one prompt or conversation; yield its pieces, and return the whole output.

        Leaving the loop closes the connection, which aborts the request. The request is sent when
        the first piece is read; then it raises as `generate` does, and `RequestFailed` if the
        engine fails.
        """
        return self.pieces(one_question(prompt, sampling_params, grammar, fields), Exchange())

    def process_prompt(
        self, prompt: OnePrompt | Sequence[OnePrompt], sampling_params: Sampling = None
    ) -> Any:
        """Answer one prompt or conversation, or each in a list.

        A single prompt returns a `PromptOutput`, a list returns a list in its order. Requests are
        streamed, so that times and rates are known. A rejected prompt in a list has the reason in
        `error`. Raises `TypeError` or `ValueError` for a single rejected prompt.
        """
        if not is_list_of_prompts(prompt):
            with as_builtin_errors():
                return self._record(prompt, sampling_params, Exchange())
        works = [partial(self._record_or_refusal, each, sampling_params) for each in prompt]
        return self.each(works) if works else []

    def embed(self, texts: Texts, *, dimensions: int | None = None, **fields: Any) -> Embeddings:
        """Return the vectors of texts, as `LLM.embed` does, in requests of up to 128 texts.

        `fields` are further body fields, such as `prompt_name`.
        """
        works = self.embedding_works(texts, {"dimensions": dimensions, **fields})
        return join(self.each(works) if works else [])

    def embedding_works(
        self, texts: Texts, fields: Mapping[str, Any]
    ) -> list[Callable[[Exchange], Embeddings]]:
        """Return the calls that embed the texts, part by part."""
        listed = list_texts(texts)
        given = {name: each for name, each in fields.items() if each is not None}
        starts = range(0, len(listed), MOST_TEXTS)
        return [partial(self._embed, listed, start, given) for start in starts]

    def _embed(
        self, listed: list[Any], start: int, fields: Mapping[str, Any], call: Exchange
    ) -> Embeddings:
        texts = listed[start : start + MOST_TEXTS]
        inputs = [each if isinstance(each, str) else list(each) for each in texts]
        body = {"input": inputs, "encoding_format": "base64", **fields}
        with shifting_index(start):
            reply = self._ask("/v1/embeddings", body, call)
        try:
            return read_embeddings(reply, len(texts))
        except ValueError:
            raise self._sender.not_openai(
                "its /v1/embeddings returned no vector for some text"
            ) from None

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        top_n: int | None = None,
        call: Exchange | None = None,
        **fields: Any,
    ) -> Ranking:
        """Return the `top_n` best documents for a query, as `LLM.rerank` does.

        `fields` are further body fields, such as `instruction`.
        """
        listed = list(documents)
        if not listed:
            return Ranking([], 0, 0)
        body = {"query": query, "documents": listed, "top_n": top_n, "return_documents": False}
        reply = self._ask("/v1/rerank", _given(body | fields), call or Exchange())
        try:
            return read_ranking(reply, listed)
        except ValueError:
            raise self._sender.not_openai("its /v1/rerank returned no ranking") from None

    def score(
        self,
        text_1: str | Sequence[str],
        text_2: str | Sequence[str],
        *,
        call: Exchange | None = None,
        **fields: Any,
    ) -> Scores:
        """Return the scores of pairs of texts, as `LLM.score` does."""
        first, second = (each if isinstance(each, str) else list(each) for each in (text_1, text_2))
        body = {"text_1": first, "text_2": second}
        reply = self._ask("/v1/score", _given(body | fields), call or Exchange())
        try:
            return read_scores(reply, 1 if isinstance(second, str) else len(second))
        except ValueError:
            raise self._sender.not_openai("its /v1/score returned no scores") from None

    def count_tokens(
        self,
        content: Messages | Prompt,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        call: Exchange | None = None,
    ) -> int:
        """Return the number of prompt tokens that a text or a conversation has."""
        body = either_body(content) | ({} if tools is None else {"tools": list(tools)})
        reply = self._ask("/v1/count_tokens", body, call or Exchange())
        count = as_whole(reply.get("count"))
        if count is None:
            raise self._sender.not_openai("its /v1/count_tokens returned no count")
        return count

    def explain(
        self,
        content: Messages | Prompt,
        *,
        compare_with: Messages | Prompt | None = None,
        call: Exchange | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Return how many prompt tokens are cached, and why the rest is not.

        `compare_with` is another prompt, whose first difference is shown. The keys are as in
        `/v1/cache/explain`.
        """
        body = either_body(content) | fields
        if compare_with is not None:
            body["compare_with"] = either_body(compare_with)
        return self._ask("/v1/cache/explain", body, call or Exchange())

    def models(self, *, call: Exchange | None = None) -> list[str]:
        """Return the names of the server's models."""
        document = self._sender.document("GET", "/v1/models", call or Exchange())
        try:
            return list(context_lengths(document))
        except ValueError:
            raise self._sender.not_openai("/v1/models did not return a list of models") from None

    def health(self, *, call: Exchange | None = None) -> dict[str, Any]:
        """Return the server's state and load, also while it refuses requests."""
        return self._sender.document(
            "GET", "/health", call or Exchange(), accepted=(HTTPStatus.SERVICE_UNAVAILABLE,)
        )

    def close(self) -> None:
        """Close the connections that are kept alive."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, question: Question, call: Exchange) -> RequestOutput:
        """Return the output of one request, which `call` may cancel."""
        gathered = GatheredReply(question, is_streamed=False)
        try:
            reply = self._ask(question.route, question.body, call)
        except RequestFailed as error:
            return gathered.failed(error.message)
        for _ in gathered.take(reply):
            pass
        if not gathered.is_whole:
            raise self._sender.not_openai(f"its {question.route} returned no complete choice")
        return gathered.output()

    def pieces(self, question: Question, call: Exchange) -> Pieces:
        """Yield the pieces of one request, which `call` may cancel; return its output."""
        gathered = GatheredReply(question, is_streamed=True)
        body = self._body(question.body, call) | {
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        with self._sender.sent("POST", question.route, call, body) as reply:
            try:
                for event in events_of(reply):
                    if event.get("error"):  # some servers send "error": null in every event
                        raise self._sender.stream_error(event["error"])
                    yield from gathered.take(event)
            except StreamBroke as broke:
                call.check()
                raise self._sender.broken(str(broke)) from broke
        if not gathered.is_whole:
            raise self._sender.broken("a choice has no finish reason")
        return gathered.output()

    def each(self, works: Sequence[Callable[[Exchange], Result]]) -> list[Result]:
        """Return the results of several calls, `max_concurrent` at a time; a failure cuts all."""
        if len(works) == 1:
            return [works[0](Exchange())]
        calls = [Exchange() for _ in works]
        with ThreadPoolExecutor(self.max_concurrent, thread_name_prefix="yaie-call") as threads:
            results = [threads.submit(work, call) for work, call in zip(works, calls, strict=True)]
            try:
                done, _ = wait(results, return_when=FIRST_EXCEPTION)
                for result in done:
                    result.result()
                return [result.result() for result in results]
            finally:  # also for Ctrl-C
                for call in calls:
                    call.cancel()

    def numbered(self, questions: Sequence[Question]) -> list[Callable[[Exchange], RequestOutput]]:
        """Return the calls that answer the questions; their refusals name the index."""
        return [
            partial(self._number, index, len(questions), question)
            for index, question in enumerate(questions)
        ]

    def _number(self, index: int, count: int, question: Question, call: Exchange) -> RequestOutput:
        with naming_index(index, count):
            return self.answer(question, call)

    def _answers(self, questions: Sequence[Question]) -> list[RequestOutput]:
        return self.each(self.numbered(questions)) if questions else []

    def _stream(self, question: Question, call: Exchange) -> RequestOutput:
        pieces = self.pieces(question, call)
        while True:
            try:
                next(pieces)
            except StopIteration as end:
                output: RequestOutput = end.value
                return output

    def _record_or_refusal(
        self, prompt: object, sampling: Sampling, call: Exchange
    ) -> PromptOutput:
        try:
            return self._record(prompt, sampling, call)
        except InvalidRequest as error:
            return PromptOutput.refused(error.message)

    def _record(self, prompt: object, sampling: Sampling, call: Exchange) -> PromptOutput:
        question = one_question(prompt, sampling, None, {})
        try:
            return prompt_output_of(self._stream(question, call))
        except RequestFailed as error:
            return PromptOutput.refused(error.message)

    def _ask(self, route: str, body: Mapping[str, Any], call: Exchange) -> dict[str, Any]:
        return self._sender.document("POST", route, call, self._body(body, call))

    def _body(self, body: Mapping[str, Any], call: Exchange) -> dict[str, Any]:
        if self._model is None:
            listed = self.models(call=call)
            if not listed:
                raise self._sender.not_openai("the server lists no models")
            self._model = listed[0]
        return {"model": self._model, **body}


def one_question(
    prompt: Any, sampling: Sampling, grammar: GrammarLike | None, fields: Mapping[str, Any]
) -> Question:
    """Return the request of one prompt or one conversation. Raises `InvalidRequest`."""
    if is_conversation(prompt):
        (question,) = chat_questions(prompt, sampling, grammar, fields)
        return question
    if is_list_of_prompts(prompt):
        raise InvalidRequest(
            "stream takes one prompt or one conversation of messages with a role; for a list of "
            "them call generate or chat",
            param="prompt",
        )
    (question,) = text_questions(prompt, sampling, grammar, fields)
    return question


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
