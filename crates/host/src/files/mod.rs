//! Files and folders that other users may reach: under whose control one is, how one that may be replaced is opened, journals, and scratch
//! directories that are removed.

pub mod journal_file;
pub mod ownership;
pub mod regular_file;
pub mod scratch;
