"""Query text <-> syntax tree, for every kind of query."""

from trendweave.language.interval_printer import print_tree
from trendweave.language.interval_tree import SituatedTree, Tree
from trendweave.language.parser import parse
from trendweave.language.printer import print_query
from trendweave.language.syntax_tree import QueryTree

__all__ = ["QueryTree", "SituatedTree", "Tree", "parse", "print_query", "print_tree"]
