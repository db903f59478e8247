"""OpenAI's SDK for Python, and its agents: chat completions and responses, whole and streamed, with tools."""

import asyncio
import json
import sys

import openai
from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

PLAN = json.loads(sys.argv[1])
OPTIONS = {
    "base_url": f"{PLAN['url']}/v1",
    "api_key": PLAN["key"],
    "default_headers": PLAN["headers"],
    "max_retries": 0,
}
CLIENT = OpenAI(**OPTIONS)
MODEL = PLAN["model"]

set_tracing_disabled(True)


class Address(BaseModel):
    city: str
    street: str | None = None


class Person(BaseModel):
    """A person, who knows others."""

    name: str
    home: Address
    friends: list["Person"] = []


def say(step, more):
    print(json.dumps({"step": step, **more}), flush=True)


def completion(order):
    """A chat completion, either way."""
    request = {"model": MODEL, "messages": [{"role": "user", "content": order["text"]}]}
    if not order["stream"]:
        return CLIENT.chat.completions.create(**request).choices[0].message.content
    with CLIENT.chat.completions.stream(**request) as stream:
        return stream.get_final_completion().choices[0].message.content


def ask(order):
    return {"content": completion(order)}


def parse(order):
    """What the SDK makes of a pydantic model, as a tool and as the format of an answer."""
    tool = openai.pydantic_function_tool(Person, name="save-person")
    request = {"model": MODEL, "messages": [{"role": "user", "content": "Save Ada."}]}
    called = CLIENT.chat.completions.parse(**request, tools=[tool]).choices[0].message.tool_calls[0].function
    said = CLIENT.chat.completions.parse(**request, response_format=Address).choices[0].message.parsed
    return {"name": called.name, "person": called.parsed_arguments.model_dump(), "address": said.model_dump()}


def responded(request, stream):
    if not stream:
        return CLIENT.responses.create(**request), None
    with CLIENT.responses.stream(**request) as events:
        kinds = [event.type for event in events]
        return events.get_final_response(), kinds


def respond(order):
    """A response, either way, and what the caller does with its calls."""
    request = {"model": MODEL, "input": [{"role": "user", "content": order["text"]}], "tools": order["tools"]}
    first, kinds = responded(request, order["stream"])
    calls = [item for item in first.output if item.type == "function_call"]
    request["input"] += [item.model_dump(exclude_none=True) for item in first.output]
    request["input"] += [
        {"type": "function_call_output", "call_id": call.call_id, "output": f"{call.name}: fine"} for call in calls
    ]
    second, _ = responded(request, order["stream"])
    return {
        "called": [[call.name, json.loads(call.arguments)] for call in calls],
        "text": second.output_text,
        "status": second.status,
        "usage": second.usage.total_tokens,
        "deltas": None if kinds is None else kinds.count("response.output_text.delta"),
        "last": None if kinds is None else kinds[-1],
    }


def structured(order):
    return {"address": CLIENT.responses.parse(model=MODEL, input="Where?", text_format=Address).output_parsed.model_dump()}


def fail(order):
    try:
        CLIENT.responses.create(model=MODEL, input="hi", **order["request"])
    except openai.APIStatusError as error:
        return {"kind": type(error).__name__, "status": error.status_code, "param": error.param}
    raise AssertionError("it came to a good end")


def agent(order):
    """An agent, which runs its own tools and asks again, by itself. It speaks responses."""
    heard = []

    @function_tool
    def save_address(address: Address) -> str:
        """Saves an address."""
        heard.append(address.city)
        return "saved"

    async def run():
        model = OpenAIResponsesModel(model=MODEL, openai_client=AsyncOpenAI(**OPTIONS))
        one = Agent(name="Clerk", instructions="Save what you hear.", tools=[save_address], model=model)
        if not order["stream"]:
            return (await Runner.run(one, "Oslo.")).final_output
        result = Runner.run_streamed(one, "Oslo.")
        async for _ in result.stream_events():
            pass
        return result.final_output

    return {"output": asyncio.run(run()), "heard": heard}


STEPS = {"ask": ask, "parse": parse, "respond": respond, "structured": structured, "fail": fail, "agent": agent}

say("ready", {})
for line in sys.stdin:
    asked = json.loads(line)
    say(asked["step"], STEPS[asked["step"]](asked))
