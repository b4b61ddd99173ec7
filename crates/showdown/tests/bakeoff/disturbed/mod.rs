//! Runs that are disturbed, interrupted or fail: what is kept, what is restored, what is said.

mod failures;
mod foreign_load;
mod full_disk;
mod kernel_restore;
mod resume;
