//! Sensors of the kernel's hwmon that give power: the ACPI power meter, graphics cards, rails of the board.

use std::path::{Path, PathBuf};

use stats::quantity::Watts;

use super::sysfs;
use crate::boundary::Boundary;
use crate::error::PowerError;
use crate::source::NotMeasured;
use crate::source::{PowerReading, PowerSource, SourceAbout};

const DIRECTORY: &str = "/sys/class/hwmon";

const REMEDY: &str = "run as root";

/// A file with µW (Documentation/hwmon/sysfs-interface.rst).
#[derive(Debug)]
pub struct Hwmon {
    about: SourceAbout,
    file: PathBuf,
}

/// What a chip's sensor includes. The ACPI meter is of the whole machine; which side of the power supply it is on, the kernel does
/// not say. A chip of which nothing is known measures a part: a regulator and a power supply look alike.
fn boundary(chip: &str) -> Boundary {
    match chip {
        "power_meter" => Boundary::Unknown,
        "fam15h_power" => Boundary::Package,
        _ => Boundary::Component,
    }
}

/// The sources of this machine, or why there are none.
pub(super) fn find(root: &Path, virtualization: Option<&str>) -> Vec<Result<Hwmon, NotMeasured>> {
    let directory = sysfs::below(root, DIRECTORY);
    let mut found: Vec<Hwmon> = Vec::new();
    for device in sysfs::names(&directory) {
        let dir = directory.join(&device);
        let chip = sysfs::text(&dir.join("name")).unwrap_or_else(|| device.clone());
        for (sensor, file) in sensors(&dir) {
            let label = sysfs::text(&dir.join(format!("{sensor}_label"))).unwrap_or(sensor);
            let mut name = format!("hwmon-{chip}-{label}").replace(' ', "-");
            if found.iter().any(|other| other.about.name == name) {
                name = format!("{name}-{device}");
            }
            let about = SourceAbout {
                name,
                kind: "hwmon",
                origin: file.display().to_string(),
                boundary: boundary(&chip),
                uncertainty_percent: None,
            };
            found.push(Hwmon { about, file });
        }
    }
    if found.is_empty() {
        let why = match virtualization {
            Some(_) => "no sensor of this virtual machine gives power: measure on the machine below it",
            None => {
                "no sensor gives power: where the firmware has a meter, load its driver (sudo modprobe acpi_power_meter)"
            }
        };
        return vec![Err(NotMeasured::new("hwmon", why))];
    }
    found.into_iter().map(Ok).collect()
}

/// The sensors of a device that give power, each with its file. A present value is better than an average over a time that the
/// driver chose.
fn sensors(dir: &Path) -> Vec<(String, PathBuf)> {
    let names = sysfs::names(dir);
    let mut sensors: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let sensor = name.strip_suffix("_input").or_else(|| name.strip_suffix("_average"))?;
            let number = sensor.strip_prefix("power")?;
            number.parse::<u32>().is_ok().then(|| sensor.to_owned())
        })
        .collect();
    sensors.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    sensors.dedup();
    let file = |sensor: String| {
        let input = dir.join(format!("{sensor}_input"));
        let average = dir.join(format!("{sensor}_average"));
        let file = if input.exists() { input } else { average };
        (sensor, file)
    };
    sensors.into_iter().map(file).collect()
}

impl PowerSource for Hwmon {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        let microwatts = sysfs::number(&self.file, REMEDY)?;
        Ok(PowerReading::Power(Watts::new(microwatts as f64 / 1e6)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn sensors_have_their_names_units_and_boundaries() {
        let machine = machine(&[
            ("/sys/class/hwmon/hwmon0/name", "coretemp"),
            ("/sys/class/hwmon/hwmon0/temp1_input", "40000"),
            ("/sys/class/hwmon/hwmon2/name", "power_meter"),
            ("/sys/class/hwmon/hwmon2/power1_average", "203000000"),
            ("/sys/class/hwmon/hwmon2/power1_average_interval", "1000"),
            ("/sys/class/hwmon/hwmon10/name", "amdgpu"),
            ("/sys/class/hwmon/hwmon10/power1_average", "9000000"),
            ("/sys/class/hwmon/hwmon10/power1_input", "8500000"),
            ("/sys/class/hwmon/hwmon10/power1_label", "PPT"),
            ("/sys/class/hwmon/hwmon11/name", "amdgpu"),
            ("/sys/class/hwmon/hwmon11/power1_average", "7000000"),
            ("/sys/class/hwmon/hwmon11/power1_label", "PPT"),
            ("/sys/class/hwmon/hwmon11/power1_cap", "1"),
        ]);
        let found: Vec<(String, Boundary, PowerReading)> = find(machine.path(), None)
            .into_iter()
            .map(|source| {
                let mut source = source.unwrap();
                (source.about.name.clone(), source.about.boundary, source.read().unwrap())
            })
            .collect();
        let watts = |watts| PowerReading::Power(Watts::new(watts));
        let expected = [
            ("hwmon-power_meter-power1".to_owned(), Boundary::Unknown, watts(203.0)),
            ("hwmon-amdgpu-PPT".to_owned(), Boundary::Component, watts(8.5)),
            ("hwmon-amdgpu-PPT-hwmon11".to_owned(), Boundary::Component, watts(7.0)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_sensor_that_fails_says_so_when_it_is_read() {
        let machine = machine(&[
            ("/sys/class/hwmon/hwmon0/name", "power_meter"),
            ("/sys/class/hwmon/hwmon0/power1_average", "-5"),
        ]);
        let mut source = find(machine.path(), None).remove(0).unwrap();
        let negative = source.read().unwrap_err().to_string();
        assert!(negative.contains("contains \"-5\", not a number"), "{negative}");
        std::fs::remove_file(&source.file).unwrap();
        assert!(source.read().unwrap_err().to_string().contains("its driver is gone"));
    }

    #[test]
    fn without_sensors_there_is_a_reason() {
        let machine = machine(&[("/sys/class/hwmon/hwmon0/name", "coretemp")]);
        let why = |kind| find(machine.path(), kind).remove(0).unwrap_err().why;
        assert!(why(None).contains("modprobe acpi_power_meter"));
        assert!(why(Some("KVM")).contains("measure on the machine below it"));
    }
}
