//! `--gdb PORT`: the remote protocol of the GNU debugger, for `target remote localhost:PORT`.
//!
//! Breakpoints of either kind are addresses that the observer compares, so nothing is written to the guest's memory and
//! there are as many as one likes. Memory is read and written through the translation that is in force, plain memory
//! only: looking at a device would change it.

mod monitor;
mod packet;
mod target;

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use mpc8xx_sim::cpu::Stop;

use super::failure::Failure;
use super::outcome::End;
use super::session::Session;
use super::tools::{Watched, Watchpoint};
use packet::{Connection, hex, number, pair, unhex};

/// Errors as the protocol counts them; debuggers print the number only.
const BAD_PACKET: &str = "E01";
const NO_MEMORY: &str = "E0e";
/// SIGINT and SIGTRAP in the protocol's numbering.
const INTERRUPTED: &str = "S02";
const TRAPPED: &str = "S05";

/// What a packet comes to.
enum Answer {
    /// This is the reply.
    Reply(String),
    /// The target goes on, one instruction or until something stops it.
    Resume { single: bool },
    /// The debugger leaves and the target goes on.
    Detach,
    /// The debugger ends the target.
    Kill,
}

/// Waits for a debugger and does what it says until the guest ends.
///
/// # Errors
/// The port cannot be had, or what [`Session::run`] may fail on.
pub fn serve(session: &mut Session, port: u16) -> Result<End, Failure> {
    let failed = |what: &str| {
        let what = format!("cannot {what} port {port} of localhost");
        move |cause: io::Error| Failure::failed(format!("{what}: {cause}"))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed("listen on"))?;
    let address = listener.local_addr().map_err(failed("listen on"))?;
    eprintln!("waiting for `target remote {address}`");
    let (stream, _) = listener.accept().map_err(failed("accept a connection on"))?;
    let mut connection = Connection::new(stream).map_err(failed("use the connection on"))?;
    match converse(session, &mut connection) {
        Ok(Some(end)) => Ok(end),
        // Detached.
        Ok(None) => session.run(),
        Err(Trouble::Failure(failure)) => Err(failure),
        Err(Trouble::Gone(error)) => {
            eprintln!("the debugger has gone: {error}");
            Ok(End::Quit)
        }
    }
}

