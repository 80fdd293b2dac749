//! Facts about the machine and a run: names and values, in the order of the report.

use std::str::FromStr;

pub const COMMAND: &str = "Command";
pub const CPU: &str = "CPU";
/// The design of the core, such as "Zen 4".
pub const CORE: &str = "Core";
/// The number of AES instructions on up to 32 bytes that the core starts per cycle.
pub const AES_UNITS: &str = "AES units";
/// The same for 64 bytes.
pub const AES_UNITS_512: &str = "AES units of 64 bytes";
/// The core's clock in GHz during the samples.
pub const CLOCK: &str = "Clock in GHz, median";
pub const CLOCK_MAX: &str = "Clock in GHz, highest";
/// The backend that stands for this library: the one chosen automatically, unless filters exclude
/// it.
pub const BACKEND: &str = "Backend";
pub const DATE: &str = "Date";
pub const PROCESSES: &str = "Processes";
pub const ROUNDS: &str = "Rounds";
pub const SECONDS: &str = "Seconds";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(Vec<(String, String)>);

impl Facts {
    /// The value, or nothing if it is unknown.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|fact| fact.0 == name).map_or("", |fact| &fact.1)
    }

    pub fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.get(name).parse().ok()
    }

    /// Sets a value, or leaves it unknown if it is empty.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        let value = value.to_string();
        match self.0.iter_mut().find(|fact| fact.0 == name) {
            Some(fact) => fact.1 = value,
            None if value.is_empty() => {}
            None => self.0.push((name.to_owned(), value)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// A line for each fact.
    pub fn text(&self) -> String {
        self.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let fact = |line: &str| {
            let fact = line.split_once(": ").ok_or_else(|| format!("not a fact: {line}"))?;
            Ok((fact.0.to_owned(), fact.1.to_owned()))
        };
        text.lines().map(fact).collect::<Result<_, String>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let mut facts = Facts::default();
        facts.set(CPU, "A: fast, new CPU");
        facts.set(CLOCK, 3.5);
        facts.set(DATE, "");
        assert_eq!(facts.text(), "CPU: A: fast, new CPU\nClock in GHz, median: 3.5\n");
        assert_eq!(Facts::parse(&facts.text()).unwrap(), facts);
        assert_eq!(facts.number(CLOCK), Some(3.5));
        assert_eq!((facts.number::<u32>(CPU), facts.get(DATE)), (None, ""));
        facts.set(CLOCK, 4);
        assert_eq!(facts.number(CLOCK), Some(4));
        assert!(Facts::parse("CPU\n").is_err());
    }
}
