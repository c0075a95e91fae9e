"""Answers from a running server through its OpenAI API, and how such a server is found.

Only a server that says it is YAIE is used without being named; any OpenAI server works with --url.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from yaie.cli.answers import Answer, AnswerStream, Question, Wishes
from yaie.cli.failures import FAILED, SERVER_UNREACHABLE, USAGE, CommandFailed, usage_error
from yaie.errors import EngineUnavailable, InvalidRequest
from yaie.types import Usage

if TYPE_CHECKING:
    import requests

DEFAULT_PORT = 8000
PROBE_S = 0.05
_CONNECT_S = 5.0
# Other replies from 400 to 499 say that the request is wrong; not these: it may be right later.
_EXIT_CODES = {404: 3, 408: FAILED, 429: FAILED, 503: SERVER_UNREACHABLE}
_KEY_WANTED = (http.client.UNAUTHORIZED, http.client.FORBIDDEN)
# An error inside a stream has no status of its own.
_STATUSES = {kind.type: kind.status for kind in (InvalidRequest, EngineUnavailable)}


def find_server(port: int = DEFAULT_PORT) -> str | None:
    """The address of the YAIE server on this port of this machine, or None.

    Waits at most a moment, and believes only a server whose health says that it is YAIE and that
    lists a model `owned_by` yaie, which it does as soon as it begins to load. One that wants
    another API key is found as well, so that whoever asks it hears so, and is not answered by
    another model instead. Whoever else listens there is not sent the API key.
    """
    address = f"http://127.0.0.1:{port}"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PROBE_S)
    try:
        # 503 says that it takes no requests now, not that it is nobody.
        status, body = _get(connection, "/health", {})
        answers = status in (http.client.OK, http.client.SERVICE_UNAVAILABLE)
        if not answers or json.loads(body).get("server") != "yaie":
            return None
        status, body = _get(connection, "/v1/models", _headers())
        if status in _KEY_WANTED:
            return address
        if status != http.client.OK:
            return None
        owners = {model["owned_by"] for model in json.loads(body)["data"]}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, http.client.HTTPException):
        return None  # nobody there, or somebody else
    finally:
        connection.close()
    return address if owners == {"yaie"} else None


def _get(
    connection: http.client.HTTPConnection, path: str, headers: dict[str, bytes]
) -> tuple[int, bytes]:
    """The status and the body of the server's reply."""
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    return reply.status, reply.read(65536)


class _StreamBroke(Exception):
    """An answer that had begun to come ends without its end."""


