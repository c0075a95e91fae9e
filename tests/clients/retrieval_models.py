"""Tiny models of the retrieval server: `python -m tests.clients.retrieval_models FOLDER`.

The environments of client libraries lack torch, so the server's Python writes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.embedding_model import make_embedding_model
from tests.ranking_model import make_reranker
from tests.tiny_model import write_tiny_model


def write_models(folder: Path) -> None:
    """Write an embedding model and a reranker below a folder."""
    source = write_tiny_model(folder / "decoder")
    make_embedding_model(source, folder / "embedder")
    make_reranker(source, folder / "reranker")


if __name__ == "__main__":
    write_models(Path(sys.argv[1]))
