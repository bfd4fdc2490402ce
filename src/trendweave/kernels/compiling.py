"""How kernels are compiled.

`inner`: no reference counting. Kernels never keep or return an array, and counting references on each call of a small
function (atomically) costs more than what most of them do. A function that allocates arrays uses `outer`.
No fastmath: NaN, infinities and rounding mean what they mean. Compiled code is kept on disk.
"""

from numba import njit

inner = njit(cache=True, nogil=True, _nrt=False)
outer = njit(cache=True, nogil=True)
