"""A hub of one's own on a local port: enough of the Hugging Face API to download a repository."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class LocalHub:
    """A hub that serves the folders of `repositories`; a context manager."""

    def __init__(self, repositories: dict[str, Path]) -> None:
        self.repositories = repositories
        self.downloaded: list[str] = []  # names of files whose content was sent
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                hub.answer(self, with_body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, with_body=False)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> LocalHub:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, *, with_body: bool) -> None:
        path = unquote(urlsplit(request.path).path).strip("/")
        if path.startswith("api/models/"):
            repository = "/".join(path.removeprefix("api/models/").split("/")[:2])
            body = self._describe(repository, as_tree="/tree/" in path)
            headers = {"Content-Type": "application/json"}
        else:
            repository, _, rest = path.partition("/resolve/")
            body, headers = self._file(repository, rest.partition("/")[2])
        if body is None:
            known = repository in self.repositories
            request.send_response(404)
            request.send_header("X-Error-Code", "EntryNotFound" if known else "RepoNotFound")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        request.send_response(200)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if with_body:
            if "ETag" in headers:
                self.downloaded.append(path.rpartition("/")[2])
            request.wfile.write(body)

    def _describe(self, repository: str, *, as_tree: bool) -> bytes | None:
        folder = self.repositories.get(repository)
        if folder is None:
            return None
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        if as_tree:
            return json.dumps(
                [
                    {
                        "type": "file",
                        "oid": hashlib.sha1(path.read_bytes()).hexdigest(),
                        "size": path.stat().st_size,
                        "path": path.relative_to(folder).as_posix(),
                    }
                    for path in files
                ]
            ).encode()
        siblings = [{"rfilename": path.relative_to(folder).as_posix()} for path in files]
        return json.dumps(
            {"id": repository, "modelId": repository, "sha": COMMIT, "siblings": siblings}
        ).encode()

    def _file(self, repository: str, name: str) -> tuple[bytes | None, dict[str, str]]:
        folder = self.repositories.get(repository)
        if folder is None or not (folder / name).is_file():
            return None, {}
        body = (folder / name).read_bytes()
        digest = hashlib.sha256(body).hexdigest()
        return body, {"ETag": f'"{digest}"', "X-Repo-Commit": COMMIT}
