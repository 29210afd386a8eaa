//! What the prototypes once cost: the first measurement of the bare mechanisms, before there was a server.
//!
//! Each execution model was tried as an echo server: 60 bytes in, 80 bytes out, over loopback, on the same kind of machine (two
//! virtual processors) and another day, with a load generator lighter than pgbench. What they cost on the day of a measurement
//! is measured with it ([`super::prototype`]); these figures say how far the machine has drifted.

/// The numbers of clients that the figures are for.
const CLIENTS: [u32; 4] = [1, 8, 100, 600];

/// Microseconds of CPU per request with server and client on one CPU, for each of [`CLIENTS`].
const ONE: &[(&str, [f64; 4])] = &[
    ("process/dedicated", [2.72, 3.14, 3.80, 5.23]),
    ("thread/dedicated", [2.85, 2.90, 3.36, 5.13]),
    ("process/shared", [2.93, 2.09, 1.86, 2.28]),
    ("thread/shared", [3.00, 2.22, 1.97, 2.34]),
    ("process/fiber", [2.95, 1.82, 1.67, 2.31]),
    ("thread/fiber", [3.00, 1.92, 1.74, 2.34]),
];

/// The figure for a cell, where there is one.
pub fn figure(model: &str, layout: &str, clients: u32) -> Option<f64> {
    let column = CLIENTS.iter().position(|&count| count == clients)?;
    let row = ONE.iter().find(|row| row.0 == model).filter(|_| layout == "one")?;
    Some(row.1[column])
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
