//! Run directories, their formats, and the index over them.
