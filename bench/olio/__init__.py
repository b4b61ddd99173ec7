"""Olio: how long its data take, comparisons and knees of its implementations, and the proofs that they are equal.

file        what it holds
__main__    the command line: which pieces are measured, in which order
pieces      the pieces with their times
data        the data, made twice and compared
compared    a comparison of two implementations
knee        the users that one implementation carries
page        the page
"""
