"""Runs every check of the continuous integration: parts beside one another, and the Rust tests several at a time.

parts      the parts and their order: what each needs to have ended before it begins
programs   the test programs that cargo has built, and the tests in them
pool       runs programs, so many at a time, and keeps what they print
times      what was slow, how busy the CPUs were, what was skipped

The commands of the parts are in the Makefile, where a developer runs each of them alone.
"""
