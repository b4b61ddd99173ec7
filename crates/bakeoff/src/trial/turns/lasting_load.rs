//! Whether slices show what servers do under a lasting load. Each server has had both when its turns are over: the steady closed loop of its
//! warm-up, without a break, and its slices. What takes longer to build up than a slice lasts, or ends with a connection, is in the first
//! alone: buffers of connections that grow, caches that fill, collectors of garbage. Servers that it meets unlike run one at a time.

use archive::model::thousands;

/// How much more one server may gain by breaks than another, as a ratio. A warm-up of a second scatters by some percent, and this compares four figures.
const MOST_GAINED: f64 = 1.25;

/// What a server carried in a closed loop, operations a second.
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoops<'n> {
    pub name: &'n str,
    /// In the slices of its turns.
    pub in_slices_per_s: f64,
    /// In the steady part of its warm-up.
    pub lasting_per_s: f64,
}

impl ClosedLoops<'_> {
    /// What it gains by breaks, as a ratio; none if it carried nothing.
    fn gain(&self) -> Option<f64> {
        let gain = self.in_slices_per_s / self.lasting_per_s;
        (gain.is_finite() && gain > 0.0).then_some(gain)
    }
}

/// Why these servers must run one at a time; none if breaks between slices are alike to them.
pub fn why_alone(servers: &[ClosedLoops<'_>]) -> Option<String> {
    let mut by_gain: Vec<(f64, &ClosedLoops<'_>)> = Vec::new();
    for server in servers {
        by_gain.push((server.gain()?, server));
    }
    by_gain.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((least, least_of), (most, most_of)) = (by_gain.first()?, by_gain.last()?);
    (most / least > MOST_GAINED).then(|| {
        format!(
            "{} carries {}/s in short slices and {}/s without breaks, {} {}/s and {}/s: only a lasting load shows both",
            most_of.name,
            thousands(most_of.in_slices_per_s),
            thousands(most_of.lasting_per_s),
            least_of.name,
            thousands(least_of.in_slices_per_s),
            thousands(least_of.lasting_per_s),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(loops: &[(&'static str, f64, f64)]) -> Option<String> {
        let servers = loops.iter().map(|&(name, in_slices_per_s, lasting_per_s)| ClosedLoops {
            name,
            in_slices_per_s,
            lasting_per_s,
        });
        why_alone(&servers.collect::<Vec<_>>())
    }

    #[test]
    fn a_server_that_only_breaks_make_fast_runs_alone() {
        // Measured with files of up to 10 MiB on connections whose buffers grow for a second.
        assert_eq!(
            why(&[("nginx", 61_806.0, 34_564.0), ("apache", 32_354.0, 30_840.0)]).as_deref(),
            Some(
                "nginx carries 61,806/s in short slices and 34,564/s without breaks, apache 32,354/s and 30,840/s: only a lasting load \
                 shows both"
            )
        );
    }

    #[test]
    fn what_breaks_do_to_all_servers_alike_cancels() {
        assert_eq!(why(&[("nginx", 60_000.0, 50_000.0), ("nginx#2", 61_000.0, 49_000.0)]), None);
        assert_eq!(
            why(&[("nginx", 60_000.0, 0.0), ("apache", 30_000.0, 30_000.0)]),
            None,
            "nothing to compare"
        );
        assert_eq!(why(&[("nginx", 60_000.0, 30_000.0)]), None);
        assert_eq!(why(&[]), None);
    }
}
