//! What a session tells the planner: which methods it may use, what things cost, and how much memory there is.
//!
//! The settings are PostgreSQL's; what this executor's nodes cost is said in them, so that somebody who knows what to turn there finds it
//! here. With the defaults:
//!
//! | what | is | with the defaults |
//! |---|---|---|
//! | a page in order, in memory | a tenth of `seq_page_cost` | 0.1 |
//! | a page at random, in memory | a hundredth of `random_page_cost` | 0.04 |
//! | the same from disk | the whole | 1, 4 |
//! | to pass a row of a scan over | two of `cpu_tuple_cost` | 0.02 |
//! | to test a condition | `cpu_operator_cost` | 0.0025 |
//! | to begin a search in an index | five pages in memory | 0.20 |
//! | to fetch a row by its place | a page in memory, a row, four entries | 0.07 |
//!
//! How much of a table is in memory, `effective_cache_size` says.
//!
//! Rules
//! 1. What is switched off costs [`OFF`] more than it does: it is done where there is no other way.
//! 2. A plan notes the number of the values that it was made under ([`base::settings::number_of_planning`]), and is not used under others.

use crate::session::settings::SettingsView;
use base::settings::SettingId;

/// What a method costs more that is switched off.
pub(super) const OFF: f64 = 1e10;

/// How many bytes a page has, beside what pages say of themselves.
pub(super) const PAGE_BYTES: f64 = 8192.0;

/// What the planner goes by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Planning {
    /// The number of these values.
    pub number: u32,
    pub(super) seq_scan: bool,
    pub(super) index_scan: bool,
    pub(super) index_only_scan: bool,
    pub(super) nested_loop: bool,
    pub(super) hash_join: bool,
    pub(super) merge_join: bool,
    pub(super) sort: bool,
    pub(super) hash_aggregate: bool,
    pub(super) material: bool,
    seq_page: f64,
    random_page: f64,
    tuple: f64,
    index_tuple: f64,
    operator: f64,
    /// How many pages are in memory.
    cache_pages: f64,
    /// How many bytes of memory a sort has, and a hash table.
    pub(super) work_memory: f64,
    pub(super) hash_memory: f64,
}

impl Planning {
    /// What a session's settings say.
    pub fn of(view: &SettingsView<'_>) -> Planning {
        let real = |id: SettingId| view.value(id).real();
        Planning {
            number: view.planning_number(),
            seq_scan: view.bool(SettingId::EnableSeqscan),
            index_scan: view.bool(SettingId::EnableIndexscan),
            index_only_scan: view.bool(SettingId::EnableIndexonlyscan),
            nested_loop: view.bool(SettingId::EnableNestloop),
            hash_join: view.bool(SettingId::EnableHashjoin),
            merge_join: view.bool(SettingId::EnableMergejoin),
            sort: view.bool(SettingId::EnableSort),
            hash_aggregate: view.bool(SettingId::EnableHashagg),
            material: view.bool(SettingId::EnableMaterial),
            seq_page: real(SettingId::SeqPageCost),
            random_page: real(SettingId::RandomPageCost),
            tuple: real(SettingId::CpuTupleCost),
            index_tuple: real(SettingId::CpuIndexTupleCost),
            operator: real(SettingId::CpuOperatorCost),
            cache_pages: view.value(SettingId::EffectiveCacheSize).number() as f64,
            work_memory: view.work_memory() as f64,
            hash_memory: view.hash_memory() as f64,
        }
    }

    /// What a method costs beside its work.
    pub(super) fn off(enabled: bool) -> f64 {
        if enabled { 0.0 } else { OFF }
    }

    /// The share of a table of so many pages that has to be read from disk.
    fn on_disk(&self, pages: f64) -> f64 {
        1.0 - (self.cache_pages / pages.max(1.0)).min(1.0)
    }

    /// To read so many pages in order, of a table that has no more.
    pub(super) fn in_order(&self, pages: f64) -> f64 {
        const IN_MEMORY: f64 = 0.1;
        let disk = self.on_disk(pages);
        pages * self.seq_page * (disk + (1.0 - disk) * IN_MEMORY)
    }

    /// To fetch so many rows by their places, of a table that has so many pages.
    pub(super) fn fetched(&self, rows: f64, pages: f64) -> f64 {
        rows * self.fetch() + rows.min(pages) * self.on_disk(pages) * self.random_page
    }

    /// To write rows of so many bytes, as they are in memory, to a file and to read them again. In the file they are smaller; what is left
    /// of it is the work of writing and reading them.
    fn spilled(&self, bytes: f64) -> f64 {
        2.0 * bytes / PAGE_BYTES * self.seq_page
    }

    /// To join rows by a hash table that does not fit: parts of both sides go to files. Of each side how many rows there are, and how many
    /// bytes one has.
    pub(super) fn hash_spilled(&self, outer: (f64, f64), inner: (f64, f64)) -> f64 {
        const OF_ROW: f64 = 48.0;
        let table = inner.0 * (inner.1 + OF_ROW);
        if table <= self.hash_memory {
            return 0.0;
        }
        // Half of the parts go whenever the memory is full: what stays is between a half of it and all of it.
        let goes = 1.0 - 0.75 * self.hash_memory / table;
        self.spilled(goes * (table + outer.0 * outer.1))
    }

    /// To sort rows that do not fit: all of them go to files, and again for each round in which files are merged.
    pub(super) fn sort_spilled(&self, rows: f64, bytes: f64) -> f64 {
        const OF_ROW: f64 = 4.0;
        const PART: f64 = 65_536.0;
        let all = rows * (bytes + OF_ROW);
        if all <= self.work_memory {
            return 0.0;
        }
        let (runs, ways) = (all / self.work_memory, (self.work_memory / PART).clamp(6.0, 64.0));
        let rounds = (runs.ln() / ways.ln()).ceil().max(1.0);
        self.spilled(all) * rounds
    }

    fn at_random(&self) -> f64 {
        self.random_page * 0.01
    }

    /// To pass a row of a scan over.
    pub(super) fn row(&self) -> f64 {
        2.0 * self.tuple
    }

    /// To test a condition.
    pub(super) fn test(&self) -> f64 {
        self.operator
    }

    /// To begin a search in an index.
    pub(super) fn search(&self) -> f64 {
        5.0 * self.at_random()
    }

    /// To fetch a row by its place.
    pub(super) fn fetch(&self) -> f64 {
        self.at_random() + self.tuple + 4.0 * self.index_tuple
    }

    /// To read a row from an index that has all of it that is read, most of them without a look at the row.
    pub(super) fn entry(&self) -> f64 {
        self.tuple + 4.0 * self.index_tuple
    }

    /// To put a row into a hash table.
    pub(super) fn build(&self) -> f64 {
        5.0 * self.tuple + 4.0 * self.operator
    }

    /// To look a row up in one.
    pub(super) fn probe(&self) -> f64 {
        10.0 * self.operator
    }

    /// To go past a row of one of two sides that are merged.
    pub(super) fn merge(&self) -> f64 {
        3.0 * self.tuple
    }

    /// To hand a row of a join on.
    pub(super) fn emit(&self) -> f64 {
        self.tuple
    }

    /// To keep a row.
    pub(super) fn keep(&self) -> f64 {
        2.0 * self.tuple
    }

    /// To look at a pair of rows.
    pub(super) fn pair(&self) -> f64 {
        4.0 * self.operator
    }

    /// To compare two rows.
    pub(super) fn compare(&self) -> f64 {
        2.4 * self.operator
    }

    /// To add a row to its group.
    pub(super) fn group(&self) -> f64 {
        5.0 * self.tuple
    }
}
