//! `pg_hba.conf`: who may log in, from where, and how he proves who he is; PostgreSQL's format.
//!
//! ```text
//!   hostssl  all  +staff,ann  10.0.0.0/8  scram-sha-256  clientcert=verify-full
//!   kind     databases, roles address     method         options
//! ```
//!
//! Fields are separated by blanks, the words of a list by commas; a word in double quotes is a name and nothing else; `#` begins a comment; a
//! line that ends with a backslash goes on. The first line that fits decides, and if it does not let somebody in, none after it does.
//!
//! Rules
//! 1. A file with a mistake is not used at all: at the start the server does not come up, later it keeps the lines that it has.
//! 2. What PostgreSQL has and this server does not (other methods, maps of names, included files, names of machines) is such a mistake, and
//!    says so. A line that can never match, as `local` where no such socket is listened on, is none.

use std::net::IpAddr;

/// Which connections a line is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Those that come over a socket of this machine's file system.
    Local,
    /// Those that come over the network.
    Host,
    /// Of those, the ones with TLS.
    HostSsl,
    /// The ones without.
    HostNoSsl,
    /// The ones that GSSAPI encrypts: there are none.
    HostGss,
    /// The ones that it does not: all.
    HostNoGss,
}

const KINDS: [(&str, Kind); 6] = [
    ("local", Kind::Local),
    ("host", Kind::Host),
    ("hostssl", Kind::HostSsl),
    ("hostnossl", Kind::HostNoSsl),
    ("hostgssenc", Kind::HostGss),
    ("hostnogssenc", Kind::HostNoGss),
];

/// How somebody proves who he is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Not at all.
    Trust,
    /// He cannot.
    Reject,
    /// By a proof of his password.
    Scram,
    /// By his password, as it is.
    Password,
    /// By a certificate with his name.
    Cert,
    /// By his name in this machine's operating system.
    Peer,
}

const METHODS: [(&str, Method); 6] = [
    ("trust", Method::Trust),
    ("reject", Method::Reject),
    ("scram-sha-256", Method::Scram),
    ("password", Method::Password),
    ("cert", Method::Cert),
    ("peer", Method::Peer),
];

/// Methods of PostgreSQL's that are not there.
const OTHER_METHODS: [&str; 9] = ["md5", "ident", "gss", "sspi", "pam", "bsd", "ldap", "radius", "krb5"];

/// What is asked of a client's certificate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub enum Certificate {
    /// Nothing.
    Any,
    /// That it is there, and signed by somebody known.
    Signed,
    /// That it also has the role's name.
    Named,
}

/// A word of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    text: String,
    /// In quotes it is a name, whatever it says.
    quoted: bool,
}

impl Word {
    fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.text == keyword
    }
}

/// Where from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    /// Anywhere; also what a `local` line has.
    All,
    /// An address of this machine.
    SameHost,
    /// A net that this machine is in.
    SameNet,
    /// An address, of which the bits of the mask count.
    Net(IpAddr, IpAddr),
}

/// A line that is right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Which connections.
    pub kind: Kind,
    databases: Vec<Word>,
    roles: Vec<Word>,
    /// Where from.
    pub address: Address,
    /// How.
    pub method: Method,
    /// And with which certificate.
    pub certificate: Certificate,
    /// The options as they were written.
    pub options: Vec<String>,
}

/// A line that is no comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Its number.
    pub number: u32,
    /// What it says, or what is wrong with it.
    pub rule: Result<Rule, String>,
}

/// Who wants in.
pub struct Caller<'a> {
    /// The address; none for a socket of the file system.
    pub address: Option<IpAddr>,
    /// Is the connection encrypted?
    pub encrypted: bool,
    /// The role.
    pub user: &'a str,
    /// The database.
    pub database: &'a str,
    /// Is the role a member of this one, being a superuser apart?
    pub is_member: &'a dyn Fn(&str) -> bool,
    /// This machine's own addresses, with their masks.
    pub own: &'a dyn Fn() -> Vec<(IpAddr, IpAddr)>,
}

impl Rule {
    /// The databases as the line names them.
    pub fn databases(&self) -> Vec<String> {
        self.databases.iter().map(|word| word.text.clone()).collect()
    }

