//! Catalogs whose rows never change: access methods, families and classes of operators. `rows.txt` has them.

use crate::catalog::provider::{Provider, RowSink, ViewContext};
use base::Result;

static ROWS: &str = include_str!("rows.txt");

/// The rows of one of them.
pub(super) struct Fixed {
    rows: Vec<&'static str>,
}

impl Fixed {
    /// The rows of the catalog of that name.
    pub(super) fn new(name: &str) -> Fixed {
        let lines = ROWS.lines().skip_while(|line| *line != name).skip(1);
        Fixed { rows: lines.take_while(|line| line.starts_with(' ')).map(str::trim).collect() }
    }
}

impl Fixed {
    /// Is there a row of that number?
    pub(super) fn has(&self, oid: crate::types::Oid) -> bool {
        self.rows.iter().any(|line| line.split(' ').next().and_then(|word| word.parse().ok()) == Some(oid.0))
    }
}

impl Provider for Fixed {
    fn rows(&self, _: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
        for line in &self.rows {
            line.split(' ').fold(rows.row(), |row, word| row.word(word)).end();
        }
        Ok(())
    }
}

/// The class of operators that an index uses for a type if nothing else is said; none of a type that has none.
pub(super) fn default_class(ty: crate::types::Oid) -> Option<crate::types::Oid> {
    use crate::types::{Oid, table};
    let known = Fixed::new("pg_opclass");
    let of = |wanted: Oid| {
        known.rows.iter().find_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).map(Oid);
            (number(6) == Some(wanted) && words.get(7) == Some(&"t")).then(|| number(0))?
        })
    };
    // What is of another type's form is compared as that one.
    let like = match ty {
        Oid::VARCHAR | Oid::CSTRING => Oid::TEXT,
        Oid::INT2VECTOR => Oid::OIDVECTOR,
        ty if table::kind(ty) == crate::types::Kind::Array => Oid::ANYARRAY,
        ty if table::kind(ty) == crate::types::Kind::Reg => Oid::OID,
        ty => ty,
    };
    of(like)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Oid;

    #[test]
    fn every_catalog_has_rows_and_types_have_classes() {
        for name in ["pg_am", "pg_opfamily", "pg_opclass", "pg_amop", "pg_amproc"] {
            assert!(Fixed::new(name).rows.len() > 1, "{name}");
        }
        assert_eq!(default_class(Oid::INT4), Some(Oid(1978)));
        assert_eq!(default_class(Oid::VARCHAR), Some(Oid(3126)));
        assert_eq!(default_class(Oid::JSON), None);
    }
}
