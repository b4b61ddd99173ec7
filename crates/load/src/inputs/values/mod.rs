//! Values of operations from files: `lines("urls.txt")`, `csv("customers.csv", "id", once)`.
//!
//! | file | content |
//! |---|---|
//! | `file` | a file of lines, with an index that is small whatever the file's length |
//! | `record` | the fields of a line |
//! | `place` | which values an HTTP request can take, by where they stand in it |
//! | `rows` | the lines that one worker's operations use, one after the other |

mod file;
mod place;
mod record;
mod rows;

pub use self::file::ValueFileError;
pub(crate) use self::place::{ValuePlace, push_percent};
pub(crate) use self::rows::{Column, DeclaredValues, LineOrder, ValueRef, ValueRows};
