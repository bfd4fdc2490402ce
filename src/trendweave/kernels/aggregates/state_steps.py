"""What the kernels for unconditional templates share: the template as steps, and the watch over overflow.

State number q is the empty past: its total is 1. Numbers are int64, checked, or float64 (`checked` None).
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.inputs import furthest_states

LARGEST_BITS = 61
NOTHING = -1
SEVERAL = -2
TABLE_VARIABLES = 12  # sets of letters of more variables are not looked up


class StateSteps(NamedTuple):
    """The template for these kernels: sources[source_from[d]:source_from[d+1]] may precede state d; q is the empty
    past."""

    variable: np.ndarray
    source_from: np.ndarray
    sources: np.ndarray
    final: np.ndarray  # numbers of the final states, ascending
    furthest: np.ndarray  # int64[q+1]: see `furthest_states`
    state_of_letters: np.ndarray  # int64: the one state that reads a set of letters, NOTHING, or SEVERAL


@inner
def note(seen, number, checked):
    """Remember the high bits of an integer's magnitude."""
    if checked is None:
        return seen
    else:
        return seen | (number ^ (number >> 63))


@inner
def note_all(seen, a, b, c, d, checked):
    """Remember the high bits of four numbers that are not negative."""
    if checked is None:
        return seen
    else:
        return seen | a | b | c | d


@inner
def note_product(seen, value, count, checked):
    """Remember that value * count does not fit."""
    if checked is None:
        return seen
    else:
        if abs(np.float64(value)) * np.float64(count) >= 2.0**LARGEST_BITS:
            return np.int64(2**62)
        return seen


@inner
def too_large(seen):
    """Whether a remembered number had too many bits."""
    return seen >> LARGEST_BITS != 0


@inner
def one_state(state_of_letters, letters, row):
    """The only state that may read the row, NOTHING, or SEVERAL (also if the set of letters is not in the table)."""
    mask = letters[row, 0]
    if letters.shape[1] > 1 or mask >= np.uint64(state_of_letters.size):
        return np.int64(SEVERAL)
    return state_of_letters[np.int64(mask)]


@inner
def reads(letters, row, variable):
    """Whether the row may be read as the variable."""
    return (letters[row, variable >> 6] >> np.uint64(variable & 63)) & np.uint64(1) != np.uint64(0)


def build_steps(template) -> StateSteps:
    """The template's transitions by target, with the empty past before every start state. All arrays are new: see
    `writable`."""
    states = len(template.state_variable)
    before: list = [[] for _ in range(states)]
    for source, target in zip(template.source, template.target, strict=True):
        before[int(target)].append(int(source))
    for state in np.flatnonzero(template.is_start):
        before[state].append(states)
    for state in range(states):
        before[state].sort(key=lambda source: source != state)  # itself first: see append_one
    return StateSteps(
        variable=np.array(template.state_variable, np.int64),
        source_from=np.concatenate([[0], np.cumsum([len(b) for b in before])]).astype(np.int64),
        sources=np.array([s for b in before for s in b], np.int64),
        final=np.flatnonzero(template.is_final).astype(np.int64),
        furthest=furthest_states(template),
        state_of_letters=letter_table(np.asarray(template.state_variable, np.int64)),
    )


def letter_table(variable: np.ndarray) -> np.ndarray:
    """For each set of letters, as a bit mask: the one state that reads it, NOTHING, or SEVERAL."""
    variables = int(variable.max(initial=0)) + 1
    if variables > TABLE_VARIABLES:
        return np.empty(0, np.int64)
    masks = np.arange(2**variables)
    table = np.full(2**variables, NOTHING, np.int64)
    for state, letter in enumerate(variable):
        reading = (masks >> letter & 1).astype(bool)
        table[reading] = np.where(table[reading] == NOTHING, state, SEVERAL)
    return table
