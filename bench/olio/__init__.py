"""Olio: how long its data take, and comparisons of its implementations.

file        what it holds
__main__    the command line, and one measurement of each kind
page        the page
"""
