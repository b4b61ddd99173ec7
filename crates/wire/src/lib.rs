//! Protocols as state machines: bytes in, bytes out. Opens no socket, reads no clock.
