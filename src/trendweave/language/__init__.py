"""Query text <-> syntax tree."""

from trendweave.language.parser import parse
from trendweave.language.printer import print_query
from trendweave.language.syntax_tree import QueryTree

__all__ = ["QueryTree", "parse", "print_query"]
