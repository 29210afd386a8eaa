//! What this machine calls itself and its users.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Every address of this machine's, with the mask of its net.
pub fn own_addresses() -> Vec<(IpAddr, IpAddr)> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    let mut found = Vec::new();
    // SAFETY: the call fills the pointer, or fails.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return found;
    }
    let mut at = list;
    while !at.is_null() {
        // SAFETY: an entry of the list that the call made, which is freed below.
        let entry = unsafe { &*at };
        if let (Some(address), Some(mask)) = (ip(entry.ifa_addr), ip(entry.ifa_netmask)) {
            found.push((address, mask));
        }
        at = entry.ifa_next;
    }
    // SAFETY: the list of the call above, freed once.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// The name of a user of the operating system. Blocks in the system.
pub fn user_name(number: u32) -> Option<String> {
    crate::io::blocking::run(crate::wait::Event::BlockingCall, move || {
        let mut buffer = vec![0u8; 16 << 10];
        // SAFETY: all zero is a valid value of the struct.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found: *mut libc::passwd = std::ptr::null_mut();
        // SAFETY: the buffer is as long as the call is told.
        let status =
            unsafe { libc::getpwuid_r(number, &mut entry, buffer.as_mut_ptr().cast(), buffer.len(), &mut found) };
        if status != 0 || found.is_null() {
            return None;
        }
        // SAFETY: the call has made the name a string that ends within the buffer.
        let name = unsafe { std::ffi::CStr::from_ptr(entry.pw_name) };
        name.to_str().ok().map(str::to_owned)
    })
}

fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: every address begins with its family.
    match unsafe { (*address).sa_family } as i32 {
        libc::AF_INET => {
            // SAFETY: the family says what it is.
            let v4 = unsafe { &*address.cast::<libc::sockaddr_in>() };
            Some(IpAddr::V4(Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*address.cast::<libc::sockaddr_in6>() };
            Some(IpAddr::V6(Ipv6Addr::from(v6.sin6_addr.s6_addr)))
        }
        _ => None,
    }
}
