//! Types of the region for crates that have no `unsafe`: the macro [`shared!`](crate::shared) and the plain numbers.
//!
//! What lies in the region must be plain data, valid when zeroed, and safe to share ([`Shared`]). Each of the parts that the
//! kernel offers keeps that promise; a struct of such parts keeps it too, and the macro says so after it has checked every
//! field. So a layer above the kernel describes its shared state without arguing about memory.
//!
//! ```
//! kernel::shared! {
//!     /// What a counter is made of.
//!     pub struct Tally {
//!         /// How many.
//!         count: std::sync::atomic::AtomicU64,
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Rules
//! 1. A field is of a type that is [`Shared`]: atomics, numbers (behind a [`Spin`](crate::sync::Spin), or written before the
//!    first engine), latches, lists of waiters, arrays of those, and structs that this macro made.
//! 2. No field needs `Drop`; the macro asserts it.

use super::Shared;

macro_rules! numbers {
    ($($type:ty),* $(,)?) => {
        $(
            // SAFETY: a plain number: valid when zero, no pointer, nothing behind it changes through `&`.
            unsafe impl Shared for $type {}
        )*
    };
}
numbers!(u8, u16, u32, u64, i8, i16, i32, i64, (), std::sync::atomic::AtomicBool);

/// Makes structs that may lie in the region; see [`crate::region::shared`].
#[macro_export]
macro_rules! shared {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty,)*
        }
    )*) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            $vis struct $name {
                $($(#[$field_meta])* $field_vis $field: $type,)*
            }

            const _: () = {
                const fn may_be_shared<T: $crate::region::Shared>() {}
                $(may_be_shared::<$type>();)*
                assert!(!::std::mem::needs_drop::<$name>());
            };

            // SAFETY: laid out as C does, and each field is fit for the region, as the lines above have the compiler
            // check: so the whole is valid when zeroed, means the same everywhere, and may be shared.
            unsafe impl $crate::region::Shared for $name {}
        )*
    };
}

#[cfg(test)]
mod tests {
    use crate::region;
    use crate::sync::Spin;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    crate::shared! {
        struct Inner {
            plain: u32,
            more: [u64; 2],
        }

        struct Outer {
            count: AtomicU64,
            inner: Spin<Inner>,
        }
    }

    #[test]
    fn a_struct_of_parts_lies_in_the_region() {
        let _region = region::test_region();
        let table = region::table::<Outer>("test shared", 3);
        table[1].inner.lock().more[1] = 7;
        table[1].count.fetch_add(2, Relaxed);
        assert_eq!(table[1].inner.lock().more, [0, 7]);
        assert_eq!(table[1].inner.lock().plain, 0);
        assert_eq!((table[1].count.load(Relaxed), table[2].count.load(Relaxed)), (2, 0));
    }
}
