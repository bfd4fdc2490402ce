"""What `tools/gpu_check.py` does on a card. Each module here has `check`, which compares, and `measure`, which times:

    def check(card: Card, report: Report, scale: float = 1.0) -> None
    def measure(card: Card, report: Report, scale: float = 1.0) -> None

Both call `report(name, **cells)` for each thing; a cell `ok=False` fails the whole run. `scale` makes sizes smaller, so
that the same code runs on a simulated card.
"""
