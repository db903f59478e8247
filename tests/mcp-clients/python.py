"""The Python SDK: both eras, over HTTP and over stdio. The same story as in `story.mjs`."""

import json
import sys

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, ToolListChangedNotification

PLAN = json.loads(sys.argv[1])
LATE = "com_example_late__new"


def say(step, **more):
    print(json.dumps({"step": step, **more}), flush=True)


def text(result):
    assert not result.is_error and len(result.content) == 1, result
    return result.content[0].text


class Story:
    def __init__(self):
        self.questions = []
        self.rings, self.changes = anyio.create_memory_object_stream(64)

    async def heard(self, message):
        if isinstance(message, ToolListChangedNotification):
            await self.rings.send(message)

    async def asked(self, _context, params):
        self.questions.append(params.message)
        return ElicitResult(action="accept", content={"username": "ada", "email": "ada@example.com"})

    async def names(self):
        names, cursor = [], None
        while True:
            page = await self.client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return sorted(names)

    async def call(self, name, arguments=None, **options):
        return text(await self.client.call_tool(name, arguments or {}, **options))

    async def list(self):
        say("list", names=await self.names())

    async def alias(self):
        say("alias", text=await self.call("com_example_echo__echo", {"text": "hi"}))

    async def canonical(self):
        say("canonical", text=await self.call("com.example.echo:echo", {"text": "hi"}))

    async def progress(self):
        async def on_progress(progress, total, message):
            say("told", progress=progress, total=total, message=message)

        say("progress", text=await self.call("com_example_steps__count", progress_callback=on_progress))

    async def cancel(self):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.call, "com_example_slow__wait")
            say("waits")
            await anyio.to_thread.run_sync(sys.stdin.readline)
            tasks.cancel_scope.cancel()
        # The connection outlives the call.
        say("cancel", text=await self.call("com_example_echo__echo"))

    async def change(self):
        if self.client.protocol_version < "2026":
            return await self.until_late(self.changes)
        async with self.client.listen(tools_list_changed=True) as subscription:
            await self.until_late(subscription)

    async def until_late(self, changes):
        say("listens")
        async for _ in changes:
            names = await self.names()
            if LATE in names:
                return say("change", names=names)

    async def ask(self):
        answer = await self.call("mcp_fixture__test_elicitation", {"message": "Who are you?"})
        say("ask", question=",".join(self.questions), text=answer)

    async def play(self, transport):
        options = {"mode": PLAN["era"], "elicitation_callback": self.asked, "message_handler": self.heard}
        async with Client(transport, **options) as self.client:
            say("connected", revision=self.client.protocol_version)
            for step in PLAN["steps"]:
                await getattr(self, step)()


async def main():
    if "command" in PLAN:
        return await Story().play(StdioServerParameters(**PLAN["command"]))
    # Streams stay silent for as long as nothing changes.
    async with httpx2.AsyncClient(headers=PLAN["headers"], timeout=httpx2.Timeout(30, read=300)) as http:
        await Story().play(streamable_http_client(PLAN["url"], http_client=http))


anyio.run(main)
