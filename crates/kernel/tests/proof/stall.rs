//! A group never stalls: however many of its sessions wait, others are served at once, and when the waits end the group is
//! no larger than it was.

use crate::figure;
use crate::support::runner::Test;
use crate::support::{Client, Server, Setup, client, eventually, one_of_three, pooled};
use kernel::config::Sessions;
use std::time::{Duration, Instant};

const ENGINES: usize = 2;
/// Sessions that wait: eight times as many as there are engines.
const WAITING: usize = 8 * ENGINES;
/// What a request of others may take meanwhile.
const SOON: Duration = Duration::from_millis(100);

pub fn tests() -> Vec<Test> {
    let test = |model| -> Test {
        let Setup { engine, sessions, .. } = Setup::of(model);
        (format!("stall::{engine}_{sessions}"), Box::new(move || one_of_three(|| never(Setup::of(model)))))
    };
    pooled().map(test).collect()
}

fn never(setup: Setup) -> Result<(), String> {
    let server = Server::start(Setup { engines: ENGINES as u32, ..setup });
    let name = server.setup.name();
    let mut observer = server.connect();
    let mut waiting = server.connect_many(WAITING);
    let mut others = server.connect_many(4);
    let mut worst = Duration::ZERO;
    for round in 0..3 {
        // All at once: every engine is taken before the first one is missed.
        for (index, client) in waiting.iter_mut().enumerate() {
            client.send(&format!("wait {index}")).unwrap();
        }
        let end = Instant::now() + Duration::from_millis(300);
        while Instant::now() < end {
            for client in &mut others {
                worst = worst.max(served(client));
            }
        }
        match round {
            1 => chain(&mut observer, &mut waiting),
            _ => (0..WAITING).for_each(|index| observer.expect(&format!("post {index} 1"), "ok")),
        }
        waiting.iter_mut().for_each(|client| assert_eq!(client.line().unwrap(), "ok"));
        returns_to_its_size(&server, &mut observer);
    }
    figure!("{name}: the slowest request while {WAITING} sessions waited for posts took {} us", worst.as_micros());
    drop((waiting, others, observer));
    server.stop();
    match worst < SOON {
        true => Ok(()),
        false => Err(format!("{name}: a request took {worst:?} while {WAITING} sessions waited")),
    }
}

fn served(client: &mut Client) -> Duration {
    let since = Instant::now();
    client.expect("ping", "pong");
    let took = since.elapsed();
    std::thread::sleep(Duration::from_millis(1));
    took
}

/// Each one that comes back posts the next one, by a command that has been lying behind its wait.
fn chain(observer: &mut Client, waiting: &mut [Client]) {
    for (index, client) in waiting.iter_mut().enumerate() {
        client.send(&format!("post {} 1", index + 1)).unwrap();
    }
    observer.expect("post 0 1", "ok");
    waiting.iter_mut().for_each(|client| assert_eq!(client.line().unwrap(), "ok"));
}

fn returns_to_its_size(server: &Server, observer: &mut Client) {
    let name = server.setup.name();
    let mut last = String::new();
    let fits = eventually(3000, || {
        last = observer.ask("stat");
        let [idle, running, blocked] = ["idle", "running", "blocked"].map(|state| client::field(&last, state).unwrap());
        blocked == 0 && idle + running == ENGINES as u64
    });
    assert!(fits, "{name}: the group does not return to {ENGINES} engines: {last}");
    if server.setup.sessions == Sessions::Fiber {
        assert_eq!(client::field(&last, "standby"), Some(0));
    }
}
