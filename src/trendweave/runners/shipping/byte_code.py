"""Python's byte code for a package in a zip: Python keeps none for modules that it reads from one, so that every worker
would compile hundreds of them as it starts, which takes longer than most queries."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping

#: The same bytes for the same sources: in a process that has loaded nothing else, as what is interned shows in byte
#: code, and with a fixed order of sets. Python takes it unseen where its version is the same, and else the source.
_COMPILE = """
import _imp, pickle, sys
from importlib import _bootstrap_external as system
sources = pickle.load(sys.stdin.buffer)
compiled = {}
for path, source in sources.items():
    code = compile(source, path, "exec", dont_inherit=True)
    told = _imp.source_hash(system._RAW_MAGIC_NUMBER, source)
    compiled[path + "c"] = bytes(system._code_to_hash_pyc(code, told, False))
sys.stdout.buffer.write(pickle.dumps(compiled))
"""


def compile_sources(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Byte code of this version of Python, by the paths at which Python looks for it in a zip."""
    done = subprocess.run(
        [sys.executable, "-S", "-s", "-c", _COMPILE],
        input=pickle.dumps(dict(sources)),
        stdout=subprocess.PIPE,
        check=True,
        env={"PYTHONHASHSEED": "0"},
    )
    compiled: dict[str, bytes] = pickle.loads(done.stdout)
    return compiled
