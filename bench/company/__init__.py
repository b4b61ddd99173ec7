"""Comparisons beside other programs: how often is the verdict false, and is a known difference found?

file        what it holds
__main__    the command line, and one round of the series
company     the other programs, each kind as processes that end with their `with` block
subjects    what is compared
page        rows to Markdown
"""
