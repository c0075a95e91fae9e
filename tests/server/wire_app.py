"""Application behind the connections of the protocol tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

NUM_PIECES = 128


async def echo(request: Request) -> JSONResponse:
    return JSONResponse(
        {
            "method": request.method,
            "target": f"{request.url.path}?{request.url.query}",
            "accept": request.headers.get("accept"),
            "body": (await request.body()).decode(),
        }
    )


async def answer_late(request: Request) -> JSONResponse:
    await asyncio.sleep(float(request.query_params["s"]))
    return JSONResponse("late")


async def wait_until_gone(request: Request) -> JSONResponse:
    await request.body()
    while (await request.receive())["type"] != "http.disconnect":
        pass
    request.app.state.num_gone += 1
    return JSONResponse("never read")


async def answer_early(request: Request) -> JSONResponse:
    return JSONResponse("who are you?", 401)  # without reading the body


async def answer_in_pieces(request: Request) -> StreamingResponse:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(NUM_PIECES):
            yield b"x" * 65536
            request.app.state.num_pieces += 1

    return StreamingResponse(pieces())


async def stream_slowly(request: Request) -> StreamingResponse:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(10):
            yield b"<%d>" % number
            await asyncio.sleep(10)

    return StreamingResponse(pieces())


async def answer_much(request: Request) -> Response:
    return Response(b"x" * int(request.query_params["n"]))


def make_app() -> Starlette:
    app = Starlette(
        routes=[
            Route("/late", answer_late, methods=["GET", "POST"]),
            Route("/early", answer_early, methods=["POST"]),
            Route("/pieces", answer_in_pieces),
            Route("/slowly", stream_slowly),
            Route("/much", answer_much),
            Route("/until-gone", wait_until_gone, methods=["POST"]),
            Route("/{rest:path}", echo, methods=["GET", "POST"]),
        ]
    )
    app.state.num_gone = app.state.num_pieces = 0
    return app
