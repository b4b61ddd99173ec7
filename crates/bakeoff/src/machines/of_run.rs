//! The machines of a run: this one and those of the hosts file, which variant runs where, and which make the load.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::Duration;

use archive::model::{Facts, FlatFacts, Plan, PlannedHost, Variant};
use host::CpuSet;
use machine::{Machine, MachineError};

use crate::machines::network_paths::NetworkPaths;
use crate::machines::shared_kernel;
use crate::plan::hosts::CheckedHosts;
use crate::plan::kind_assignment;

/// Index of this machine.
pub const HERE: usize = 0;

/// A machine of a run.
pub struct RunMachine<'m> {
    /// Its name in the hosts file; none for this machine.
    pub name: Option<String>,
    /// What does its work.
    pub machine: &'m dyn Machine,
    /// The CPUs of its servers, or of the clients where it has no server.
    pub server_cpus: CpuSet,
}

/// All machines of a run.
pub struct RunMachines<'m> {
    /// This machine, and then the others.
    machines: Vec<RunMachine<'m>>,
    /// Of each variant of the plan, those that its blocks take in turns.
    places: Vec<Vec<Place>>,
    /// The machines that make the load.
    clients: Vec<usize>,
    /// Of each machine, the others whose programs it sees.
    sees: Vec<Vec<usize>>,
    /// The CPUs of the client on this machine.
    pub client_cpus: CpuSet,
    /// What the networks between them carry.
    pub paths: NetworkPaths,
}

/// Where a variant runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the machine.
    pub machine: usize,
    /// Where its servers listen.
    pub address: IpAddr,
}

impl<'m> RunMachines<'m> {
    /// The machines of a plan with these hosts: `here`, and the others.
    pub fn new(
        plan: &Plan,
        hosts: &CheckedHosts,
        here: RunMachine<'m>,
        others: impl IntoIterator<Item = RunMachine<'m>>,
        client_cpus: CpuSet,
    ) -> Self {
        let machines: Vec<RunMachine<'m>> = [here].into_iter().chain(others).collect();
        let place = |host: &PlannedHost| {
            let entry = hosts.get(&host.name)?;
            let is_it = |machine: &RunMachine<'_>| machine.name.as_ref() == Some(&entry.name);
            // One without `ssh` is this machine.
            let machine = machines.iter().position(is_it).unwrap_or(HERE);
            Some(Place { machine, address: entry.address })
        };
        let places_of = |variant: &Variant| {
            let places: Vec<Place> =
                kind_assignment::machines(plan, variant).into_iter().filter_map(place).collect();
            let here = Place { machine: HERE, address: Ipv4Addr::LOCALHOST.into() };
            if places.is_empty() { vec![here] } else { places }
        };
        let places = plan.variants.iter().map(places_of).collect();
        let position =
            |name: &String| machines.iter().position(|machine| machine.name.as_ref() == Some(name));
        let mut clients: Vec<usize> =
            plan.clients.iter().map(|name| position(name).unwrap_or(HERE)).collect();
        if clients.is_empty() {
            clients.push(HERE);
        }
        let sees = vec![Vec::new(); machines.len()];
        Self { machines, places, clients, sees, client_cpus, paths: NetworkPaths::default() }
    }

    /// Takes from their facts which of them share a kernel.
    pub fn find_shared_kernels(&mut self, facts: &Facts) {
        let of = |machine: &RunMachine<'_>| match &machine.name {
            Some(name) => facts.hosts.get(name),
            None => Some(&facts.host),
        };
        let of_each: Vec<Option<&FlatFacts>> = self.machines.iter().map(of).collect();
        self.sees = shared_kernel::seen_by_each(&of_each, &host::process::seen_namespaces());
    }

    /// The machines that make the load.
    pub fn clients(&self) -> &[usize] {
        &self.clients
    }

    /// The machines whose programs this one counts as its own or others': they share its kernel.
    pub fn seen_by(&self, machine: usize) -> &[usize] {
        &self.sees[machine]
    }

    /// A machine.
    pub fn get(&self, machine: usize) -> &RunMachine<'m> {
        &self.machines[machine]
    }

    /// This machine, with the client.
    pub fn here(&self) -> &RunMachine<'m> {
        self.get(HERE)
    }

    /// Where a variant of the plan runs in a block.
    pub fn place_of(&self, variant: usize, block: u32) -> Place {
        let places = &self.places[variant];
        places[kind_assignment::set_of(block, places.len() as u32) as usize]
    }

    /// Whether a variant of the plan runs on a machine in some block.
    pub fn runs_on(&self, variant: usize, machine: usize) -> bool {
        self.places[variant].iter().any(|place| place.machine == machine)
    }

    /// Whether there are several machines, so that messages name them.
    pub fn are_several(&self) -> bool {
        self.machines.len() > 1
    }

    /// All of them, this one first.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &RunMachine<'m>)> {
        self.machines.iter().enumerate()
    }

    /// The CPUs of a machine that a run uses.
    pub fn used_cpus(&self, machine: usize) -> CpuSet {
        let servers = self.get(machine).server_cpus.iter();
        let has_client = machine == HERE && self.clients.contains(&HERE);
        let client = if has_client { self.client_cpus.clone() } else { CpuSet::default() };
        servers.chain(client.iter()).collect()
    }

    /// The facts of the others, by name.
    pub fn facts_of_others(&self) -> Result<BTreeMap<String, FlatFacts>, MachineError> {
        let named = self.machines.iter().filter_map(|machine| Some((machine.name.clone()?, machine)));
        named.map(|(name, machine)| Ok((name, machine.machine.facts()?.flat()))).collect()
    }

    /// The largest share of the CPU time that a hypervisor takes on any machine: all are measured at the same time. None where
    /// no kernel reports it.
    pub fn most_stolen(&self, length: Duration) -> Option<f64> {
        let one = |index: usize| {
            let cpus = self.used_cpus(index);
            self.get(index).machine.stolen_under_load(&cpus, length).ok().flatten()
        };
        thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.machines.len()).map(|index| scope.spawn(move || one(index))).collect();
            let shares = threads.into_iter().filter_map(|thread| thread.join().ok().flatten());
            shares.max_by(f64::total_cmp)
        })
    }
}