    /// The roles as the line names them.
    pub fn roles(&self) -> Vec<String> {
        self.roles.iter().map(|word| word.text.clone()).collect()
    }

    /// The method's word.
    pub fn method_word(&self) -> &'static str {
        METHODS.iter().find(|known| known.1 == self.method).map_or("", |known| known.0)
    }

    /// The kind's word.
    pub fn kind_word(&self) -> &'static str {
        KINDS.iter().find(|known| known.1 == self.kind).map_or("", |known| known.0)
    }

    fn fits(&self, caller: &Caller<'_>) -> bool {
        let kind = match (self.kind, caller.address) {
            (Kind::Local, None) => true,
            (Kind::Host | Kind::HostNoGss, Some(_)) => true,
            (Kind::HostSsl, Some(_)) => caller.encrypted,
            (Kind::HostNoSsl, Some(_)) => !caller.encrypted,
            _ => false,
        };
        kind && self.fits_address(caller) && self.fits_database(caller) && self.fits_role(caller)
    }

    fn fits_address(&self, caller: &Caller<'_>) -> bool {
        let Some(address) = caller.address else { return true };
        let address = address.to_canonical();
        match self.address {
            Address::All => true,
            Address::SameHost => (caller.own)().iter().any(|(own, _)| own.to_canonical() == address),
            Address::SameNet => (caller.own)().iter().any(|&(own, mask)| is_in(address, own, mask)),
            Address::Net(net, mask) => is_in(address, net, mask),
        }
    }

    fn fits_database(&self, caller: &Caller<'_>) -> bool {
        // A word that stands for something is no name: a database that is called so is meant in quotes.
        self.databases.iter().any(|word| match word.text.as_str() {
            "all" if !word.quoted => true,
            "sameuser" if !word.quoted => caller.user == caller.database,
            "samerole" | "samegroup" if !word.quoted => (caller.is_member)(caller.database),
            "replication" if !word.quoted => false,
            name => name == caller.database,
        })
    }

    fn fits_role(&self, caller: &Caller<'_>) -> bool {
        self.roles.iter().any(|word| match word.text.strip_prefix('+').filter(|_| !word.quoted) {
            Some(group) => (caller.is_member)(group),
            None => word.is("all") || word.text == caller.user,
        })
    }
}

fn is_in(address: IpAddr, net: IpAddr, mask: IpAddr) -> bool {
    match (address, net, mask) {
        (IpAddr::V4(address), IpAddr::V4(net), IpAddr::V4(mask)) => {
            (address.to_bits() ^ net.to_bits()) & mask.to_bits() == 0
        }
        (IpAddr::V6(address), IpAddr::V6(net), IpAddr::V6(mask)) => {
            (address.to_bits() ^ net.to_bits()) & mask.to_bits() == 0
        }
        _ => false,
    }
}

/// The line that decides about somebody.
pub fn find<'r>(lines: &'r [Line], caller: &Caller<'_>) -> Option<&'r Rule> {
    lines.iter().filter_map(|line| line.rule.as_ref().ok()).find(|rule| rule.fits(caller))
}

/// Reads a file.
pub fn read(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut whole = String::new();
    let mut begins = 0;
    for (index, line) in text.lines().enumerate() {
        if whole.is_empty() {
            begins = index as u32 + 1;
        }
        match line.strip_suffix('\\') {
            Some(line) => {
                whole.push_str(line);
                // Something has begun, even if nothing is on it yet.
                whole.push(' ');
                continue;
            }
            None => whole.push_str(line),
        }
        push(&mut lines, begins, &std::mem::take(&mut whole));
    }
    push(&mut lines, begins, &whole);
    lines
}

fn push(lines: &mut Vec<Line>, number: u32, text: &str) {
    match fields(text) {
        Ok(fields) if fields.is_empty() => {}
        Ok(fields) => lines.push(Line { number, rule: rule(&fields) }),
        Err(mistake) => lines.push(Line { number, rule: Err(mistake) }),
    }
}

