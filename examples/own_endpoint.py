"""An endpoint of your own: a server with `/sentiment` next to OpenAI's API.

python examples/own_endpoint.py [MODEL] [PORT]
curl "http://127.0.0.1:8000/sentiment?text=I+love+it"
"""

from __future__ import annotations

import asyncio
import sys

from starlette.requests import Request
from starlette.responses import JSONResponse

from yaie import LLM, ApiServer, EndpointConfig

MODEL = sys.argv[1] if len(sys.argv) > 1 else "smollm2"
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
CHOICES = ["positive", "negative"]


class SentimentServer(ApiServer):
    """A server whose extra endpoint ranks two answers by the model's probabilities."""

    def __init__(self, llm: LLM) -> None:
        super().__init__(llm)
        self.llm = llm

    @property
    def endpoints(self) -> list[EndpointConfig]:
        """The standard endpoints and `/sentiment`."""
        return [*super().endpoints, EndpointConfig(path="/sentiment", handler=self.sentiment)]

    async def sentiment(self, request: Request) -> JSONResponse:
        """Tell how positive a text is."""
        question = f"Is this text positive or negative? {request.query_params.get('text', '')}"
        messages = [{"role": "user", "content": question}]
        choice = await asyncio.to_thread(self.llm.choose, messages, CHOICES)
        return JSONResponse(dict(zip(CHOICES, choice.probabilities, strict=True)))


if __name__ == "__main__":
    with LLM(MODEL) as model:
        SentimentServer(model).run(port=PORT)
