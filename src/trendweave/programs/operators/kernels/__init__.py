"""Compiled loops of operators. A function here calls only functions of its own file."""
