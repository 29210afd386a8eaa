//! One logged change of up to four pages.

use super::PageMut;
use crate::page::{PageBytes, header};
use crate::wal::record::RecordBody;
use crate::wal::{Room, Span};
use base::{Result, Xid};
use kernel::sync::Critical;

/// The most pages that one record changes.
pub const PAGES_MAX: usize = 4;

/// Changes pages and logs the change: marks them dirty, calls `apply` with their bytes, appends the record, sets their LSNs. All of
/// it is one critical section: a death inside restarts the server.
///
/// The pages are latched alone, the room is large enough ([`crate::wal::space::record_bytes`]), and `apply` is the `apply` of
/// the body, so that redo does the same. An error of `apply` leaves the pages and the log as they were; it must come before the first
/// change.
pub fn log<const N: usize>(
    room: &mut Room,
    xid: Xid,
    flags: u8,
    body: &impl RecordBody,
    mut pages: [&mut PageMut<'_>; N],
    apply: impl FnOnce([&mut PageBytes; N]) -> Result<()>,
) -> Result<Span> {
    const { assert!(N > 0 && N <= PAGES_MAX) };
    let _critical = Critical::enter();
    // Before the record has its place, so at or before it. Who computes a redo position and does not see the mark has read
    // the end of the log before this record was there.
    let from = room.wal().inserted();
    for page in &pages {
        page.soil(from);
    }
    apply(pages.each_mut().map(|page| page.bytes()))?;
    if kernel::fault::planted("wal.unlogged_change") && (from.0 / 8).is_multiple_of(16) {
        return Ok(Span { start: from, end: from });
    }
    let span = room.append(xid, flags, body);
    for page in &mut pages {
        header::set_lsn(page.bytes(), span.end);
    }
    Ok(span)
}
