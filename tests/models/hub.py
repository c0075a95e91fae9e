"""A hub of one's own on a local port: enough of the Hugging Face API to download a repository."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from huggingface_hub import constants

from yaie.models.files.gguf.header import read_gguf

COMMIT = "0123456789abcdef0123456789abcdef01234567"
# What every repository on the hub has besides a model.
EXTRAS = {
    ".gitattributes": b"*.safetensors filter=lfs diff=lfs merge=lfs -text\n",
    "README.md": b"---\nlicense: apache-2.0\n---\n# A model\n",
    "figures/benchmark.png": b"\x89PNG\r\n\x1a\n",
    "logo.png": b"\x89PNG\r\n\x1a\n",
    "onnx/config.json": b"{}",
    "onnx/model.onnx": b"onnx",
    "pytorch_model.bin": b"pickled",
}


def use_offline_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Use an empty cache of the hub without a network, and return its folder."""
    folder = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    return folder


class LocalHub:
    """A hub that serves the folders of `repositories`, with `EXTRAS`; a context manager.

    `revisions`: of a repository, commit and folder by name; the folder above is that of main.
    """

    def __init__(
        self,
        repositories: dict[str, Path],
        revisions: dict[str, dict[str, tuple[str, Path]]] | None = None,
    ) -> None:
        self.repositories = repositories
        self.revisions = {name: {"main": (COMMIT, path)} for name, path in repositories.items()}
        for name, others in (revisions or {}).items():
            self.revisions[name] |= others
        self.downloaded: list[str] = []  # names of files whose content was sent
        self.requests: list[str] = []  # paths of all requests
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
        self.requests.append(path)
        if path.startswith("api/models/"):
            parts = path.removeprefix("api/models/").split("/", 3)
            repository, asked = "/".join(parts[:2]), parts[3] if len(parts) > 3 else "main"
            body = self._describe(repository, asked, as_tree="/tree/" in path)
            headers = {"Content-Type": "application/json"}
        else:
            repository, _, rest = path.partition("/resolve/")
            asked, _, name = rest.partition("/")
            body, headers = self._file(repository, asked, name)
        if body is None:
            code = "EntryNotFound" if self._revision(repository, asked) else "RevisionNotFound"
            request.send_response(404)
            request.send_header(
                "X-Error-Code", code if repository in self.repositories else "RepoNotFound"
            )
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

    def _revision(self, repository: str, asked: str) -> tuple[str, Path] | None:
        """Return commit and folder of a revision, which a commit names too."""
        revisions = self.revisions.get(repository, {})
        return {commit: (commit, path) for commit, path in revisions.values()}.get(
            asked, revisions.get(asked)
        )

    def _describe(self, repository: str, asked: str, *, as_tree: bool) -> bytes | None:
        found = self._revision(repository, asked)
        if found is None:
            return None
        commit, folder = found
        files = _files_of(folder)
        if as_tree:
            return json.dumps(
                [
                    {
                        "type": "file",
                        "oid": hashlib.sha1(content).hexdigest(),
                        "size": len(content),
                        "path": name,
                    }
                    for name, content in files.items()
                ]
            ).encode()
        siblings = [{"rfilename": name} for name in files]
        described: dict[str, Any] = {
            "id": repository,
            "modelId": repository,
            "sha": commit,
            "siblings": siblings,
        }
        for path in sorted(folder.rglob("*.gguf")):  # the hub reads the header of one
            described["gguf"] = {"architecture": read_gguf(path).metadata["general.architecture"]}
        return json.dumps(described).encode()

    def _file(self, repository: str, asked: str, name: str) -> tuple[bytes | None, dict[str, str]]:
        found = self._revision(repository, asked)
        body = None if found is None else _files_of(found[1]).get(name)
        if found is None or body is None:
            return None, {}
        commit, _ = found
        digest = hashlib.sha256(body).hexdigest()
        return body, {"ETag": f'"{digest}"', "X-Repo-Commit": commit}


def _files_of(folder: Path) -> dict[str, bytes]:
    """Return a repository's files by name."""
    own = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return dict(sorted((EXTRAS | own).items()))
