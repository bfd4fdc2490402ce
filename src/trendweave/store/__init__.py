"""Stored events: files of Parquet as they lie, light indexes beside them, and questions answered through both.

Data is never owned: any tool reads it without us. Indexes are derived and disposable: one may cost time, never a row.
"""