class ServerAnswers:
    """A model behind an OpenAI-compatible server.

    Raises `CommandFailed` with exit code 5 when it cannot be reached, with the server's own words
    when it refuses, and as a usage error when `url` is none.
    """

    def __init__(self, url: str, model: str | None = None) -> None:
        self.url = read_url(url).rstrip("/").removesuffix("/v1")
        self._http = _open_session(self.url)
        self._model = model or self._first_model()

    @property
    def name(self) -> str:
        """The model and the server's address."""
        return f"{self._model} at {self.url}"

    def stream(self, question: Question, wishes: Wishes) -> AnswerStream:
        """Begin an answer; the request is sent when the first piece is read."""
        return AnswerStream(self._pieces(question, wishes))

    def settle(self) -> None:
        """The server goes on."""

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _pieces(self, question: Question, wishes: Wishes) -> Generator[str, None, Answer]:
        raw = isinstance(question, str)
        body: dict[str, Any] = {
            "model": self._model,
            **({"prompt": question} if raw else {"messages": question}),
            **wishes.given(),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        route = "/v1/completions" if raw else "/v1/chat/completions"
        began = time.perf_counter()
        first_s: float | None = None
        text, reason, usage = "", "", Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0)
        try:
            with self._begin(route, body, wishes.may_be_shorter) as reply:
                for event in self._events(reply):
                    for choice in event.get("choices") or ():
                        part = _object(choice) if raw else _object(_object(choice).get("delta"))
                        piece = part.get("text" if raw else "content")
                        reason = _object(choice).get("finish_reason") or reason
                        if piece and isinstance(piece, str):
                            first_s = time.perf_counter() - began if first_s is None else first_s
                            text += piece
                            yield piece
                    if event.get("usage"):
                        usage = _usage(event["usage"])
            if not reason:
                raise _StreamBroke("the stream ended before the answer did")
        except _StreamBroke as broke:
            raise self._unreachable(str(broke), in_answer=bool(text)) from broke.__cause__
        total_s = time.perf_counter() - began
        return Answer(
            text=text,
            finish_reason=reason,
            usage=usage,
            first_token_s=total_s if first_s is None else first_s,
            total_s=total_s,
            model=self._model,
            place=self.url,
        )

    def _begin(self, route: str, body: dict[str, Any], may_be_shorter: bool) -> requests.Response:
        try:
            return self._send("POST", route, json=body, stream=True)
        except CommandFailed as refusal:
            if not may_be_shorter or refusal.code != "context_length_exceeded":
                raise
            del body["max_tokens"]  # then a conversation is given what the context has left
            if "prompt" in body:
                body |= self._room_for_text(body["prompt"])
            return self._send("POST", route, json=body, stream=True)

    def _room_for_text(self, prompt: str) -> dict[str, int]:
        """What the context has left for a text, which is given a few tokens where it asks for none.

        The server counts the prompt's tokens; nothing is known of one that does not say how long
        its context is.
        """
        longest = self._listed_models().get(self._model)
        if longest is None:
            return {}
        counted = {"model": self._model, "prompt": prompt, "max_tokens": 1}
        try:
            reply = _object(self._send("POST", "/v1/completions", json=counted).json())
        except ValueError:  # no JSON
            return {}
        prompt_tokens = _usage(reply.get("usage")).prompt_tokens
        return {"max_tokens": longest - prompt_tokens} if prompt_tokens else {}

    def _events(self, reply: requests.Response) -> Iterator[dict[str, Any]]:
        import requests

        try:
            for line in reply.iter_lines():
                if not line.startswith(b"data:"):
                    continue
                data = line[len(b"data:") :].strip()
                if data == b"[DONE]":
                    return
                event = _object(json.loads(data))
                if event.get("error"):  # some servers say in every event that there is none
                    raise self._refused(_exit_code_in_stream(event["error"]), event["error"])
                yield event
        except (requests.RequestException, ValueError) as error:
            raise _StreamBroke(str(error)) from error

    def _first_model(self) -> str:
        models = self._listed_models()
        if not models:
            raise self._unreachable("it serves no model")
        return next(iter(models))

    def _listed_models(self) -> dict[str, int | None]:
        """The context of each model, where the server says it, by name."""
        reply = self._send("GET", "/v1/models")
        try:
            listed = reply.json()["data"]
            return {str(model["id"]): _whole(model.get("max_model_len")) for model in listed}
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self._unreachable("who answers there has no list of models") from None

    def _send(self, method: str, route: str, **options: Any) -> requests.Response:
        import requests

        try:
            reply = self._http.request(
                method, self.url + route, timeout=(_CONNECT_S, None), **options
            )
        except requests.RequestException as error:
            raise self._unreachable(_root_cause(error)) from error
        if reply.ok:
            return reply
        try:
            detail = reply.json()["error"]
        except (ValueError, LookupError, TypeError):
            detail = None
        raise self._refused(
            _exit_code(reply.status_code),
            detail or f"HTTP {reply.status_code}: {reply.text[:200]}",
            wants_key=reply.status_code in _KEY_WANTED,
        )

    def _refused(self, exit_code: int, detail: Any, *, wants_key: bool = False) -> CommandFailed:
        detail = detail if isinstance(detail, dict) else {"message": str(detail)}
        advice = "again in a moment, or --local" if exit_code == SERVER_UNREACHABLE else ""
        if wants_key:
            advice = "YAIE_API_KEY set to a key of that server, or --local to answer here"
        if detail.get("code") == "model_not_found":
            advice = "no -m, for the model that it serves, or --local to load one here"
        return CommandFailed(
            str(detail.get("message") or detail),
            why=f"said the server at {self.url}",
            advice=advice,
            code=str(detail.get("code") or "refused"),
            exit_code=exit_code,
        )

    def _unreachable(self, why: str, *, in_answer: bool = False) -> CommandFailed:
        what = "the answer is not whole: it broke off" if in_answer else "no answer from the server"
        return CommandFailed(
            f"{what} at {self.url}",
            why=why,
            advice="yaie serve    (to start one), or --local to answer in this process",
            code="server-unreachable",
            exit_code=SERVER_UNREACHABLE,
        )


