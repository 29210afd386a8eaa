//! The device as a program sees it: what is flushed is there after its power was gone, and its faults are the system's errors.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use testkit::device::Device;
use testkit::device::fault::{Effect, Fault, Operation};

const O_DSYNC: i32 = rustix::fs::OFlags::DSYNC.bits() as i32;

#[test]
fn what_was_flushed_is_there_after_a_power_cut() {
    let Some(device) = Device::mount_or_say("what_was_flushed_is_there_after_a_power_cut") else { return };
    let root = device.root();
    fs::create_dir(root.join("d")).unwrap();
    File::open(root).unwrap().sync_all().unwrap();
    let mut kept = File::create(root.join("d/kept")).unwrap();
    kept.write_all(b"flushed").unwrap();
    kept.sync_all().unwrap();
    let log =
        OpenOptions::new().write(true).create(true).truncate(false).custom_flags(O_DSYNC).open(root.join("d/log"));
    let log = log.unwrap();
    log.write_all_at(b"durable", 0).unwrap();
    File::open(root.join("d")).unwrap().sync_all().unwrap();
    kept.write_all_at(b"changed", 0).unwrap();
    File::create(root.join("d/new")).unwrap();
    let (mut old, mut fresh, mut unnamed) = (0, 0, 0);
    for seed in 0..40 {
        kept.write_all_at(b"changed", 0).unwrap_or(());
        device.arm(seed, 1000);
        device.cut();
        assert!(fs::read(root.join("d/kept")).is_err(), "the power is off");
        device.power_on();
        assert_eq!(fs::read(root.join("d/log")).unwrap(), b"durable");
        match &fs::read(root.join("d/kept")).unwrap()[..] {
            b"flushed" => old += 1,
            b"changed" => fresh += 1,
            other => panic!("{other:?}"),
        }
        unnamed += fs::metadata(root.join("d/new")).is_err() as u32;
        assert!(log.write_all_at(b"late", 0).is_err(), "a handle from before the cut still works");
        let again = OpenOptions::new().write(true).open(root.join("d/kept")).unwrap();
        again.write_all_at(b"flushed", 0).unwrap();
        again.sync_data().unwrap();
        again.write_all_at(b"changed", 0).unwrap();
    }
    assert!(old > 3 && fresh > 3, "{old} {fresh}");
    assert!(unnamed == 0 || unnamed == 40, "what a cut has decided stays");
}

#[test]
fn faults_are_errors_of_the_system() {
    let Some(device) = Device::mount_or_say("faults_are_errors_of_the_system") else { return };
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(device.root().join("a")).unwrap();
    file.write_all_at(&[7; 8192], 0).unwrap();
    let fault = |operation, effect| Fault { operation, files: "a".into(), effect, times: 1 };
    let mut bytes = [0; 8192];
    for operation in [Operation::Read, Operation::Write, Operation::Flush] {
        device.add(fault(operation, Effect::Error));
        let outcome = || match operation {
            Operation::Read => file.read_exact_at(&mut [0; 512], 0),
            Operation::Write => file.write_all_at(&[1; 512], 0),
            _ => file.sync_all(),
        };
        assert_eq!(outcome().unwrap_err().raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
        outcome().unwrap();
    }
    device.add(fault(Operation::Read, Effect::Short));
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 4096);
    device.add(fault(Operation::Write, Effect::Short));
    assert_eq!(file.write_at(&[2; 8192], 0).unwrap(), 4096);
    device.leave_space("a", 0);
    let error = file.write_all_at(&[1; 4096], 8192).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    device.repair();
    file.write_all_at(&[1; 4096], 8192).unwrap();
    device.flip("a", 8192, 4).unwrap();
    file.read_exact_at(&mut bytes[..1], 8192).unwrap();
    assert_eq!(bytes[0], 5);
}
