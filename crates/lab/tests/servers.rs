//! Servers from their start to their end: every product that is installed, and Gearbox, which has to be built.
//!
//! A peer that is not installed is left out with a line that says so. Gearbox is `$GEARBOX_BINARY`, or `gearbox` in the build
//! directory of these tests; without it they fail.

mod support;

use lab::address::{Address, Wire};
use lab::measure::processes::{Tree, Usage};
use lab::record::Footprint;
use lab::server::{Equal, Found, Home, Product, Running, Subject};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tells a copy of this program to be the lab that is killed.
const VICTIM: &str = "LAB_TEST_VICTIM";
/// Longer than a server looks out for its next request before it sleeps.
const PAUSE: Duration = Duration::from_millis(100);

fn equal() -> Equal {
    Equal { buffers_mib: 64, connections: 50, gearbox: Some(support::gearbox()) }
}

fn home() -> Arc<Home> {
    Arc::new(Home::new(Some(&support::work())).unwrap())
}

/// Every product that the lab knows; the models of Gearbox that differ in how processes and threads come about.
fn products() -> Vec<Product> {
    let model = |engine: &str, sessions: &str| Product::Gearbox { engine: engine.into(), sessions: sessions.into() };
    let maria = |threads: &str| Product::MariaDb { thread_handling: threads.into() };
    vec![
        model("process", "dedicated"),
        model("thread", "fiber"),
        Product::GearboxLimit { engine: "process".into(), sessions: "shared".into() },
        Product::Postgres { major: 15 },
        Product::Postgres { major: 18 },
        maria("one-thread-per-connection"),
        maria("pool-of-threads"),
    ]
}

fn is_ours(product: &Product) -> bool {
    matches!(product, Product::Gearbox { .. } | Product::GearboxLimit { .. })
}

/// The products that are there, under names of their own.
fn found() -> Vec<(Product, Found)> {
    let find = |product: Product| {
        let subject = Subject { name: format!("{product:?}"), product: product.clone(), settings: Vec::new() };
        match subject.find(&equal()) {
            Ok(found) => Some((product, found)),
            Err(error) if is_ours(&product) => panic!("{error:?}"),
            Err(error) => {
                println!("left out: {}", error.message());
                None
            }
        }
    };
    products().into_iter().filter_map(find).collect()
}

