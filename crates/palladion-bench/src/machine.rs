//! This machine: its description, pinning to one core, and the clock of that core.

use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::facts::{self, Facts};

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

/// The facts about this machine.
pub fn facts() -> Facts {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field =
        |names: &[&str]| names.iter().find_map(|name| cpuinfo(&info, name)).unwrap_or_default();
    let flags = field(&["flags", "Features"]);
    let has = |feature: &&str| flags.split(' ').any(|flag| flag == *feature);
    let amd = field(&["vendor_id"]) == "AuthenticAMD";
    let number = |name| field(&[name]).parse().unwrap_or(0);
    let (part, implementer) = (field(&["CPU part"]), field(&["CPU implementer"]));
    let core = match part {
        "" => x86_core(amd, number("cpu family"), number("model"), number("stepping")),
        _ => arm_core(implementer, part),
    };
    let cpu = match field(&["model name"]).replace("(R)", "").replace("(TM)", "") {
        // Virtual machines call all of them so, or "AMD EPYC".
        name if !core.is_empty() && (amd || name == "Intel Xeon Processor") => {
            format!("{name} ({core})")
        }
        name if !name.is_empty() => name,
        _ if !core.is_empty() => format!("ARM {core}"),
        _ if !part.is_empty() => format!("ARM {implementer} {part}"),
        _ => named_by_system(),
    };
    let model = ["cpu family", "model", "stepping"].map(|name| field(&[name]));
    let cores = match info.lines().filter(|line| line.starts_with("processor")).count() {
        0 => std::thread::available_parallelism().map_or(0, usize::from),
        cores => cores,
    };
    let features: Vec<_> = FEATURES.into_iter().filter(has).collect();
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let mut facts = Facts::default();
    facts.set(facts::CPU, cpu);
    facts.set(facts::CORE, core);
    facts.set("Family-model-stepping", if part.is_empty() { model.join("-") } else { part.into() });
    facts.set("Cores", cores);
    facts.set("Features", features.join(" "));
    if cfg!(target_arch = "x86_64") {
        facts.set(facts::AES_UNITS, if amd || has(&"vaes") { 2 } else { 1 });
        facts.set(facts::AES_UNITS_512, if core == "Zen 5" { 2 } else { 1 });
    }
    facts.set("System", os());
    facts.set("Rust compiler", env!("BENCH_RUSTC"));
    facts.set("C compiler of crate aegis", env!("BENCH_CC"));
    facts.set("Revision", first_line("git", &["describe", "--always", "--dirty", "--exclude=*"]));
    facts.set(facts::DATE, date(seconds));
    facts
}

/// The name of a CPU as the name of a folder.
pub fn slug(cpu: &str) -> String {
    let cpu = cpu.to_lowercase().replace("(r)", "").replace("(tm)", "");
    let words = cpu.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The design of a core by AMD or Intel; empty if unknown.
fn x86_core(amd: bool, family: u32, model: u32, stepping: u32) -> &'static str {
    match (amd, family, model) {
        (true, 23, 0x00..=0x2f) => "Zen 1",
        (true, 23, _) => "Zen 2",
        (true, 25, 0x00..=0x0f | 0x20..=0x5f) => "Zen 3",
        (true, 25, _) => "Zen 4",
        (true, 26, _) => "Zen 5",
        (false, 6, 0x55) if stepping < 5 => "Skylake-SP",
        (false, 6, 0x55) => "Cascade Lake",
        (false, 6, 0x6a | 0x6c) => "Ice Lake-SP",
        (false, 6, 0x8f) => "Sapphire Rapids",
        (false, 6, 0xcf) => "Emerald Rapids",
        (false, 6, 0xad | 0xae) => "Granite Rapids",
        _ => "",
    }
}

/// The design of a core by ARM; empty if unknown.
fn arm_core(implementer: &str, part: &str) -> &'static str {
    match (implementer, part) {
        ("0x41", "0xd08") => "Cortex-A72",
        ("0x41", "0xd0b") => "Cortex-A76",
        ("0x41", "0xd0c") => "Neoverse N1",
        ("0x41", "0xd40") => "Neoverse V1",
        ("0x41", "0xd49") => "Neoverse N2",
        ("0x41", "0xd4f") => "Neoverse V2",
        ("0x41", "0xd83") => "Neoverse V3",
        ("0x41", "0xd8e") => "Neoverse N3",
        _ => "",
    }
}

/// The CPU's name on macOS and Windows.
fn named_by_system() -> String {
    if cfg!(target_os = "macos") {
        return first_line("sysctl", &["-n", "machdep.cpu.brand_string"]);
    }
    let unknown = |_| format!("unknown {}", std::env::consts::ARCH);
    std::env::var("PROCESSOR_IDENTIFIER").unwrap_or_else(unknown)
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
        let seconds = [0, 951_782_399, 951_782_400, 951_868_800, 1_798_761_599];
        let dates = ["1970-01-01", "2000-02-28", "2000-02-29", "2000-03-01", "2026-12-31"];
        assert_eq!(seconds.map(date), dates);
    }

    #[test]
    fn names() {
        let info = "vendor_id\t: GenuineIntel\nmodel\t\t: 85\nmodel name\t: Some: CPU\n";
        assert_eq!(cpuinfo(info, "model name"), Some("Some: CPU"));
        assert_eq!((cpuinfo(info, "model"), cpuinfo(info, "flags")), (Some("85"), None));
        let cpus = ["Intel(R) Xeon(R) Processor @ 2.50GHz", "AMD EPYC (Zen 3)", "ARM Neoverse N1"];
        let slugs = ["intel-xeon-processor-2-50ghz", "amd-epyc-zen-3", "arm-neoverse-n1"];
        assert_eq!(cpus.map(slug), slugs);
        let [milan, genoa, turin] = [(25, 1), (25, 17), (26, 2)];
        let cores = [milan, genoa, turin].map(|(f, m)| x86_core(true, f, m, 0));
        assert_eq!(cores, ["Zen 3", "Zen 4", "Zen 5"]);
    }
}
