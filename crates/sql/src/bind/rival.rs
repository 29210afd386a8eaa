//! Functions of one name that take the same arguments in a call: which of them is meant, before types are looked at.
//!
//! ```text
//!  path sa, sb:  sa.f(VARIADIC int[])   sb.f(int)            f(1) is sa's: earlier in the path
//!  one schema:   f(int)                 f(VARIADIC int[])    f(1) is the first: nothing is gathered
//!  one schema:   f(int)                 f(int, int = 2)      f(1) is neither: nothing tells them apart
//! ```

use crate::types::Oid;

/// One of them.
pub(crate) struct Rival<T> {
    /// What it is.
    pub(crate) meant: T,
    /// What each argument of the call is declared as.
    pub(crate) args: Vec<Oid>,
    /// The place of its schema in the path.
    pub(crate) place: usize,
    /// It takes any number of arguments one by one.
    pub(crate) spreads: bool,
    /// Another one has the same right to the call: it is an error to mean it.
    pub(crate) is_ambiguous: bool,
}

impl<T> Rival<T> {
    /// Adds it to others, or leaves one out that goes behind another. Those of the path's first schemas come first.
    pub(crate) fn add_to(self, others: &mut Vec<Rival<T>>) {
        let Some(known) = others.iter_mut().find(|known| known.args == self.args) else { return others.push(self) };
        match (known.place == self.place, known.spreads, self.spreads) {
            (false, ..) | (true, false, true) => {}
            (true, true, false) => *known = self,
            (true, ..) => known.is_ambiguous = true,
        }
    }
}
