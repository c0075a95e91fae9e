"""A server of a model without a chat template."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from starlette.testclient import TestClient

from tests.server.scripted_client import ScriptedClient
from yaie.base.settings import Settings
from yaie.server.app import create_app
from yaie.text.tokenizer import Tokenizer


def test_chats_are_written_plainly(
    tiny_model_dir: Path, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_model_dir, folder)
    (folder / "chat_template.jinja").unlink()
    body = {"messages": [{"role": "user", "content": "the plan?"}]}
    for wanted, status in ((None, 400), ("plain", 200)):
        engine = ScriptedClient([5])
        settings = Settings(model=str(folder), chat_template=wanted)
        with TestClient(create_app(settings, lambda config, engine=engine: engine)) as http:
            while http.get("/readiness").status_code != 200:
                time.sleep(0.005)
            assert http.post("/v1/chat/completions", json=body).status_code == status
            card = http.get("/v1/models").json()["data"][0]
            assert card["capabilities"]["chat"] is (wanted is not None)
    (request,) = engine.requests
    assert tokenizer.decode(list(request.prompt_token_ids)) == "User: the plan?\nAssistant:"
