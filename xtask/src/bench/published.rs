//! What the prototypes once cost: the first measurement of the bare mechanisms, before there was a server.
//!
//! Each execution model was tried as an echo server: 60 bytes in, 80 bytes out, over loopback, on the same kind of machine (two
//! virtual processors) and another day, with a load generator lighter than pgbench. What they cost on the day of a measurement
//! is measured with it ([`super::prototype`]); these figures say how far the machine has drifted.

/// The numbers of clients that the figures are for.
const CLIENTS: [u32; 4] = [1, 8, 100, 600];

/// Nanoseconds of CPU per request with server and client on one CPU, for each of [`CLIENTS`].
const ONE: &[(&str, [u32; 4])] = &[
    ("process/dedicated", [2720, 3140, 3800, 5230]),
    ("thread/dedicated", [2850, 2900, 3360, 5130]),
    ("process/shared", [2930, 2090, 1860, 2280]),
    ("thread/shared", [3000, 2220, 1970, 2340]),
    ("process/fiber", [2950, 1820, 1670, 2310]),
    ("thread/fiber", [3000, 1920, 1740, 2340]),
];

/// The microseconds for a cell, where there are any.
pub fn figure(model: &str, layout: &str, clients: u32) -> Option<f64> {
    let column = CLIENTS.iter().position(|&count| count == clients)?;
    let row = ONE.iter().find(|row| row.0 == model).filter(|_| layout == "one")?;
    Some(f64::from(row.1[column]) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MODELS;

    #[test]
    fn every_model_has_its_figures() {
        for model in MODELS {
            let model = model.to_string();
            assert!(CLIENTS.iter().all(|&clients| figure(&model, "one", clients).is_some()));
            assert!(figure(&model, "free", 8).is_none() && figure(&model, "one", 9).is_none());
        }
    }
}
