//! Reading and writing fixed-width numbers in byte slices.
//!
//! Two byte orders live here and nowhere else: network order (big-endian) for the wire, little-endian for disk and log.
//! A reader never panics on short input: it answers `None`, and the caller names what was cut short.

/// Reads numbers and byte runs from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

macro_rules! numbers {
    ($($be:ident $le:ident $type:ty;)*) => {
        $(
            #[doc = concat!("The next `", stringify!($type), "`, in network order.")]
            pub fn $be(&mut self) -> Option<$type> {
                Some(<$type>::from_be_bytes(self.array()?))
            }

            #[doc = concat!("The next `", stringify!($type), "`, little-endian.")]
            pub fn $le(&mut self) -> Option<$type> {
                Some(<$type>::from_le_bytes(self.array()?))
            }
        )*
    };
}

impl<'a> Reader<'a> {
    /// A reader at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True when all has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    /// The bytes up to the next zero byte, which is read as well.
    pub fn cstr(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == 0)?;
        let head = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    numbers! {
        u8_be u8_le u8;
        u16_be u16_le u16;
        i16_be i16_le i16;
        u32_be u32_le u32;
        i32_be i32_le i32;
        u64_be u64_le u64;
        i64_be i64_le i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_input_is_none_and_consumes_nothing() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!(reader.u32_be(), None);
        assert_eq!(reader.u16_be(), Some(0x0102));
        assert_eq!(reader.cstr(), None);
        assert_eq!(reader.bytes(1), Some(&[3u8][..]));
        assert!(reader.is_empty());
    }
}
