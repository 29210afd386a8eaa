//! Calls of procedures by the extended protocol: prepared once, with parameters and results of both formats, and prepared anew when
//! the procedure has become another one.

mod support;

use postgres::Client;
use postgres::types::Type;
use support::server::{MODELS, Server};

const SETUP: &str = "create table noted (n int, what text);
    create procedure note(n int, what text, inout total bigint) language plpgsql as $$
    begin
        insert into noted values (n, what);
        total := coalesce(total, 0) + (select sum(noted.n) from noted);
    end $$;
    create procedure note_twice(n int) language plpgsql as $$
    begin
        insert into noted values (n, 'kept');
        commit;
        insert into noted values (n, 'lost');
        rollback;
    end $$;";

fn code(error: &postgres::Error) -> &str {
    error.code().map_or("", |code| code.code())
}

fn count(client: &mut Client, what: &str) -> i64 {
    client.query_one("select count(*) from noted where what = $1", &[&what]).unwrap().get(0)
}

#[test]
fn a_prepared_call_takes_values_and_gives_values() {
    for model in MODELS {
        for moving in [false, true] {
            let server = Server::start(model, moving);
            let (mut client, mut other) = (server.connect(), server.connect());
            client.batch_execute(SETUP).unwrap();
            let call = client.prepare("call note($1, $2 || '!', $3)").unwrap();
            assert_eq!(call.params(), [Type::INT4, Type::TEXT, Type::INT8]);
            assert_eq!((call.columns()[0].name(), call.columns()[0].type_()), ("total", &Type::INT8));
            for number in 1..=3 {
                let row = client.query_one(&call, &[&number, &"a", &Some(100i64)]).unwrap();
                assert_eq!(row.get::<_, i64>(0), 100 + (1..=i64::from(number)).sum::<i64>());
            }
            let row = client.query_one(&call, &[&4, &"b", &None::<i64>]).unwrap();
            assert_eq!(row.get::<_, i64>(0), 10);
            assert_eq!((count(&mut client, "a!"), count(&mut client, "b!")), (3, 1));

            // A body of a procedure may end the transaction of a call that is alone in it, and of no other.
            let twice = client.prepare("call note_twice($1)").unwrap();
            assert_eq!((twice.params(), twice.columns().len()), (&[Type::INT4][..], 0));
            client.execute(&twice, &[&7]).unwrap();
            assert_eq!((count(&mut client, "kept"), count(&mut client, "lost")), (1, 0));
            let mut transaction = client.transaction().unwrap();
            let error = transaction.execute(&twice, &[&7]).unwrap_err();
            assert_eq!(code(&error), "2D000", "{error}");
            transaction.rollback().unwrap();

            let null = client.prepare("call note($1, 'x', null)").unwrap();
            // Another body is used from the next call on.
            other
                .batch_execute(
                    "create or replace procedure note(n int, what text, inout total bigint) language plpgsql as \
                     $$ begin total := -n; end $$",
                )
                .unwrap();
            let row = client.query_one(&call, &[&5, &"c", &None::<i64>]).unwrap();
            assert_eq!(row.get::<_, i64>(0), -5);
            assert_eq!(count(&mut client, "c!"), 0);

            // Another result is not what was described, and nothing is not there.
            other
                .batch_execute(
                    "drop procedure note; create procedure note(n int, what text, inout total text) language plpgsql as \
                     $$ begin total := what; end $$",
                )
                .unwrap();
            let error = client.query_one(&call, &[&6, &"d", &None::<i64>]).unwrap_err();
            assert_eq!(code(&error), "42883", "a bigint is no text: {error}");
            let error = client.query_one(&null, &[&6]).unwrap_err();
            assert_eq!(code(&error), "0A000", "{error}");
            other.batch_execute("drop procedure note").unwrap();
            let error = client.query_one(&call, &[&6, &"d", &None::<i64>]).unwrap_err();
            assert_eq!(code(&error), "42883", "{error}");
            let error = client.prepare("call nothing($1)").map(|_| ()).unwrap_err();
            assert_eq!(code(&error), "42883", "{error}");
            server.stop();
        }
    }
}