/// The fields of a line, each a list of words.
fn fields(line: &str) -> Result<Vec<Vec<Word>>, String> {
    let mut fields: Vec<Vec<Word>> = Vec::new();
    let mut continues = false;
    let mut rest = line.chars().peekable();
    loop {
        while rest.next_if(|&c| c.is_whitespace() || c == ',').is_some() {}
        if rest.peek().is_none_or(|&c| c == '#') {
            return Ok(fields);
        }
        let mut word = Word { text: String::new(), quoted: false };
        let mut inside = false;
        let mut comma = false;
        while let Some(&c) = rest.peek() {
            if !inside && (c.is_whitespace() || c == '#') {
                break;
            }
            rest.next();
            match c {
                ',' if !inside => {
                    comma = true;
                    break;
                }
                '"' if inside && rest.peek() == Some(&'"') => {
                    rest.next();
                    word.text.push('"');
                }
                '"' => {
                    inside = !inside;
                    word.quoted |= word.text.is_empty();
                }
                c => word.text.push(c),
            }
        }
        if inside {
            return Err("a quoted name has no end".to_owned());
        }
        if word.text.starts_with('@') && !word.quoted {
            return Err(format!("included files are not supported: \"{}\"", word.text));
        }
        match fields.last_mut().filter(|_| continues) {
            Some(list) => list.push(word),
            None => fields.push(vec![word]),
        }
        continues = comma;
    }
}

/// A field that is one word.
fn single<'a>(field: &'a [Word], what: &str) -> Result<&'a Word, String> {
    match field {
        [word] => Ok(word),
        _ => Err(format!("multiple values specified for {what}")),
    }
}

fn rule(fields: &[Vec<Word>]) -> Result<Rule, String> {
    let mut fields = fields.iter();
    let mut next = |what: &str| fields.next().ok_or_else(|| format!("end-of-line before {what}"));
    let word = single(next("connection type")?, "connection type")?;
    let kind = KINDS.iter().find(|known| known.0 == word.text).map(|known| known.1);
    let kind = kind.ok_or_else(|| format!("invalid connection type \"{}\"", word.text))?;
    let databases = next("database specification")?.clone();
    let roles = next("role specification")?.clone();
    let address = match kind {
        Kind::Local => Address::All,
        _ => {
            let word = single(next("IP address specification")?, "host address")?;
            match keyword_address(word) {
                Some(address) => address,
                None if word.text.contains('/') => cidr(&word.text)?,
                None => {
                    let address = parse_address(&word.text)?;
                    let mask = &single(next("netmask specification")?, "netmask")?.text;
                    let parsed: IpAddr = mask.parse().map_err(|_| format!("invalid IP mask \"{mask}\""))?;
                    if parsed.is_ipv4() != address.is_ipv4() {
                        return Err("IP address and mask do not match".to_owned());
                    }
                    Address::Net(address, parsed)
                }
            }
        }
    };
    let word = single(next("authentication method")?, "authentication type")?;
    let method = METHODS.iter().find(|known| known.0 == word.text).map(|known| known.1);
    let method = match method {
        Some(method) => method,
        None if word.text == "md5" => {
            return Err("authentication method \"md5\" is not supported: use \"scram-sha-256\"".to_owned());
        }
        None if OTHER_METHODS.contains(&&*word.text) => {
            return Err(format!("invalid authentication method \"{}\": not supported by this build", word.text));
        }
        None => return Err(format!("invalid authentication method \"{}\"", word.text)),
    };
    if method == Method::Peer && kind != Kind::Local {
        return Err("peer authentication is only supported on local sockets".to_owned());
    }
    if method == Method::Cert && kind != Kind::HostSsl {
        return Err("cert authentication is only supported on hostssl connections".to_owned());
    }
    let mut rule = Rule { kind, databases, roles, address, method, certificate: Certificate::Any, options: Vec::new() };
    for word in fields.flatten() {
        option(&mut rule, &word.text)?;
    }
    if method == Method::Cert {
        rule.certificate = Certificate::Named;
    }
    Ok(rule)
}

