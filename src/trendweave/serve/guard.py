"""Who may ask: the right name of this server, from a page of its own, with the token where there is one."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import socket
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trendweave.serve.serving import Serving, is_loopback

#: A page may load scripts, styles and pictures from here, ask here, and nothing else; nobody may frame it.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
#: What the page that asks for the token needs itself.
_FOR_ALL = frozenset(("/static/style.css", "/static/icon.svg"))
_WRONG = '<p class="stopped" role="alert">That is not the token of this server.</p>'


class Guard:
    """Stands before the application, and adds headers to all that it answers."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self.app, self._serving = app, serving
        self._names = {"localhost", serving.host.lower()}
        if not is_loopback(serving.host):  # others may know this machine by its name, and need the token
            self._names.add(socket.gethostname().lower())
        # Cookies are shared by all ports of a host, and several servers may run.
        self._cookie = f"trendweave_{serving.port}"
        # Browsers keep what the token leads to, and not the token.
        self._key = hashlib.sha256(b"trendweave cookie " + (serving.token or "").encode()).hexdigest()
        self._sign_in = (Path(__file__).parent / "static" / "sign_in.html").read_text()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] == "websocket":  # there are none here
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._refuse(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await (answer or self.app)(scope, receive, send_with_headers)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not self._knows(headers.get("host", "")):
            # A name of somebody else that leads here would let his page read ours.
            return JSONResponse({"refused": "this server does not go by that name"}, 421)
        if not _is_own_page(headers):
            return JSONResponse({"refused": "pages of others may not ask this server"}, 403)
        if self._serving.token is None or scope["path"] in _FOR_ALL:
            return None
        return self._ask_for_token(scope, headers, self._serving.token.encode())

    def _knows(self, host: str) -> bool:
        """Addresses lead to no other place than they say; names do, and must be ours."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _ask_for_token(self, scope: Scope, headers: Headers, token: bytes) -> Response | None:
        """None where it is known. All is compared in a time that tells nothing of how much was right."""
        given = QueryParams(scope["query_string"]).get("token") if scope["path"] == "/" else None
        if given is not None and secrets.compare_digest(given.encode(), token):
            answer: Response = RedirectResponse("/", 303)
            answer.set_cookie(self._cookie, self._key, httponly=True, samesite="strict")
            return answer
        bearer = headers.get("authorization", "").encode("latin-1")
        if bearer.startswith(b"Bearer ") and secrets.compare_digest(bearer.removeprefix(b"Bearer "), token):
            return None
        kept = _read_cookie(headers.get("cookie", ""), self._cookie).encode()
        if secrets.compare_digest(kept, self._key.encode()):
            return None
        if scope["path"] == "/":
            return HTMLResponse(self._sign_in.replace("<!-- wrong -->", "" if given is None else _WRONG), 401)
        return JSONResponse({"refused": "the token is missing or wrong"}, 401)


def _is_own_page(headers: Headers) -> bool:
    """Browsers tell which page asks; other programs tell nothing."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and (
        headers.get("sec-fetch-mode") != "navigate" or headers.get("sec-fetch-dest") != "document"
    ):
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower()


def _read_cookie(header: str, name: str) -> str:
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(header)
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""
