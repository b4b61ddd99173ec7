//! The machine's own BMC, asked through the kernel's IPMI device. A BMC on the network is in `network/dcmi.rs`.

use std::path::Path;

use super::sysfs;
use crate::network::dcmi::Dcmi;
use crate::source::NotMeasured;

/// The devices of the driver `ipmi_devintf`.
const DEVICES: [&str; 3] = ["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"];

/// The BMC, or why it cannot be asked.
pub(crate) fn find(root: &Path, virtualization: Option<&str>) -> Result<Dcmi, NotMeasured> {
    let failed = |why: &str| NotMeasured::new("bmc", why);
    if !DEVICES.iter().any(|device| sysfs::below(root, device).exists()) {
        return Err(match virtualization {
            Some(_) => failed(
                "a virtual machine has no BMC: name that of the machine below it (--source redfish=https://…)",
            ),
            None => failed(
                "there is no /dev/ipmi0: where the machine has a BMC, load its driver (sudo modprobe ipmi_si ipmi_devintf), \
                 or ask it over the network (--source redfish=https://…)",
            ),
        });
    }
    let mut dcmi = Dcmi::local();
    // It may have no DCMI, and ipmitool may be missing or need root.
    match crate::source::PowerSource::read(&mut dcmi) {
        Ok(_) => Ok(dcmi),
        Err(error) => Err(failed(&error.to_string())),
    }
}