/// Logs in, asks for a row, and answers the connection and whether there was one.
fn select_one(address: &Address) -> (TcpStream, bool) {
    let mut stream = TcpStream::connect(address.socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    match address.wire {
        Wire::Postgres => {
            let parameters = format!("user\0{}\0database\0{}\0\0", address.user, address.database);
            stream.write_all(&(parameters.len() as u32 + 8).to_be_bytes()).unwrap();
            stream.write_all(&196_608u32.to_be_bytes()).unwrap();
            stream.write_all(parameters.as_bytes()).unwrap();
            let mut has_row = false;
            let mut asked = false;
            loop {
                let mut head = [0; 5];
                stream.read_exact(&mut head).unwrap();
                let size = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
                let mut body = vec![0; size - 4];
                stream.read_exact(&mut body).unwrap();
                match head[0] {
                    b'Z' if asked => return (stream, has_row),
                    b'Z' => {
                        stream.write_all(b"Q\0\0\0\x0dselect 1\0").unwrap();
                        asked = true;
                    }
                    b'D' => has_row = true,
                    b'E' => panic!("{}", String::from_utf8_lossy(&body)),
                    _ => {}
                }
            }
        }
        Wire::Mysql => {
            let packet = |stream: &mut TcpStream| {
                let mut head = [0; 4];
                stream.read_exact(&mut head).unwrap();
                let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
                stream.read_exact(&mut body).unwrap();
                assert_ne!(body[0], 0xff, "{}", String::from_utf8_lossy(&body));
                body
            };
            let greeting = packet(&mut stream);
            assert_eq!(greeting[0], 10);
            // Protocol 4.1, secure connection, with a database: no password, so no answer to the scramble.
            let mut login = (0x0000_0200u32 | 0x0000_8000 | 0x0000_0008).to_le_bytes().to_vec();
            login.extend([0, 0, 0, 1, 45]);
            login.extend([0; 23]);
            login.extend([address.user.as_bytes(), b"\0\0", address.database.as_bytes(), b"\0"].concat());
            stream.write_all(&[&[login.len() as u8, 0, 0, 1], &login[..]].concat()).unwrap();
            assert_eq!(packet(&mut stream)[0], 0, "logged in");
            stream.write_all(b"\x09\0\0\0\x03select 1").unwrap();
            let has_row = packet(&mut stream)[0] == 1;
            (stream, has_row)
        }
    }
}

fn nobody_left(tree: &Tree) -> bool {
    let began = Instant::now();
    while !tree.members().is_empty() {
        if began.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

fn is_child_of_root_running_as_root(tree: &Tree) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |pid: u32| std::fs::metadata(format!("/proc/{pid}")).map_or(1, |data| data.uid());
    tree.members().iter().any(|process| owner(process.pid) == 0)
}

#[test]
fn each_starts_answers_costs_stops_and_starts_again() {
    let home = home();
    for (product, found) in found() {
        println!("{product:?}");
        let variant = found.variant();
        assert!(variant.version.starts_with(|letter: char| letter.is_ascii_digit()), "{variant:?}");
        let buffers = ["shared_buffers", "innodb_buffer_pool_size"];
        assert!(buffers.iter().any(|name| variant.settings.get(*name).is_some_and(|value| value.starts_with("64M"))));
        let prepared = found.prepare(&home).unwrap();
        for cpus in [None, Some(&[0][..])] {
            let server = prepared.start(cpus).unwrap();
            let tree = server.tree().unwrap().clone();
            server.alive().unwrap();
            assert!(!is_child_of_root_running_as_root(&tree), "servers are not root");
            let before = Usage::now(&tree);
            let (client, has_row) = select_one(server.address());
            assert!(has_row, "{product:?}");
            for _ in 0..20 {
                select_one(server.address());
            }
            // A server that looks out for more before it sleeps gives up in this pause, and has slept when the next one comes.
            std::thread::sleep(PAUSE);
            select_one(server.address());
            let cost = Usage::now(&tree).since(&before);
            assert!(cost.cpu_us() > 100.0 && cost.voluntary > 0, "{product:?}: {cost:?}");
            let memory = Footprint::now(&tree);
            assert!(memory.private > 1 << 20 && memory.page_tables > 0 && memory.kernel_stacks > 0, "{memory:?}");
            if let Some(cpus) = cpus {
                let status = std::fs::read_to_string(format!("/proc/{}/status", tree.root())).unwrap();
                let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
                assert_eq!(allowed, cpus[0].to_string());
            }
            // A client that stays does not keep it from stopping.
            server.stop().unwrap();
            assert!(tree.members().is_empty(), "{product:?}");
            drop(client);
        }
    }
}

#[test]
fn a_server_that_dies_is_noticed_and_nothing_of_it_stays() {
    let home = home();
    for (product, found) in found() {
        println!("{product:?}");
        let server = found.prepare(&home).unwrap().start(None).unwrap();
        let tree = server.tree().unwrap().clone();
        kill(tree.root());
        let began = Instant::now();
        let error = loop {
            match server.alive() {
                Err(error) => break error,
                Ok(()) => assert!(began.elapsed() < Duration::from_secs(20), "{product:?}"),
            }
        };
        assert!(error.message().contains("SIGKILL"), "{error:?}");
        let error = server.stop().unwrap_err();
        assert!(error.message().contains("ended"), "{error:?}");
        assert!(tree.members().is_empty(), "{product:?}");
        let segments = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
        let makers: Vec<&str> = segments.lines().filter_map(|line| line.split_whitespace().nth(4)).collect();
        assert!(!makers.contains(&&*tree.root().to_string()), "{product:?} left shared memory");
    }
}

#[test]
fn a_server_that_is_dropped_is_gone() {
    let home = home();
    for (product, found) in found() {
        let server = found.prepare(&home).unwrap().start(None).unwrap();
        let (tree, socket) = (server.tree().unwrap().clone(), server.address().socket);
        drop(server);
        assert!(tree.members().is_empty(), "{product:?}");
        assert!(TcpStream::connect(socket).is_err(), "{product:?}");
    }
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let home = home();
    for (product, _) in found() {
        if matches!(product, Product::GearboxLimit { .. }) {
            continue;
        }
        let settings = vec![("no_such_setting".to_string(), "1".to_string())];
        let subject = Subject { name: "odd".into(), product: product.clone(), settings };
        let error = subject.find(&equal()).unwrap().prepare(&home).unwrap().start(None).unwrap_err();
        let detail = error.detail_text().unwrap_or_default().replace('-', "_");
        assert!(detail.contains("no_such_setting"), "{product:?}: {error:?}");
    }
    let address = Address {
        wire: Wire::Postgres,
        socket: "127.0.0.1:1".parse().unwrap(),
        user: "u".into(),
        database: "d".into(),
        password: None,
    };
    let subject = Subject { name: "away".into(), product: Product::External(address), settings: Vec::new() };
    let error = subject.find(&equal()).unwrap().prepare(&home).unwrap().start(None).unwrap_err();
    assert!(error.message().contains("no server at 127.0.0.1:1"), "{error:?}");
}

#[test]
fn installed_versions_are_those_that_are_found() {
    let find =
        |major| Subject { name: "p".into(), product: Product::Postgres { major }, settings: Vec::new() }.find(&equal());
    let installed = lab::server::installed_postgres();
    for major in 9..30 {
        assert_eq!(find(major).is_ok(), installed.contains(&major), "{major} of {installed:?}");
    }
}

#[test]
fn the_disk_is_measured_where_fio_is_installed() {
    let home = home();
    match lab::server::fio::measure(&home, 32, 1) {
        Ok(disk) => {
            assert!(disk.random_reads_1 > 1.0 && disk.random_reads_32 > 1.0 && disk.sequential_mb > 0.1, "{disk:?}");
            assert!(disk.flushed_writes > 1.0 && disk.flush_p50_us > 0.1, "{disk:?}");
            println!("{disk:?}");
            let files = std::fs::read_dir(home.path()).unwrap().count();
            assert_eq!(files, 1, "only the lock is left");
        }
        Err(error) if error.message().contains("not installed") => println!("left out: {}", error.message()),
        Err(error) => panic!("{error:?}"),
    }
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

/// Not a test when started by hand: the lab that the next test kills. It names its servers, then waits.
#[test]
fn the_lab_that_is_killed() {
    let Some(work) = std::env::var_os(VICTIM) else { return };
    let home = Arc::new(Home::new(Some(Path::new(&work))).unwrap());
    // The thread that asks for a server may end: it is not the one on whose life the server hangs.
    let start = move || -> Vec<(u32, Running)> {
        let start = |found: Found| found.prepare(&home).unwrap().start(None).unwrap();
        found()
            .into_iter()
            .map(|(_, found)| start(found))
            .map(|server| (server.tree().unwrap().root(), server))
            .collect()
    };
    let servers = std::thread::spawn(start).join().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    for (root, server) in &servers {
        server.alive().unwrap();
        println!("server {root}");
    }
    println!("servers end");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn no_server_outlives_a_lab_that_is_killed_and_the_next_one_cleans_up() {
    let work = support::work().join(format!("lab-victim-{}", std::process::id()));
    std::fs::create_dir_all(&work).unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_lab_that_is_killed", "--nocapture"])
        .env(VICTIM, &work)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut roots = Vec::new();
    for line in BufReader::new(victim.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        match line.rsplit_once("server ").and_then(|(_, pid)| pid.parse::<u32>().ok()) {
            Some(pid) => roots.push(pid),
            None if line.contains("servers end") => break,
            None => {}
        }
    }
    let trees: Vec<Tree> = roots.iter().map(|root| Tree::under(*root, None)).collect();
    let running = trees.iter().all(|tree| !tree.members().is_empty());
    kill(victim.id());
    victim.wait().unwrap();
    assert!(running && trees.len() >= 3, "{roots:?}");
    for tree in &trees {
        assert!(nobody_left(tree), "still there: {:?}", tree.members());
    }
    assert_eq!(std::fs::read_dir(&work).unwrap().count(), 1, "what was killed removed nothing");
    let next = Home::new(Some(&work)).unwrap();
    assert_eq!(std::fs::read_dir(&work).unwrap().count(), 1, "only the next one's home is there");
    drop(next);
    std::fs::remove_dir(&work).unwrap();
}
