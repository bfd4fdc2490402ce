"""Compiled code that is kept: told apart by what it was made of, never by where its source lies.

`sources` and `machine` say what it was made of, `folders` where it lies, `cache` keeps and loads it for Numba, `packs`
hands it on to other machines of the same kind. Numba has no public way to do this; what is used of its inner parts was
tried with Numba 0.68, and the package asks for a version below 0.69.
"""

from trendweave.kept_code.cache import keep_compiled, keep_compiled_text, prefixes_of_kernels
from trendweave.kept_code.folders import kernel_folder
from trendweave.kept_code.handed_over import MODULE
from trendweave.kept_code.packs import PACK, list_kernels, pack_kernels, unpack_kernels

__all__ = [
    "MODULE",
    "PACK",
    "keep_compiled",
    "keep_compiled_text",
    "kernel_folder",
    "list_kernels",
    "pack_kernels",
    "prefixes_of_kernels",
    "unpack_kernels",
]
