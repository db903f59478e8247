//! Processes: started pinned, measured from `/proc`, stopped when dropped.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::CORE;

/// A child that ends with us.
pub struct Process(Child);

impl Process {
    pub fn start(program: &Path, arguments: &[&str], environment: &[(&str, &str)], log: &Path) -> Self {
        let log = std::fs::File::create(log).expect("the log can be written");
        let child = Command::new("taskset")
            .args(["-c", CORE])
            .arg(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log can be shared"))
            .stderr(log)
            .spawn();
        Self(child.unwrap_or_else(|error| panic!("{} does not start: {error}", program.display())))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// CPU seconds of the process and its children so far.
    pub fn cpu(&self) -> f64 {
        tree(self.pid()).iter().map(|pid| cpu_of(*pid)).sum()
    }

    /// Proportional set size of the process and its children, in KiB.
    pub fn pss(&self) -> u64 {
        tree(self.pid()).iter().map(|pid| pss_of(*pid)).sum()
    }
}

impl Drop for Process {
    /// Asked first: a master that is killed leaves its workers behind.
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.pid().to_string()).status();
        for _ in 0..50 {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process and its living children.
fn tree(pid: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok()).flat_map(tree);
    std::iter::once(pid).chain(children).collect()
}

fn cpu_of(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything; the fields after it do not. utime and stime are 14 and 15.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn pss_of(pid: u32) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = ((sorted.len() as f64 - 1.0) * share).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}
