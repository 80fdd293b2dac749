//! This machine: its description, pinning to one core, and the clock of that core.

use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The properties that results depend on, besides the code.
#[derive(Clone, Debug)]
pub struct Machine {
    pub cpu: String,
    /// Family, model and stepping.
    pub model: String,
    /// The CPU's features that matter here.
    pub features: Vec<String>,
    /// The number of AES instructions on up to 32 bytes that the core starts per cycle.
    pub aes_units: u32,
    /// The same for 64 bytes.
    pub aes_units_512: u32,
    /// 0 if unknown.
    pub cores: usize,
    /// The core that the program is pinned to.
    pub core: Option<usize>,
    pub os: String,
    pub rustc: String,
    /// The compiler of the crate `aegis`.
    pub c_compiler: String,
    /// The revision of this repository.
    pub revision: String,
    /// The date in UTC.
    pub date: String,
}

const FEATURES: [&str; 13] = [
    "aes",
    "vaes",
    "pclmulqdq",
    "vpclmulqdq",
    "avx",
    "avx2",
    "avx512f",
    "avx512vl",
    "gfni",
    "sha_ni",
    "hypervisor",
    "asimd",
    "sha2",
];

impl Machine {
    pub fn this(core: Option<usize>) -> Self {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field =
            |names: &[&str]| names.iter().find_map(|name| cpuinfo(&info, name)).unwrap_or_default();
        let flags = field(&["flags", "Features"]);
        let has = |feature: &&str| flags.split(' ').any(|flag| flag == *feature);
        let cpu = field(&["model name", "CPU part"]);
        let model = ["cpu family", "model", "stepping"].map(|name| field(&[name])).join("-");
        let amd = field(&["vendor_id"]) == "AuthenticAMD";
        let number = |name| field(&[name]).parse().unwrap_or(0);
        let zen = zen(number("cpu family"), number("model")).filter(|_| amd);
        Self {
            cpu: match zen {
                _ if cpu.is_empty() => format!("unknown {}", std::env::consts::ARCH),
                // Virtual machines call all of them "AMD EPYC".
                Some(zen) => format!("{cpu} (Zen {zen})"),
                None => cpu.to_owned(),
            },
            features: FEATURES.iter().filter(|f| has(f)).map(|f| (*f).to_owned()).collect(),
            aes_units: if amd || has(&"vaes") { 2 } else { 1 },
            // Zen 5.
            aes_units_512: if amd && field(&["cpu family"]) == "26" { 2 } else { 1 },
            model,
            cores: info.lines().filter(|line| line.starts_with("processor")).count(),
            core,
            os: os(),
            rustc: env!("BENCH_RUSTC").into(),
            c_compiler: env!("BENCH_CC").into(),
            revision: first_line("git", &["describe", "--always", "--dirty", "--exclude=*"]),
            date: date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs())),
        }
    }

    /// The name of the CPU as the name of a folder.
    pub fn slug(&self) -> String {
        let cpu = self.cpu.to_lowercase().replace("(r)", "").replace("(tm)", "");
        let words = cpu.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-")
    }
}

/// Returns which Zen core an AMD CPU has, by family and model, for those with VAES.
fn zen(family: u32, model: u32) -> Option<u32> {
    match (family, model) {
        (25, 0x00..=0x0f | 0x20..=0x5f) => Some(3),
        (25, _) => Some(4),
        (26, _) => Some(5),
        _ => None,
    }
}

fn cpuinfo<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let fields = info.lines().filter_map(|line| line.split_once(':'));
    fields
        .map(|(key, value)| (key.trim(), value.trim()))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

fn os() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or(std::env::consts::OS, |name| name.trim_matches('"')).to_owned()
}

fn first_line(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let text = output
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

/// Converts seconds since 1970 to a date.
fn date(seconds: u64) -> String {
    // Years start in March here, so that the leap day is the last day.
    let days = seconds / 86400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, january) = (day - (153 * month + 2) / 5 + 1, month >= 10);
    let month = if january { month - 9 } else { month + 3 };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + u64::from(january))
}

/// Pins the program to this core, or to the last one that it may use. Returns the core, or `None`
/// if that is impossible.
#[cfg(target_os = "linux")]
pub fn pin(core: Option<usize>) -> Option<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let allowed = sched_getaffinity(None).ok()?;
    let last = || (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
    let core = core.or_else(last).filter(|&core| core < CpuSet::MAX_CPU)?;
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).ok().map(|()| core)
}

/// Other systems would need another dependency for this.
#[cfg(not(target_os = "linux"))]
pub fn pin(_core: Option<usize>) -> Option<usize> {
    None
}

/// The latency of a multiplication in cycles, the same on all CPUs that matter here.
const MULTIPLICATION: Option<f64> = if cfg!(target_arch = "x86_64") { Some(3.0) } else { None };

/// Measures the core's present clock in GHz, with a chain of multiplications that takes about 3
/// microseconds. An interruption makes the result too low.
pub fn clock() -> Option<f64> {
    const STEPS: u32 = 2048;
    let cycles = MULTIPLICATION? * f64::from(STEPS);
    let start = Instant::now();
    let mut x = black_box(3_u64);
    for _ in 0..STEPS / 8 {
        for _ in 0..8 {
            x = x.wrapping_mul(x);
        }
    }
    black_box(x);
    Some(cycles / start.elapsed().as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_399), "2000-02-28");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(951_868_800), "2000-03-01");
        assert_eq!(date(1_798_761_599), "2026-12-31");
        assert_eq!(date(1_798_761_600), "2027-01-01");
    }

    #[test]
    fn fields_of_cpuinfo() {
        let info = "vendor_id\t: GenuineIntel\nmodel\t\t: 85\nmodel name\t: Some: CPU\n";
        assert_eq!(cpuinfo(info, "model name"), Some("Some: CPU"));
        assert_eq!(cpuinfo(info, "model"), Some("85"));
        assert_eq!(cpuinfo(info, "flags"), None);
    }

    #[test]
    fn slugs() {
        let mut machine = Machine::this(None);
        machine.cpu = "Intel(R) Xeon(R) Processor @ 2.50GHz".into();
        assert_eq!(machine.slug(), "intel-xeon-processor-2-50ghz");
        machine.cpu = "AMD EPYC (Zen 3)".into();
        assert_eq!(machine.slug(), "amd-epyc-zen-3");
    }

    #[test]
    fn zen_cores() {
        let [milan, genoa, turin] = [(25, 1), (25, 17), (26, 2)];
        assert_eq!([milan, genoa, turin].map(|(f, m)| zen(f, m)), [Some(3), Some(4), Some(5)]);
    }
}