fn option(rule: &mut Rule, text: &str) -> Result<(), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("authentication option not in name=value format: {text}"))?;
    match (name, value) {
        ("clientcert", _) if rule.kind != Kind::HostSsl => {
            return Err("clientcert can only be configured for \"hostssl\" rows".to_owned());
        }
        ("clientcert", "verify-ca") if rule.method == Method::Cert => {
            return Err("clientcert only accepts \"verify-full\" when using \"cert\" authentication".to_owned());
        }
        ("clientcert", "verify-ca") => rule.certificate = Certificate::Signed,
        ("clientcert", "verify-full") => rule.certificate = Certificate::Named,
        ("clientcert", _) => return Err(format!("invalid value for clientcert: \"{value}\"")),
        ("clientname", _) if rule.kind != Kind::HostSsl => {
            return Err("clientname can only be configured for \"hostssl\" rows".to_owned());
        }
        ("clientname", "CN") => {}
        ("clientname", "DN") => return Err("clientname=DN is not supported".to_owned()),
        ("clientname", _) => return Err(format!("invalid value for clientname: \"{value}\"")),
        ("map", _) => return Err("maps of user names are not supported".to_owned()),
        _ => return Err(format!("unrecognized authentication option name: \"{name}\"")),
    }
    rule.options.push(text.to_owned());
    Ok(())
}

fn keyword_address(word: &Word) -> Option<Address> {
    let known = [("all", Address::All), ("samehost", Address::SameHost), ("samenet", Address::SameNet)];
    known.iter().find(|known| word.is(known.0)).map(|known| known.1)
}

fn parse_address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("names of machines are not supported, addresses are: \"{text}\""))
}

fn cidr(text: &str) -> Result<Address, String> {
    let bad = || format!("invalid CIDR mask in address \"{text}\"");
    let (address, bits) = text.split_once('/').ok_or_else(bad)?;
    let address = parse_address(address)?;
    let bits: u32 = bits.parse().map_err(|_| bad())?;
    let mask = mask(address, bits).ok_or_else(bad)?;
    Ok(Address::Net(address, mask))
}

