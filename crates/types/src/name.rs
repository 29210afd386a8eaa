//! How long a name may be.

/// The longest name, in bytes; a longer one is cut, as PostgreSQL cuts it.
pub const NAME_BYTES_MAX: usize = 63;

/// Cuts a name to [`NAME_BYTES_MAX`] bytes, never inside a character.
pub fn truncate_name(name: &str) -> &str {
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let mut end = NAME_BYTES_MAX;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
