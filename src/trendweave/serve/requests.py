"""What comes in: a body of JSON, not too large, checked before any work begins."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Any

from starlette.requests import Request

from trendweave.serve.asking import read_asked
from trendweave.serve.folders import Refused
from trendweave.serve.serving import Serving

#: How long the body of a request may take to come, in seconds.
_PATIENCE = 30.0


async def read_request(request: Request, kind: str, serving: Serving) -> dict[str, Any]:
    """The job that a request asks for, as worker processes take it.

    Raises:
        Refused: The request is not of the right form, or too large.
    """
    asked = await read_json(request, serving.limits.request)
    read_asked(asked, serving.limits.rules)
    return {
        "kind": kind,
        "asked": asked,
        "folder": None if serving.folder is None else str(serving.folder),
        "stores": serving.stores,
        "limits": asdict(serving.limits),
    }


async def read_json(request: Request, most: int) -> Any:
    """The body of a request.

    Raises:
        Refused: It is no JSON, has more bytes than `most`, or takes too long to come.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        # Forms of other pages cannot send this without being asked first.
        raise Refused("requests are JSON")
    try:
        async with asyncio.timeout(_PATIENCE):
            return json.loads(await _read_body(request, most))
    except TimeoutError:
        raise Refused(f"a request comes within {_PATIENCE:g} seconds") from None
    except (ValueError, RecursionError):
        raise Refused("the request is no JSON") from None


async def _read_body(request: Request, most: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise Refused(f"a request has at most {most:,} bytes")
    return bytes(body)
