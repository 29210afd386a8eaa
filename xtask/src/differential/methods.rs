//! Which methods Gearbox's planner may use for a statement: chosen by chance, so that each method has its turn on what it would not be
//! chosen for. PostgreSQL plans as it likes.

use fastrand::Rng;

/// The settings that switch methods.
const METHODS: [&str; 9] = [
    "enable_seqscan",
    "enable_indexscan",
    "enable_indexonlyscan",
    "enable_nestloop",
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_sort",
    "enable_hashagg",
    "enable_material",
];

/// Methods that are off, by bits, and whether there is little memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Methods {
    off: u16,
    little: bool,
}

impl Methods {
    /// None, one or several of them off.
    pub fn draw(rng: &mut Rng) -> Methods {
        let off = match rng.u8(..4) {
            0 => 0,
            1 => 1 << rng.usize(..METHODS.len()),
            _ => rng.u16(..1 << METHODS.len()),
        };
        Methods { off, little: rng.u8(..4) == 0 }
    }

    /// The statements that say so to a session, whatever it was told before.
    pub fn statements(self) -> String {
        let mut text = String::new();
        for (number, name) in METHODS.iter().enumerate() {
            let word = if self.off >> number & 1 == 1 { "off" } else { "on" };
            text += &format!("SET {name} = {word}; ");
        }
        text + if self.little { "SET work_mem = '64kB'" } else { "RESET work_mem" }
    }

    /// What differs from how a session begins.
    pub fn shown(self) -> String {
        let off = METHODS.iter().enumerate().filter(|(number, _)| self.off >> number & 1 == 1);
        let mut names: Vec<String> = off.map(|(_, name)| format!("{name} = off")).collect();
        if self.little {
            names.push("work_mem = 64kB".into());
        }
        if names.is_empty() { "default settings".into() } else { names.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_has_its_turn() {
        let mut rng = Rng::with_seed(1);
        let drawn: Vec<Methods> = (0..1000).map(|_| Methods::draw(&mut rng)).collect();
        for name in METHODS {
            let (off, on) = (format!("SET {name} = off"), format!("SET {name} = on"));
            assert!(drawn.iter().any(|one| one.statements().contains(&off)), "{off}");
            assert!(drawn.iter().any(|one| one.statements().contains(&on)), "{on}");
        }
        assert!(drawn.iter().any(|one| one.shown() == "default settings"));
        assert!(drawn.iter().any(|one| one.shown().contains("enable_sort = off, ")));
    }
}
