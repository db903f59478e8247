"""The Python SDK connects by OAuth. The same steps as in `oauth-v1.mjs`."""

import json
import sys
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

PLAN = json.loads(sys.argv[1])
CALLBACK = "http://127.0.0.1:33418/callback"


def say(step, **more):
    print(json.dumps({"step": step, **more}), flush=True)


class Memory:
    """What an app with the SDK keeps, and the browser of its user."""

    def __init__(self):
        self.tokens = self.client = self.returned = None
        self.links = 0

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client

    async def redirect(self, link):
        self.links += 1
        async with httpx2.AsyncClient() as browser:
            page = await browser.get(link, follow_redirects=False)
            assert page.status_code == 302, page.text
            request = parse_qs(urlsplit(page.headers["location"]).query)["request"][0]
            base = PLAN["url"].removesuffix("/mcp")
            decided = await browser.post(
                f"{base}/api/oauth/consent", headers=PLAN["user"], json={"request": request, "approve": True}
            )
            self.returned = parse_qs(urlsplit(decided.json()["redirect"]).query)

    async def callback(self):
        one = lambda name: self.returned[name][0]  # noqa: E731
        return AuthorizationCodeResult(code=one("code"), state=one("state"), iss=one("iss"))


async def main():
    memory = Memory()
    metadata = OAuthClientMetadata(client_name="A real client", redirect_uris=[CALLBACK])
    auth = OAuthClientProvider(PLAN["url"], metadata, memory, memory.redirect, memory.callback)
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        async with Client(streamable_http_client(PLAN["url"], http_client=http)) as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool("com_example_echo__echo", {"text": "hi"})
            say("called", tools=len(tools), answer=result.content[0].text, links=memory.links, scope=memory.tokens.scope)


anyio.run(main)
