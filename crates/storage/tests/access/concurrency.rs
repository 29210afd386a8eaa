use crate::runner::Test;
pub fn tests(_tests: &mut Vec<Test>) {}
