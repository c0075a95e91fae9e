"""schemathesis against a real server and its own OpenAPI document: `make test-openapi`.

It is in an environment of its own. `EXAMPLES` is the number of examples of each operation.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ranking_model import make_reranker
from tests.server.real_server import Server

FOLDER = Path(__file__).resolve().parent
PROGRAM = os.environ.get("SCHEMATHESIS") or shutil.which("schemathesis")
EXAMPLES = os.environ.get("EXAMPLES", "25")
TIMEOUT_S = 5400

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(TIMEOUT_S),
    pytest.mark.skipif(PROGRAM is None, reason="schemathesis is not installed"),
]


@pytest.mark.parametrize("has_batches", [True, False])
def test_every_answer_is_the_documented_one(
    has_batches: bool, model: Path, start: Callable[..., Server], tmp_path: Path
) -> None:
    folder = str(tmp_path / "batches") if has_batches else ""
    variables = {"YAIE_AUDIT": "false", "YAIE_BATCH_DIR": folder}
    if has_batches:
        server = start(YAIE_MAX_MODEL_LEN="128", YAIE_POOLING="last", **variables)
    else:
        reranker = make_reranker(model, tmp_path / "reranker")
        server = start(reranker, YAIE_MAX_MODEL_LEN="320", **variables)
    server.wait_ready()
    command = [
        *(str(PROGRAM), "--config-file", str(FOLDER / "schemathesis.toml"), "--no-color"),
        *("run", f"{server.url}/openapi.json", "--max-examples", EXAMPLES),
        *("--request-timeout", "60", "--continue-on-failure", "--seed", "1"),
        *(() if has_batches else ("--include-path-regex", "/v1/(files|batches|rerank|score)")),
    ]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": str(FOLDER / "schemathesis_hooks.py")}
    ran = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr
    server.wait_idle()
    assert server.process.poll() is None
