//! One value by SNMP, version 1 or 2c: a datagram and its answer.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use snmp2::{Oid, SyncSession, Value};

use crate::error::PowerError;
use crate::secret::Secret;

/// For each of the two tries.
const TIMEOUT: Duration = Duration::from_millis(1500);

/// The version of SNMP. Version 3 is not spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnmpVersion {
    /// RFC 1157: all that first-generation PDUs speak.
    V1,
    /// Community-based version 2, RFC 1901.
    V2c,
}

/// An agent of SNMP.
pub(crate) struct SnmpClient {
    /// Host and port.
    address: String,
    community: Secret,
    version: SnmpVersion,
    session: Option<SyncSession>,
    next_request: i32,
}

impl std::fmt::Debug for SnmpClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SnmpClient").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Why one try failed.
enum Failed {
    /// Nothing came in time, or something of another request: a second try may do better.
    Again,
    /// It is answered and final.
    Final(PowerError),
}

impl SnmpClient {
    pub(crate) fn new(address: String, community: Secret, version: SnmpVersion) -> Self {
        Self { address, community, version, session: None, next_request: 1 }
    }

    /// The integer at this object identifier; none if the agent has no such object.
    pub(super) fn integer(&mut self, oid: &[u64]) -> Result<Option<i64>, PowerError> {
        for _try in 0..2 {
            match self.try_integer(oid) {
                Ok(value) => return Ok(value),
                Err(Failed::Final(error)) => return Err(error),
                // A late answer to this try would be taken for one to the next.
                Err(Failed::Again) => self.session = None,
            }
        }
        let why = format!(
            "no answer within {} s; an agent is also silent if the community or the version is wrong",
            TIMEOUT.as_secs() * 2 + 1
        );
        Err(PowerError::NoAnswer { address: self.address.clone(), why })
    }

    /// The host and port that were resolved, as an error needs them.
    fn resolve(&self) -> Result<SocketAddr, String> {
        let mut addresses = self.address.to_socket_addrs().map_err(|error| error.to_string())?;
        addresses.next().ok_or_else(|| "the name has no address".to_owned())
    }

    fn try_integer(&mut self, numbers: &[u64]) -> Result<Option<i64>, Failed> {
        let no_answer =
            |why: String| Failed::Final(PowerError::NoAnswer { address: self.address.clone(), why });
        if self.session.is_none() {
            let target = self.resolve().map_err(no_answer)?;
            let community = self.community.expose().as_bytes();
            let open = match self.version {
                SnmpVersion::V1 => SyncSession::new_v1,
                SnmpVersion::V2c => SyncSession::new_v2c,
            };
            let session = open(target, community, Some(TIMEOUT), self.next_request);
            self.session = Some(session.map_err(|error| no_answer(error.to_string()))?);
            // The next session does not repeat the numbers of this one's requests.
            self.next_request = self.next_request.wrapping_add(1_000_003) & i32::MAX;
        }
        let Some(session) = &mut self.session else { return Err(Failed::Again) };
        let shown = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
        let address = format!("{} at .{shown}", self.address);
        let answer = |why: String| Failed::Final(PowerError::Answer { address: address.clone(), why });
        let oid = Oid::from(numbers).map_err(|_| answer("the identifier is not valid".to_owned()))?;
        let mut response = session.get(&oid).map_err(|error| match error {
            snmp2::Error::Receive | snmp2::Error::RequestIdMismatch => Failed::Again,
            snmp2::Error::Send => {
                let why = "nothing can be sent there".to_owned();
                Failed::Final(PowerError::NoAnswer { address: self.address.clone(), why })
            }
            error => answer(format!("it is not SNMP of this version ({error})")),
        })?;
        // RFC 1157: 2 is noSuchName. Version 2c answers with a value that says so.
        match response.error_status {
            0 => {}
            2 => return Ok(None),
            16 => {
                let why = "authorizationError".to_owned();
                let keys = "community_env";
                return Err(Failed::Final(PowerError::Refused { address, why, keys }));
            }
            status => return Err(answer(format!("it has the error status {status}"))),
        }
        let (name, value) = response.varbinds.next().ok_or_else(|| answer("it has no value".to_owned()))?;
        if name != oid {
            return Err(answer("it is of another object".to_owned()));
        }
        match value {
            Value::Integer(number) => Ok(Some(number)),
            Value::Unsigned32(number) | Value::Counter32(number) => Ok(Some(i64::from(number))),
            Value::NoSuchObject | Value::NoSuchInstance | Value::EndOfMibView => Ok(None),
            _ => Err(answer("it is not an integer".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use snmp2::Pdu;

    /// What snmpd says of `rPDU2DeviceStatusPower.1`: 21.
    const ANSWER: [u8; 45] = [
        0x30, 0x2b, 2, 1, 1, 4, 3, b'l', b'a', b'b', 0xa2, 0x21, 2, 1, 1, 2, 1, 0, 2, 1, 0, 0x30, 0x16, 0x30,
        0x14, 6, 0x0f, 0x2b, 6, 1, 4, 1, 0x82, 0x3e, 1, 1, 0x1a, 4, 3, 1, 5, 1, 2, 1, 0x15,
    ];

    fn parse(bytes: &[u8]) -> usize {
        Pdu::from_bytes(bytes).map_or(0, |pdu| pdu.varbinds.count())
    }

    #[test]
    fn an_answer_has_one_value() {
        assert_eq!(parse(&ANSWER), 1);
    }

    proptest! {
        #[test]
        fn no_changed_or_cut_answer_panics(
            changes in prop::collection::vec((0..ANSWER.len(), any::<u8>()), 0..6),
            length in 0..=ANSWER.len(),
        ) {
            let mut answer = ANSWER;
            for (place, byte) in changes {
                answer[place] = byte;
            }
            let _ = parse(&answer[..length]);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
