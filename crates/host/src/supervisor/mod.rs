//! The supervisor: processes that stop a server when showdown ends, also after SIGKILL.
//!
//! ```text
//!  showdown ──control──▶ guard ──▶ supervisor ──▶ launcher ═exec═▶ server ──▶ workers, daemons, …
//!           ◀──events───────────────┘
//! ```
//!
//! All of them are this program, started with the hidden first argument [`role::VERB`](crate::process::role::VERB):
//!
//! - The **supervisor** is a *child subreaper* (`PR_SET_CHILD_SUBREAPER`, prctl(2)): the kernel reparents every
//!   descendant of the server to the supervisor and not to init, also after a double fork or a change of session.
//!   The supervisor finds all of them by their parents, and `ECHILD` shows that none is left. It stops the server
//!   on request, and when the control pipe closes because showdown died. It limits the space of the server's log.
//! - The **guard** is a subreaper too. It only waits for the supervisor. If the supervisor is killed, the guard inherits
//!   the server's processes and kills them. If the guard is killed, the supervisor gets SIGTERM
//!   (`PR_SET_PDEATHSIG`) and stops the server. No single SIGKILL leaves processes behind.
//! - The **launcher** sets what must be set before exec (session, affinity, death signal, log) and becomes the
//!   server. It needs no `pre_exec` and so no unsafe code.
//!
//! A server that another program starts (a container's daemon, a service manager) has no parent here. The supervisor runs its stop command,
//! and signals what listens at the server's port and has started since.
//!
//! The owner's end of both pipes is [`ServerProcess`]. Which role a process of this program has, `roles.rs` decides: there are two
//! more, the restorer of [`crate::knobs`] and the squeezer of [`crate::squeeze`].
//!
//! The supervisor's arguments contain nothing about the server. The order goes through the pipe, so no secret
//! appears in `ps`. The processes are named `sd-guard`, `sd-supervisor` and `sd-restorer`, so that
//! `pkill -9 showdown` does not kill the processes that clean up. `docs/decisions/0003-supervisor.md` has the
//! reasons and the alternatives.

mod events;
mod external;
pub(crate) mod guard;
mod inputs;
pub(crate) mod launch;
mod log_limit;
mod protocol;
mod server;
mod subtree;
pub(crate) mod supervise;

pub(crate) use server::start;
pub use server::{ServerProcess, Stopped};
