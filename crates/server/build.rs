//! Links the program so that its code has pieces of address space of its own, of the size of a huge page: `kernel`'s `code` puts it there.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Wl,-z,max-page-size=0x200000");
}
