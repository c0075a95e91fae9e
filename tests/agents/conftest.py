"""The models that every agent talks to, one a template."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.agent_model import TEMPLATES, make_agent_model


@pytest.fixture(scope="session")
def agent_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("agents")
    return {name: make_agent_model(folder / name, name) for name in TEMPLATES}
