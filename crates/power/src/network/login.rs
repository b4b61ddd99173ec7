//! The user of a device.

use crate::secret::Secret;

/// The user and the password of a device.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub user: String,
    pub password: Secret,
}
