"""A program that serves `yaie.ray:app`, and updates it at a line on its standard input.

Arguments: the port, and settings as name=value. The first line of input rolls every replica; the
end of input stops Ray.
"""

from __future__ import annotations

import sys

import ray
from ray import serve

from yaie.ray import app


def main(port: str, *given: str) -> None:
    settings = dict(each.split("=", 1) for each in given)
    ray.init(address="local", num_cpus=6, include_dashboard=False, object_store_memory=100 * 2**20)
    serve.start(http_options={"host": "127.0.0.1", "port": int(port)})
    serve.run(app(settings), name="yaie")
    for _ in sys.stdin:
        serve.run(app({**settings, "max_running": "64"}), name="yaie")  # another version
        print("updated", flush=True)
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
