"""The simulated card does what CUDA says of barriers, shared memory, warps and atomics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.gpu.simulator import CardArray, KernelError, SimulatedCard
from trendweave.gpu.card import Extent

SOURCE = r"""
__device__ __forceinline__ long long twice(long long value) { return value + value; }

extern "C" __global__ void reverse_blocks(const long long* given, long long* found, long long count) {
    __shared__ long long kept[64];
    long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x] = place < count ? given[place] : 0;
    __syncthreads();
    if (place < count) found[place] = twice(kept[blockDim.x - 1 - threadIdx.x]);
}

extern "C" __global__ void reverse_without_barrier(const long long* given, long long* found, long long count) {
    __shared__ long long kept[64];
    kept[threadIdx.x] = given[threadIdx.x];
    found[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(256) add_up(const float* given, float* found, int count) {
    extern __shared__ float parts[];
    float sum = 0;
    for (int place = threadIdx.x; place < count; place += blockDim.x) sum += given[place];
    for (int step = 16; step; step >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0;
        for (unsigned warp = 0; warp < blockDim.x / 32; warp++) all += parts[warp];
        *found = all;
    }
}

extern "C" __global__ void vote(const int* given, unsigned* ballots, int* others, int* counts) {
    int lane = threadIdx.x % 32, value = given[threadIdx.x];
    ballots[threadIdx.x] = __ballot_sync(0xffffffffu, value > 0);
    others[threadIdx.x] = __shfl_xor_sync(0xffffffffu, value, 1);
    if (lane < 16) others[threadIdx.x] += __shfl_up_sync(0xffffu, value, 1, 16);
    counts[threadIdx.x] = __syncthreads_count(value > 0);
}

extern "C" __global__ void histogram(const int* given, int* counts, unsigned long long* sum, int* most, int count) {
    for (int place = blockIdx.x * blockDim.x + threadIdx.x; place < count; place += gridDim.x * blockDim.x) {
        atomicAdd(&counts[given[place]], 1);
        atomicAdd(sum, (unsigned long long)given[place]);
        atomicMax(most, given[place]);
    }
}

extern "C" __global__ void half_waits(int* found) {
    if (threadIdx.x < 16) __syncwarp(0xffffffffu);
    else __syncthreads();
    *found = 1;
}
"""


def launch(
    card: SimulatedCard, kernel: str, blocks: Extent, threads: Extent, given: tuple[Any, ...], **more: int
) -> None:
    """Start a kernel on arrays of this process as if they were the card's."""
    arguments = [one.view(CardArray) if isinstance(one, np.ndarray) else one for one in given]
    card.launch(SOURCE, kernel, blocks, threads, arguments, **more)


def test_arrays_of_the_process_do_not_meet_those_of_the_card(card: SimulatedCard) -> None:
    here, there = np.arange(3), card.put(np.arange(3))

    assert (there + np.int64(1) > 1).tolist() == [False, True, True]
    assert isinstance(card.xp.where(there > 1, there, 0), CardArray)
    for mixed in (
        lambda: there + here,
        lambda: card.xp.where(there > 0, here, 0),
        lambda: np.concatenate([here, there]),
        lambda: card.launch(SOURCE, "half_waits", 1, 32, (here,)),
    ):
        with pytest.raises(KernelError, match="array of this process"):
            mixed()


def test_blocks_share_memory_and_wait_for_each_other(card: SimulatedCard) -> None:
    given = np.arange(130, dtype=np.int64)
    found = np.empty_like(given)

    launch(card, "reverse_blocks", 3, 64, (given, found, 130))

    padded = np.append(given, np.zeros(62, np.int64)).reshape(3, 64)[:, ::-1].reshape(-1)
    assert found.tolist() == (2 * padded[:130]).tolist()


def test_missing_barrier_is_seen(card: SimulatedCard) -> None:
    given = np.arange(64, dtype=np.int64)
    found = np.empty_like(given)

    launch(card, "reverse_without_barrier", 1, 64, (given, found, 64))

    assert found.tolist() != given[::-1].tolist()


def test_shuffles_and_shared_memory_of_any_size(card: SimulatedCard) -> None:
    given = np.arange(1000, dtype=np.float32)
    found = np.zeros(1, np.float32)

    launch(card, "add_up", 1, 256, (given, found, np.int32(1000)), shared_bytes=8 * 4)

    assert found[0] == 499_500


def test_ballots_and_exchanges_within_warps(card: SimulatedCard) -> None:
    given = np.random.default_rng(0).integers(-5, 5, 96).astype(np.int32)
    ballots, others, counts = np.zeros(96, np.uint32), np.zeros(96, np.int32), np.zeros(96, np.int32)

    launch(card, "vote", 1, 96, (given, ballots, others, counts))

    for warp in range(3):
        mine = given[32 * warp : 32 * warp + 32]
        assert set(ballots[32 * warp : 32 * warp + 32]) == {
            sum(int(value > 0) << lane for lane, value in enumerate(mine))
        }
        above = [mine[max(lane - 1, 0)] if lane < 16 else 0 for lane in range(32)]
        assert others[32 * warp : 32 * warp + 32].tolist() == [int(mine[lane ^ 1] + above[lane]) for lane in range(32)]
    assert set(counts) == {(given > 0).sum()}


def test_atomics_of_all_blocks(card: SimulatedCard) -> None:
    given = np.random.default_rng(1).integers(0, 7, 1000).astype(np.int32)
    counts, total, most = np.zeros(7, np.int32), np.zeros(1, np.uint64), np.zeros(1, np.int32)

    launch(card, "histogram", (4,), (96,), (given, counts, total, most, np.int32(1000)))

    assert counts.tolist() == np.bincount(given, minlength=7).tolist()
    assert (total[0], most[0]) == (given.sum(), 6)


def test_threads_that_wait_in_vain_are_told(card: SimulatedCard) -> None:
    with pytest.raises(KernelError, match="wait for others that do not come"):
        launch(card, "half_waits", 1, 32, (np.zeros(1, np.int32),))


@pytest.mark.parametrize("arguments", [(np.zeros(1, np.int32), 3), (np.int32(3),), ()])
def test_wrong_arguments_are_told(card: SimulatedCard, arguments: tuple[object, ...]) -> None:
    with pytest.raises(KernelError, match="takes arguments of"):
        launch(card, "half_waits", 1, 32, arguments)


def test_no_blocks_are_no_work(card: SimulatedCard) -> None:
    launch(card, "half_waits", 0, 32, (np.zeros(1, np.int32),))
