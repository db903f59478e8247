#!/usr/bin/env python3
"""Writes the tools and the ground-truth call sequences of AgentDojo as JSON.

    python3 -m venv venv && venv/bin/pip install --no-deps agentdojo==0.1.35
    venv/bin/pip install 'pydantic[email]' pyyaml deepdiff docstring-parser python-dotenv tenacity rich click
    venv/bin/python evals/data-flow/extract.py > evals/data-flow/agentdojo.json

AgentDojo is by the SPY Lab of ETH Zurich and Invariant Labs, under the MIT licence (https://github.com/ethz-spylab/agentdojo). No model
is asked: vendors' packages are replaced by empty ones.
"""

import importlib.abc
import importlib.machinery
import json
import sys
from unittest.mock import MagicMock

VERSION = "v1.2.2"
NOT_NEEDED = {"anthropic", "openai", "cohere", "google", "langchain", "vertexai", "torch", "transformers", "requests"}


class EmptyModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for packages that only talk to models."""

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in NOT_NEEDED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__name__, module.__spec__ = [], spec.name, spec
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(EmptyModules())

from agentdojo.task_suite.load_suites import get_suites  # noqa: E402


def calls_of(task, environment):
    environment = environment.model_copy(deep=True)
    if hasattr(task, "init_environment"):
        environment = task.init_environment(environment)
    return [{"tool": call.function, "arguments": dict(call.args)} for call in task.ground_truth(environment)]


def tool_of(tool):
    schema = tool.parameters.model_json_schema()
    properties = {name: {"description": spec.get("description", "")} for name, spec in schema["properties"].items()}
    return {"name": tool.name, "description": tool.description, "properties": properties}


def suite_of(suite):
    environment = suite.load_and_inject_default_environment(suite.get_injection_vector_defaults())
    user_tasks = [
        {"id": id, "prompt": task.PROMPT, "calls": calls_of(task, environment)} for id, task in suite.user_tasks.items()
    ]
    injections = [
        {"id": id, "goal": task.GOAL, "calls": calls_of(task, environment)} for id, task in suite.injection_tasks.items()
    ]
    return {"tools": [tool_of(tool) for tool in suite.tools], "userTasks": user_tasks, "injectionTasks": injections}


suites = {name: suite_of(suite) for name, suite in get_suites(VERSION).items()}
source = "agentdojo 0.1.35, suites " + VERSION + ", MIT licence, https://github.com/ethz-spylab/agentdojo"
json.dump({"source": source, "suites": suites}, sys.stdout, indent=1, default=str, ensure_ascii=False)
print()