def read_url(text: str) -> str:
    """The address of a server as it was typed; without a scheme it is http on this machine.

    Raises a usage error for what is no address, and for another machine without a scheme: the key
    is not sent in the clear on a guess.
    """
    text = text.strip()
    has_scheme = "://" in text
    url = text if has_scheme else f"http://{text}"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # reading an impossible port raises
    except ValueError as error:
        raise _no_url(text, str(error)) from None
    if parts.scheme not in ("http", "https") or not host:
        raise _no_url(text, "it needs http:// or https:// and the name of a machine")
    if not (has_scheme or _is_this_machine(host)):
        raise usage_error(
            f"{text} could be http or https",
            why="only an address of this machine is taken as http:// without being told",
            advice=f"--url https://{text}    or --url http://{text}",
        )
    return url


def _no_url(text: str, why: str) -> CommandFailed:
    return usage_error(
        f"{text!r} is no address of a server",
        why=why,
        advice=f"--url http://127.0.0.1:{DEFAULT_PORT}",
    )


def _open_session(url: str) -> requests.Session:
    """Sends the API key, and goes through a proxy of the environment only to other machines.

    What requests would take from the environment is read here instead: with `trust_env`, a login
    in ~/.netrc replaces the key, and a proxy is asked for servers on this machine too.
    """
    import requests
    from requests.utils import get_environ_proxies

    session = requests.Session()
    session.trust_env = False
    session.headers.update(_headers())
    if not _is_this_machine(urlsplit(url).hostname or ""):
        session.proxies.update(get_environ_proxies(url))
    session.verify = (
        os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
    )
    return session


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False  # some other name
    return address.is_loopback or address.is_unspecified


def _headers() -> dict[str, bytes]:
    keys = [key.strip() for key in os.environ.get("YAIE_API_KEY", "").split(",") if key.strip()]
    # As the server reads it, which is not how http.client writes letters beyond ASCII.
    return {"Authorization": f"Bearer {keys[0]}".encode()} if keys else {}


def _exit_code_in_stream(detail: Any) -> int:
    """As if the error had come as a reply; some servers give the status as its code."""
    detail = _object(detail)
    status = _STATUSES.get(str(detail.get("type")), detail.get("code"))
    return _exit_code(status) if isinstance(status, int) else FAILED


def _exit_code(status: int) -> int:
    return _EXIT_CODES.get(status, USAGE if 400 <= status < 500 else FAILED)


def _usage(usage: Any) -> Usage:
    """What the server counted; 0 for what it did not."""
    counts = _object(usage)
    details = _object(counts.get("prompt_tokens_details"))
    return Usage(
        prompt_tokens=_whole(counts.get("prompt_tokens")) or 0,
        completion_tokens=_whole(counts.get("completion_tokens")) or 0,
        cached_tokens=_whole(details.get("cached_tokens")) or 0,
    )


def _root_cause(error: BaseException) -> str:
    """The operating system's own words, which requests wraps several times."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return str(seen.strerror)
        seen = seen.__cause__ or seen.__context__
    return str(error)


def _object(value: Any) -> dict[str, Any]:
    """An object of the reply, empty where the server gave null, nothing or something else."""
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