/// Why a conversation breaks off.
enum Trouble {
    Failure(Failure),
    Gone(io::Error),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

/// Answers packets until the guest ends (`Some`) or the debugger detaches.
fn converse(session: &mut Session, connection: &mut Connection) -> Result<Option<End>, Trouble> {
    loop {
        let Some(packet) = connection.packet()? else {
            connection.reply(INTERRUPTED)?;
            continue;
        };
        if packet == "QStartNoAckMode" {
            connection.reply("OK")?;
            connection.stop_acknowledging();
            continue;
        }
        match answer(session, &packet) {
            Answer::Reply(reply) => connection.reply(&reply)?,
            Answer::Resume { single } => {
                if let Some(end) = resume(session, connection, single)? {
                    return Ok(Some(end));
                }
            }
            Answer::Detach => {
                session.tools.stops = Default::default();
                connection.reply("OK")?;
                return Ok(None);
            }
            Answer::Kill => return Ok(Some(End::Quit)),
        }
    }
}

/// Lets the target run and tells the debugger how it stopped. `Some`: it has ended.
fn resume(session: &mut Session, connection: &mut Connection, single: bool) -> Result<Option<End>, Trouble> {
    loop {
        session.tools.stops.hit = None;
        let end = if single {
            session.single_step()?
        } else {
            session.slice()?
        };
        let reply = match end {
            None if single => TRAPPED.to_owned(),
            None => {
                if connection.is_interrupted()? {
                    connection.reply(INTERRUPTED)?;
                    return Ok(None);
                }
                continue;
            }
            Some(End::Guest(Stop::Observer { pc })) => match session.tools.stops.hit {
                Some((address, kind)) => {
                    let kind = match kind {
                        Watched::Stores => "watch",
                        Watched::Loads => "rwatch",
                        Watched::Both => "awatch",
                    };
                    format!("T05{kind}:{address:08x};")
                }
                None if single || session.tools.stops.breakpoints.contains(&pc) => TRAPPED.to_owned(),
                // A watched access that ended in an exception: it will be tried again.
                None => continue,
            },
            Some(end) => {
                let status = session.status(&end).0;
                connection.reply(&format!("W{status:02x}"))?;
                return Ok(Some(end));
            }
        };
        connection.reply(&reply)?;
        return Ok(None);
    }
}

fn answer(session: &mut Session, packet: &str) -> Answer {
    let (verb, rest) = match packet.char_indices().nth(1) {
        Some((at, _)) => packet.split_at(at),
        None => (packet, ""),
    };
    let reply = match verb {
        "?" => Some(TRAPPED.to_owned()),
        "g" => Some(hex(&target::read_all(&mut session.machine))),
        "G" => unhex(rest).map(|bytes| {
            target::write_all(&mut session.machine, &bytes);
            "OK".to_owned()
        }),
        "p" => number(rest).map(
            |register| match target::read_one(&mut session.machine, register as usize) {
                Some(value) => format!("{value:08x}"),
                None => BAD_PACKET.to_owned(),
            },
        ),
        "P" => rest.split_once('=').and_then(|(register, value)| {
            target::write_one(&mut session.machine, number(register)? as usize, number(value)?)?;
            Some("OK".to_owned())
        }),
        "m" => pair(rest).map(|(address, length)| read_memory(session, address, length)),
        "M" => write_memory(session, rest),
        "c" | "s" => {
            if !rest.is_empty() {
                let Some(address) = number(rest) else {
                    return Answer::Reply(BAD_PACKET.to_owned());
                };
                session.machine.cpu.pc = address & !3;
            }
            return Answer::Resume { single: verb == "s" };
        }
        "Z" | "z" => Some(breakpoint(session, rest, verb == "Z")),
        "D" => return Answer::Detach,
        "k" => return Answer::Kill,
        "H" | "T" => Some("OK".to_owned()),
        "q" => query(session, rest),
        // An empty reply: not known here.
        _ => Some(String::new()),
    };
    Answer::Reply(reply.unwrap_or_else(|| BAD_PACKET.to_owned()))
}

fn query(session: &mut Session, query: &str) -> Option<String> {
    if let Some(command) = query.strip_prefix("Rcmd,") {
        let command = unhex(command)?;
        let output = monitor::run(session, &String::from_utf8_lossy(&command));
        return Some(hex(output.as_bytes()));
    }
    if let Some(range) = query.strip_prefix("Xfer:features:read:target.xml:") {
        let (offset, length) = pair(range)?;
        let text = target::description();
        let part = text.get(offset as usize..).unwrap_or("");
        let is_last = part.len() <= length as usize;
        let part = part.get(..length as usize).unwrap_or(part);
        return Some(format!("{}{part}", if is_last { 'l' } else { 'm' }));
    }
    let name = query.split([':', ',']).next().unwrap_or(query);
    Some(match name {
        "Supported" => format!(
            "PacketSize={:x};qXfer:features:read+;QStartNoAckMode+",
            packet::PACKET_BYTES
        ),
        "Attached" => "1".to_owned(),
        "C" => "QC1".to_owned(),
        "fThreadInfo" => "m1".to_owned(),
        "sThreadInfo" => "l".to_owned(),
        _ => String::new(),
    })
}

/// As much as there is of the memory asked for.
fn read_memory(session: &Session, address: u32, length: u32) -> String {
    let length = (length as usize).min(packet::PACKET_BYTES / 2);
    let mut bytes = Vec::with_capacity(length);
    for offset in 0..length as u32 {
        let mut byte = [0];
        if session.machine.peek(address.wrapping_add(offset), &mut byte).is_none() {
            break;
        }
        bytes.push(byte[0]);
    }
    if bytes.is_empty() && length > 0 {
        NO_MEMORY.to_owned()
    } else {
        hex(&bytes)
    }
}

fn write_memory(session: &mut Session, rest: &str) -> Option<String> {
    let (place, digits) = rest.split_once(':')?;
    let (address, length) = pair(place)?;
    let bytes = unhex(digits).filter(|bytes| bytes.len() == length as usize)?;
    let reply = match session.machine.poke(address, &bytes) {
        Some(()) => "OK",
        None => NO_MEMORY,
    };
    Some(reply.to_owned())
}

/// Sets or removes what `KIND,ADDRESS,LENGTH` describes; the reply is empty for a kind that is not known.
fn breakpoint(session: &mut Session, rest: &str, insert: bool) -> String {
    let parsed = rest
        .split_once(',')
        .and_then(|(kind, place)| Some((kind, pair(place)?)));
    let Some((kind, (address, length))) = parsed else {
        return BAD_PACKET.to_owned();
    };
    let stops = &mut session.tools.stops;
    let watched = match kind {
        "0" | "1" => {
            if insert {
                stops.breakpoints.insert(address);
            } else {
                stops.breakpoints.remove(&address);
            }
            return "OK".to_owned();
        }
        "2" => Watched::Stores,
        "3" => Watched::Loads,
        "4" => Watched::Both,
        _ => return String::new(),
    };
    let watchpoint = Watchpoint {
        range: address..=address.saturating_add(length.max(1) - 1),
        kind: watched,
    };
    stops.watchpoints.retain(|other| *other != watchpoint);
    if insert {
        stops.watchpoints.push(watchpoint);
    }
    "OK".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_of_packets_are_read_strictly() {
        assert_eq!(pair("c0000000,4"), Some((0xC000_0000, 4)));
        for text in ["", ",", "1", "1,", "+1,2", "1,100000000", "1,g"] {
            assert_eq!(pair(text), None, "{text:?}");
        }
        assert_eq!(unhex("00ff7E"), Some(vec![0, 0xFF, 0x7E]));
        for text in ["0", "+1", "0g", "é"] {
            assert_eq!(unhex(text), None, "{text:?}");
        }
    }
}
