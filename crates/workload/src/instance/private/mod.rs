//! What a start keeps for itself on disk: its directories, its files and who may read them, its password and its certificate.

pub mod certificate;
pub mod credentials;
pub mod directories;
pub mod files;
pub mod password;
