"""Devices that compute: one core, all cores, or a GPU; which of them are there, and which one a run takes."""
