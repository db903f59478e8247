"""llama.cpp's server out of the PyPI package xllamacpp, for the demonstration and the tests.

    python scripts/llama-server.py MODEL.gguf [--port N] [--template FILE.jinja]

Listens on loopback only, says `listening URL` on standard output once it answers, and ends with whoever started it.
"""

import argparse
import os
import time
import urllib.request

from xllamacpp import CommonParams, Server

# How often to look whether the parent is still there, and whether the server answers. In seconds.
LOOK = 0.25
# How long loading may take, in seconds.
LOAD = 120


def settings(options):
    params = CommonParams()
    params.model.path = options.model
    params.model_alias = {options.name}
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.use_jinja = True
    # More than one spins at barriers on a busy machine and is slower by far.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    # One for choosing tools, one for talk, so that neither throws the other's prompt out.
    params.n_parallel = 2
    params.n_ctx = 8192
    params.cache_ram_mib = 256
    if options.template:
        with open(options.template, encoding="utf-8") as template:
            params.chat_template = template.read()
    return params


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--name", default="smollm2")
    parser.add_argument("--template")
    options = parser.parse_args()
    parent = os.getppid()
    server = Server(settings(options))
    url = server.listening_address
    patience = time.monotonic() + LOAD
    while os.getppid() == parent:
        try:
            urllib.request.urlopen(url + "/health", timeout=5).read()
            break
        except OSError:
            if time.monotonic() > patience:
                raise SystemExit("the model did not load in time")
            time.sleep(LOOK)
    print("listening", url, flush=True)
    while os.getppid() == parent:
        time.sleep(LOOK)
    # Its threads would keep the process.
    os._exit(0)


main()