/// The mask of so many bits, for addresses of that family.
pub fn mask(like: IpAddr, bits: u32) -> Option<IpAddr> {
    match like {
        IpAddr::V4(_) if bits <= 32 => Some(IpAddr::V4((u32::MAX.checked_shl(32 - bits).unwrap_or(0)).into())),
        IpAddr::V6(_) if bits <= 128 => Some(IpAddr::V6((u128::MAX.checked_shl(128 - bits).unwrap_or(0)).into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Result<Rule, String> {
        let lines = read(text);
        assert_eq!(lines.len(), 1, "{text}");
        lines[0].rule.clone()
    }

    fn method(text: &str, address: Option<&str>, encrypted: bool, user: &str, database: &str) -> Option<Method> {
        let caller = Caller {
            address: address.map(|text| text.parse().unwrap()),
            encrypted,
            user,
            database,
            is_member: &|group| group == "staff" && user == "ann" || group == user,
            own: &|| vec![("10.1.2.3".parse().unwrap(), "255.255.0.0".parse().unwrap())],
        };
        find(&read(text), &caller).map(|rule| rule.method)
    }

    #[test]
    fn the_first_line_that_fits_decides() {
        let text = "# a comment\n\
            hostnossl all all 0.0.0.0/0 reject\n\
            hostssl postgres +staff 192.168.0.0/16 cert\n\
            hostssl postgres,\"all\" bob, \"carl # x\" 192.168.7.0 255.255.255.0 scram-sha-256\n\
            host \"all\" all all trust\n\
            host all all samenet password # the rest\n\
            hostgssenc all all all trust\n\
            local sameuser all \\\n  peer\n";
        let from = Some("192.168.7.9");
        for (address, encrypted, user, database, expected) in [
            (from, false, "ann", "postgres", Some(Method::Reject)),
            (from, true, "ann", "postgres", Some(Method::Cert)),
            (from, true, "bob", "postgres", Some(Method::Scram)),
            (from, true, "carl # x", "all", Some(Method::Scram)),
            (Some("192.168.8.9"), true, "bob", "postgres", None),
            (Some("192.168.8.9"), true, "bob", "all", Some(Method::Trust)),
            (Some("10.1.9.9"), true, "bob", "postgres", Some(Method::Password)),
            (Some("::ffff:10.1.9.9"), true, "bob", "postgres", Some(Method::Password)),
            (Some("10.2.9.9"), true, "bob", "postgres", None),
            (Some("fe80::1"), false, "bob", "postgres", None),
            (None, false, "bob", "bob", Some(Method::Peer)),
            (None, false, "bob", "postgres", None),
        ] {
            assert_eq!(
                method(text, address, encrypted, user, database),
                expected,
                "{address:?} {encrypted} {user} {database}"
            );
        }
        assert_eq!(read(text).last().map(|line| line.number), Some(8));
    }

    #[test]
    fn keywords_are_no_names() {
        for (databases, database, fits) in [
            ("sameuser", "sameuser", false),
            ("samerole", "samerole", false),
            ("samegroup", "samegroup", false),
            ("replication", "replication", false),
            ("all", "all", true),
            ("sameuser", "ann", true),
            ("samerole", "staff", true),
            ("samegroup", "staff", true),
            ("\"sameuser\"", "sameuser", true),
            ("\"sameuser\"", "ann", false),
            ("\"replication\"", "replication", true),
            ("samerole,\"samerole\"", "samerole", true),
        ] {
            let text = format!("local {databases} all trust");
            let found = method(&text, None, false, "ann", database);
            assert_eq!(found, fits.then_some(Method::Trust), "{databases} {database}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (line, mistake) in [
            ("hos all all all trust", "invalid connection type \"hos\""),
            ("host", "end-of-line before database specification"),
            ("host all", "end-of-line before role specification"),
            ("host all all", "end-of-line before IP address specification"),
            ("host all all 10.0.0.0", "end-of-line before netmask specification"),
            ("host all all 10.0.0.0/8", "end-of-line before authentication method"),
            ("host,local all all all trust", "multiple values specified for connection type"),
            ("host all all 10.0.0.0/33 trust", "invalid CIDR mask in address \"10.0.0.0/33\""),
            ("host all all 10.0.0.0 ffff:: trust", "IP address and mask do not match"),
            ("host all all 10.0.0.0 255.x trust", "invalid IP mask \"255.x\""),
            ("host all all example.org trust", "names of machines are not supported, addresses are: \"example.org\""),
            ("host all all all md5", "authentication method \"md5\" is not supported: use \"scram-sha-256\""),
            ("host all all all ldap", "invalid authentication method \"ldap\": not supported by this build"),
            ("host all all all open", "invalid authentication method \"open\""),
            ("host all all all peer", "peer authentication is only supported on local sockets"),
            ("host all all all cert", "cert authentication is only supported on hostssl connections"),
            ("host all all all trust x", "authentication option not in name=value format: x"),
            ("host all all all trust x=1", "unrecognized authentication option name: \"x\""),
            ("host all all all trust clientcert=verify-ca", "clientcert can only be configured for \"hostssl\" rows"),
            ("hostssl all all all trust clientcert=1", "invalid value for clientcert: \"1\""),
            (
                "hostssl all all all cert clientcert=verify-ca",
                "clientcert only accepts \"verify-full\" when using \"cert\" authentication",
            ),
            ("hostssl all all all cert map=x", "maps of user names are not supported"),
            ("host all @names all trust", "included files are not supported: \"@names\""),
            ("host all \"open all trust", "a quoted name has no end"),
        ] {
            assert_eq!(only(line).unwrap_err(), mistake, "{line}");
        }
        assert_eq!(only("hostssl all all all cert").unwrap().certificate, Certificate::Named);
        assert!(read("\n# nothing\n   \n").is_empty());
    }

    #[test]
    fn masks_have_all_lengths() {
        let (v4, v6): (IpAddr, IpAddr) = ("0.0.0.0".parse().unwrap(), "::".parse().unwrap());
        assert_eq!(mask(v4, 0), Some(v4));
        assert_eq!(mask(v4, 9), Some("255.128.0.0".parse().unwrap()));
        assert_eq!(mask(v6, 0), Some(v6));
        assert_eq!(mask(v6, 17), Some("ffff:8000::".parse().unwrap()));
        assert_eq!(mask(v4, 33), None);
    }
}
