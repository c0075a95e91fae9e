"""Answers from a running server through its OpenAI API."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import EngineUnavailable, InvalidRequest
from yaie.base.types import Grammar, Usage
from yaie.cli.answers import AnswerStream, FinishedAnswer, Question, ReasoningOnScreen
from yaie.cli.failures import FAILED, SERVER_UNREACHABLE, USAGE, usage_error
from yaie.cli.options import read_base
from yaie.cli.sampling_options import SamplingOptions, default_sampling
from yaie.remote.address import KEY_REFUSED, open_session
from yaie.remote.replies import (
    StreamBroke,
    as_object,
    context_lengths,
    error_of,
    events_of,
    recommended_sampling,
    root_cause,
    usage_of,
)
from yaie.remote.request_bodies import fields_of

if TYPE_CHECKING:
    import requests

_CONNECT_S = 5.0
# Other statuses from 400 to 499 blame the request. These may succeed when sent again.
_EXIT_CODES = {404: 3, 408: FAILED, 429: FAILED, 503: SERVER_UNREACHABLE}
_NO_SUCH_ROUTE = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
# An error inside a stream has a type, but no status.
_STATUSES = {kind.type: kind.status for kind in (InvalidRequest, EngineUnavailable)}


class ServerAnswers:
    """A model behind an OpenAI-compatible server.

    Raises `AdvisedError`: with exit code 5 for a server that is unreachable or not an OpenAI
    server, with the server's message for a refusal, with exit code 2 for a malformed `url`.
    """

    def __init__(self, url: str, model: str | None = None, *, key: str | None = None) -> None:
        self.explains_cache = False  # request a cache explanation with each answer
        # The fix for a key that the server refuses.
        self.key_advice = "--api-key (or YAIE_API_KEY) with a key of that server, or --local"
        self.url = read_base(url)
        self._http = open_session(self.url, key)
        self._recommended: dict[str, Any] | None = None  # by model, once the models were listed
        self._model = model or self._first_model()

    @property
    def name(self) -> str:
        """The model and the server's address."""
        return f"{self._model} at {self.url}"

    @property
    def sampling(self) -> dict[str, float]:
        """The sampling that a YAIE server reports, else ours; empty for other servers.

        Empty also for a model that is not loaded yet.
        """
        if self._recommended is None:
            try:
                self._context_lengths()
            except AdvisedError:  # the answer's own request tells what is wrong
                self._recommended = {}
        known = (self._recommended or {}).get(self._model)
        return {} if known is None else default_sampling(known)

    def models(self) -> list[str]:
        """Return the names of the server's models."""
        return list(self._context_lengths())

    def use_model(self, name: str) -> None:
        """Answer with another model of the server from now on."""
        models = self.models()
        if name not in models:
            raise usage_error(
                f"{self.url} does not serve {name}", advice=f"/model {models[0]}" if models else ""
            )
        self._model = name

    def stream(
        self, question: Question, options: SamplingOptions, grammar: Grammar | None = None
    ) -> AnswerStream:
        """Begin an answer; the request is sent when the first piece is read."""
        return AnswerStream(
            self._pieces(
                question,
                {**self.sampling, **options.given(), **fields_of(grammar)},
                options.shrinks_to_fit,
            )
        )

    def settle(self) -> None:
        """Do nothing: the server keeps running."""

    def get(self, route: str) -> dict[str, Any]:
        """Return the JSON object at a path."""
        return self._object("GET", route)

    def post(
        self, route: str, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the JSON object with which the server answers a body."""
        return self._object("POST", route, json=body, headers=headers)

    def events(self, route: str) -> Iterator[dict[str, Any]]:
        """Yield the events at a path until the server ends them. Raises `StreamBroke`."""
        with self._send("GET", route, stream=True) as reply:
            yield from events_of(reply)

    def _object(self, method: str, route: str, **options: Any) -> dict[str, Any]:
        try:
            return as_object(self._send(method, route, **options).json())
        except ValueError:
            raise self._not_openai(f"{route} did not return JSON") from None

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _pieces(
        self, question: Question, fields: dict[str, Any], shrinks_to_fit: bool
    ) -> Generator[str, None, FinishedAnswer]:
        raw = isinstance(question, str)
        body: dict[str, Any] = {
            "model": self._model,
            **({"prompt": question} if raw else {"messages": question}),
            **fields,
            **({"explain_cache": True} if self.explains_cache else {}),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        route = "/v1/completions" if raw else "/v1/chat/completions"
        began = time.perf_counter()
        first_s: float | None = None
        reasoning = ReasoningOnScreen()
        explanation: dict[str, Any] | None = None
        text, reason, usage = "", "", Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0)
        try:
            with self._begin(route, body, shrinks_to_fit) as reply:
                for event in self._events(reply):
                    for choice in event.get("choices") or ():
                        whole = as_object(choice)
                        part = whole if raw else as_object(whole.get("delta"))
                        piece = part.get("text" if raw else "content")
                        reason = whole.get("finish_reason") or reason
                        thought = part.get("reasoning_content")
                        if (piece or thought) and first_s is None:
                            first_s = time.perf_counter() - began
                        if thought and isinstance(thought, str):
                            reasoning.show(thought)
                        if piece and isinstance(piece, str):
                            reasoning.show("")
                            text += piece
                            yield piece
                    if event.get("usage"):
                        usage = usage_of(event["usage"])
                        explanation = as_object(event["usage"]).get("cache_explanation")
            if not reason:
                raise StreamBroke("the stream ended without a finish reason")
        except StreamBroke as broke:
            raise self._unreachable(str(broke), in_answer=bool(text)) from broke.__cause__
        total_s = time.perf_counter() - began
        return FinishedAnswer(
            text=text,
            finish_reason=reason,
            usage=usage,
            first_token_s=total_s if first_s is None else first_s,
            total_s=total_s,
            model=self._model,
            place=self.url,
            explanation=explanation,
        )

    def _begin(self, route: str, body: dict[str, Any], shrinks_to_fit: bool) -> requests.Response:
        try:
            return self._send("POST", route, json=body, stream=True)
        except AdvisedError as refusal:
            if not shrinks_to_fit or refusal.code != "context_length_exceeded":
                raise
            del body["max_tokens"]  # a chat may then use the rest of the context
            if "prompt" in body:
                body |= self._room_for_text(body["prompt"])
            return self._send("POST", route, json=body, stream=True)

    def _room_for_text(self, prompt: str) -> dict[str, int]:
        """Return the rest of the context as max_tokens, since completions default to a few tokens.

        The server counts the prompt's tokens. Returns {} if it does not report its context length.
        """
        longest = self._context_lengths().get(self._model)
        if longest is None:
            return {}
        counted = {"model": self._model, "prompt": prompt, "max_tokens": 1}
        try:
            reply = as_object(self._send("POST", "/v1/completions", json=counted).json())
        except ValueError:  # not JSON
            return {}
        prompt_tokens = usage_of(reply.get("usage")).prompt_tokens
        return {"max_tokens": longest - prompt_tokens} if prompt_tokens else {}

    def _events(self, reply: requests.Response) -> Iterator[dict[str, Any]]:
        for event in events_of(reply):
            if event.get("error"):  # some servers send "error": null in every event
                raise self._read_refusal(_exit_code_in_stream(event["error"]), event["error"])
            yield event

    def _first_model(self) -> str:
        models = self._context_lengths()
        if not models:
            raise self._unreachable("the server lists no models")
        return next(iter(models))

    def _context_lengths(self) -> dict[str, int | None]:
        """Return each model's context length, or None if the server does not report it."""
        reply = self._send("GET", "/v1/models")
        try:
            document = reply.json()
            lengths = context_lengths(document)
            self._recommended = recommended_sampling(document)
        except ValueError:
            raise self._not_openai("/v1/models did not return a list of models") from None
        return lengths

    def _send(self, method: str, route: str, **options: Any) -> requests.Response:
        import requests

        try:
            reply = self._http.request(
                method, self.url + route, timeout=(_CONNECT_S, None), **options
            )
        except requests.RequestException as error:
            raise self._unreachable(root_cause(error)) from error
        if reply.ok:
            return reply
        detail = error_of(reply)
        if not detail and reply.status_code in _NO_SUCH_ROUTE:
            raise self._not_openai(f"it answered {method} {route} with HTTP {reply.status_code}")
        raise self._read_refusal(
            _exit_code(reply.status_code),
            detail or f"HTTP {reply.status_code}: {reply.text[:200]}",
            refuses_key=reply.status_code in KEY_REFUSED,
        )

    def _read_refusal(
        self, exit_code: int, detail: Any, *, refuses_key: bool = False
    ) -> AdvisedError:
        detail = detail if isinstance(detail, dict) else {"message": str(detail)}
        advice = "again in a moment, or --local" if exit_code == SERVER_UNREACHABLE else ""
        if refuses_key:
            advice = self.key_advice
        if detail.get("code") == "model_not_found":
            advice = "omit -m to use the served model, or --local to load a model here"
        return AdvisedError(
            str(detail.get("message") or detail),
            why=f"reply of the server at {self.url}",
            advice=advice,
            param=str(detail.get("param") or ""),
            code=str(detail.get("code") or "refused"),
            exit_code=exit_code,
        )

    def _not_openai(self, why: str) -> AdvisedError:
        return AdvisedError(
            f"{self.url} is not an OpenAI-compatible server",
            why=why,
            advice="another --url, or --local to answer in this process",
            code="server-unreachable",
            exit_code=SERVER_UNREACHABLE,
        )

    def _unreachable(self, why: str, *, in_answer: bool = False) -> AdvisedError:
        what = "the answer is incomplete" if in_answer else "no answer from the server"
        return AdvisedError(
            f"{what} at {self.url}",
            why=why,
            advice="yaie serve    (to start one), or --local to answer in this process",
            code="server-unreachable",
            exit_code=SERVER_UNREACHABLE,
        )


def _exit_code_in_stream(detail: Any) -> int:
    """Return the exit code of an error event; some servers put the status into its `code`."""
    detail = as_object(detail)
    status = _STATUSES.get(str(detail.get("type")), detail.get("code"))
    return _exit_code(status) if isinstance(status, int) else FAILED


def _exit_code(status: int) -> int:
    return _EXIT_CODES.get(status, USAGE if 400 <= status < 500 else FAILED)
