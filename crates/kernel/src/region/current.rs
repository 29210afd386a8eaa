//! A process's way to a value that all of it knows: for functions that are called without one, such as the kernel's
//! completion actions.
//!
//! The value holds references into the region and is made with it, before the first fork, so every process has its copy at
//! the same place. Where a region is made again in the same process (the simulator), the value is set again.

use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Such a value; meant for a `static`.
pub struct Current<T: Sync + 'static> {
    value: AtomicPtr<T>,
}

impl<T: Sync + 'static> Current<T> {
    /// Not set yet.
    pub const fn new() -> Current<T> {
        Current { value: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Sets it, for this process and those that it forks.
    pub fn set(&self, value: &'static T) {
        self.value.store((value as *const T).cast_mut(), Release);
    }

    /// The value, if it is set.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or what `set` was given: a reference that is good for ever, to a value that may be shared.
        unsafe { self.value.load(Acquire).as_ref() }
    }
}

impl<T: Sync + 'static> Default for Current<T> {
    fn default() -> Current<T> {
        Current::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_was_set_last() {
        static NUMBER: Current<u32> = Current::new();
        assert_eq!(NUMBER.get(), None);
        NUMBER.set(&7);
        NUMBER.set(&8);
        assert_eq!(NUMBER.get(), Some(&8));
    }
}
