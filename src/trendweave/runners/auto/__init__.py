"""device="auto": what a program has to do with some events, estimated from a sample, and the device that suits it."""
