//! What a comparison can measure and set besides the usual: CPU time, watts, servers in turns, background load, kernel settings.

mod background;
mod cpu_time;
mod kernel;
mod turns;
mod watts;
