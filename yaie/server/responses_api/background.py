"""Responses in the background: made to their end for clients that fetch them later."""

from __future__ import annotations

import logging

from yaie.base.errors import RequestFailed, YaieError
from yaie.server.replies.delivery import whole_document, written_events
from yaie.server.replies.generation import Generation
from yaie.server.replies.reply import GenerationResponse, InThread

logger = logging.getLogger(__name__)


async def make_whole(
    generation: Generation, response: GenerationResponse, in_thread: InThread
) -> None:
    """Wait for the end of the call, and have the response keep its document or its error.

    Readers of a stream get its events while tokens arrive.
    """
    try:
        if not response.call.stream:
            await whole_document(response, await generation.whole(), in_thread)
            return
        response.opening()
        while not generation.is_done:
            await written_events(response, await generation.next(), in_thread)
        response.closing()
    except YaieError as error:
        response.failed(error)
    except Exception:
        logger.exception("request %s failed in the background", generation.http_id)
        response.failed(RequestFailed("the request failed inside the server; send it again"))
    finally:
        generation.close()
