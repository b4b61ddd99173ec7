"""Users with sessions: what one costs the engine and its peers, in CPU time a request and in memory, for the same scenario."""
