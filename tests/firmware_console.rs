//! The serial console: line ends, erase keys, Ctrl-C, input that comes too fast, output that is read too slowly.

mod common;

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use common::firmware::{Firmware, LIMIT, image, on_every_machine};
use zeronull_image::board::Board;
use zeronull_image::cpio;
use zeronull_image::machine::{Console, Machine, Qemu};
use zeronull_image::session::{PROMPT, Session};
use zeronull_image::start::{Initrd, Start};
use zeronull_image::testing::{empty_directory, machines};

/// Time between key presses of a person; the partner of a line end comes sooner.
const KEY_PAUSE: Duration = Duration::from_millis(200);
/// What one `status` prints, and nothing else does.
const STATUS_LINE: &str = "uptime ";

/// Types `keys` and waits for each of `texts` in turn; gives everything up to the last.
#[track_caller]
fn talk(firmware: &mut Firmware, keys: &str, texts: &[&str]) -> String {
    let session = firmware.session();
    session.send(keys).unwrap_or_else(|error| panic!("{keys:?}: {error}"));
    let wait = |text: &&str| {
        session
            .expect(text, LIMIT)
            .unwrap_or_else(|error| panic!("{keys:?}: {error}"))
    };
    texts.iter().map(wait).collect()
}

// U-223
#[test]
fn every_kind_of_line_end_runs_a_command_once() {
    for machine in machines() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        let ends = ["\r", "\n", "\r\n", "\n\r", "\r\0"];
        for end in ends {
            talk(&mut firmware, &format!("status{end}"), &[STATUS_LINE, PROMPT]);
            thread::sleep(KEY_PAUSE);
        }
        // The clock of the simulated board stands still while it waits for a key, so that no pause between two keys is
        // long enough there for the second to be more than the partner of the first.
        let empty_lines = match machine.board() {
            Board::G3beige => ["\r", "\n", "\r", "\n", "\r", "\r"],
            Board::Mcr3000 => ["\r"; 6],
        };
        for end in empty_lines {
            let shown = talk(&mut firmware, end, &[PROMPT]);
            assert_eq!(shown, format!("\n{PROMPT}"), "{end:?}");
            thread::sleep(KEY_PAUSE);
        }
        let transcript = firmware.end_with("poweroff 0");
        let console = &transcript.console;
        // One `status` is that of the first look.
        assert_eq!(console.matches(STATUS_LINE).count(), 1 + ends.len(), "{console}");
        let prompts = 1 + 1 + ends.len() + empty_lines.len();
        assert_eq!(console.matches(PROMPT).count(), prompts, "{console}");
        // Lines end in CR LF, once, and there is no other control character.
        let raw = &transcript.raw;
        let count = |pair: &[u8]| raw.windows(2).filter(|window| *window == pair).count();
        let lines = raw.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!((count(b"\r\n"), count(b"\r\r"), count(b"\n\r")), (lines, 0, 0));
        let stray = raw.iter().find(|byte| !matches!(byte, b'\r' | b'\n' | b' '..=b'~'));
        assert_eq!(stray, None);
    }
}

// U-224
#[test]
fn erase_keys_take_back_what_was_typed() {
    on_every_machine(|firmware| {
        let ran = [STATUS_LINE, PROMPT];
        for erase in ["\x08", "\x7f"] {
            let shown = talk(firmware, &format!("statusx{erase}\r"), &ran);
            assert!(shown.starts_with("statusx\x08 \x08\nlast "), "{shown:?}");
            // At an empty line nothing is taken back, least of all the prompt.
            let shown = talk(firmware, &format!("{}status\r", erase.repeat(300)), &ran);
            assert!(shown.starts_with("status\nlast "), "{shown:?}");
            let shown = talk(
                firmware,
                &format!("{}{}status\r", "x".repeat(300), erase.repeat(300)),
                &ran,
            );
            let echo = format!("{}{}status\nlast ", "x".repeat(300), "\x08 \x08".repeat(300));
            assert!(shown.starts_with(&echo), "{shown:?}");
        }
        let shown = talk(firmware, "rubbish\x15status\r", &ran);
        let echo = format!("rubbish{}status\nlast ", "\x08 \x08".repeat(7));
        assert!(shown.starts_with(&echo), "{shown:?}");
        talk(firmware, "rubbish", &["rubbish"]);
        let shown = talk(firmware, "\x03", &[PROMPT]);
        assert_eq!(shown, format!("^C\n{PROMPT}"));
        firmware.output("help");
    });
}

#[test]
fn line_that_is_too_long_is_refused_whole() {
    on_every_machine(|firmware| {
        let longest = "x".repeat(1023);
        let outcome = firmware.run(&longest);
        assert_eq!(outcome.status, 127);
        let shown = talk(firmware, &format!("{longest}y\r"), &[PROMPT]);
        let message = "line of 1024 bytes is too long: at most 1023 are accepted";
        assert_eq!(shown, format!("{longest}\n{message}\n{PROMPT}"));
        let shown = talk(firmware, "help 'me\r", &[PROMPT]);
        assert_eq!(shown, format!("help 'me\n' is not closed\n{PROMPT}"));
        firmware.output("help");
    });
}

#[test]
fn interrupt_key_ends_a_program_wherever_it_is() {
    on_every_machine(|firmware| {
        for (command, what) in [
            ("dd if=/dev/zero of=/dev/null", "in short system calls"),
            ("dd if=/dev/zero of=/dev/null bs=8M", "in long system calls"),
            ("nullcall 4000M", "between user code and kernel"),
            ("probe cat", "waiting for input"),
        ] {
            let line = format!("{command}; help\r");
            talk(firmware, &line, &[&format!("{command}; help\r\n")]);
            thread::sleep(KEY_PAUSE);
            // The commands behind it are not run.
            let shown = talk(firmware, "\x03", &[PROMPT]);
            assert_eq!(shown, format!("^C\n{PROMPT}"), "{what}");
            let status = firmware.type_command("status");
            assert!(status.starts_with("last      status 130\n"), "{what}: {status}");
            firmware.output("help");
        }
    });
}

#[test]
fn console_is_a_file_that_gives_lines_and_an_end() {
    on_every_machine(|firmware| {
        let shown = talk(firmware, "probe cat\r", &["cat\r\n"]);
        assert_eq!(shown, "probe cat\n");
        let shown = talk(firmware, "onx\x7fe\r", &["one\r\n"]);
        assert_eq!(shown, "onx\x08 \x08e\none\n");
        assert_eq!(talk(firmware, "\x04", &[PROMPT]), format!("\n{PROMPT}"));
        firmware.output("help");
    });
}

// U-227
#[test]
fn paste_without_flow_control_leaves_the_console_alive() {
    on_every_machine(|firmware| {
        talk(firmware, "dd if=/dev/zero of=/dev/null count=30000\r", &["30000\r\n"]);
        // 64 KiB in lines; what the end of the last one is worth depends on what gets lost.
        let paste = format!("{}\r", "x".repeat(255)).repeat(255) + &"x".repeat(256);
        assert_eq!(paste.len(), 64 << 10);
        talk(firmware, &paste, &[" copied, ", PROMPT]);
        // By a second command that works, the rest of the paste has been taken for commands.
        let status = talk(firmware, "\r", &[PROMPT]);
        assert!(!status.contains(STATUS_LINE));
        thread::sleep(KEY_PAUSE);
        let status = talk(firmware, "\x15status\r", &["status\r\nlast ", STATUS_LINE, PROMPT]);
        assert!(status.contains(STATUS_LINE));
        firmware.output("help");
    });
}

// U-227: bytes that nobody reads are counted, and the broken line does not spoil the next one.
#[test]
fn input_that_was_lost_is_counted_and_its_line_is_dropped() {
    for machine in machines() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        // In one go, because a busy host might type the rest when the program has ended.
        let line = format!("dd if=/dev/zero of=/dev/null count=100000\r{}", "x".repeat(400));
        talk(&mut firmware, &line, &[" copied, ", PROMPT]);
        thread::sleep(KEY_PAUSE);
        let status = talk(&mut firmware, "status\r", &[STATUS_LINE, PROMPT]);
        let lost = status.lines().find_map(|line| line.strip_prefix("console   "));
        let lost: u32 = lost
            .and_then(|line| line.split(' ').next()?.parse().ok())
            .expect(&status);
        assert!(lost > 0 && lost <= 144, "{status}");
        firmware.output("help");
    }
}

// U-228; firmware_mpc8xx.rs has the same for a line that has a speed.
#[test]
fn breaks_on_the_line_do_not_stop_reception() {
    // QEMU sends them for ^A b where its own keys are on.
    let machine = Qemu::default();
    let built = image(machine.board());
    let initrd = built.initrd();
    let session = machine
        .command(&built, "", &initrd, Console::Terminal)
        .and_then(|command| Session::start(command, machine.name(), Initrd::kept(initrd)))
        .unwrap_or_else(|error| panic!("{error}"));
    let mut firmware = Firmware::attach(machine.board(), machine.name(), session);
    talk(&mut firmware, &"\x01b".repeat(10), &[]);
    firmware.output("help");
    // In a long run they are ignored.
    talk(
        &mut firmware,
        "dd if=/dev/zero of=/dev/null count=20000\r",
        &["20000\r\n"],
    );
    talk(
        &mut firmware,
        &"\x01b".repeat(10),
        &["20000+0 records out\r\n", " copied, ", PROMPT],
    );
    firmware.output("help");
}

// U-231
#[test]
fn report_of_a_fault_starts_on_a_line_of_its_own() {
    for machine in machines() {
        let mut archive = cpio::Archive::default();
        archive.program("half", b"half a line");
        let path = empty_directory("firmware_console-half").join("half.cpio");
        fs::write(&path, archive.finish()).expect("the archive can be written");
        let start = Start {
            initrd: vec![path],
            ..Start::default()
        };
        let transcript = Firmware::boot(machine.as_ref(), &start).end_with("probe cat /half; lkdtm PANIC");
        assert_eq!(transcript.status, 101);
        let console = &transcript.console;
        assert!(
            console.contains("\nhalf a line\nzeronull: panic: lkdtm PANIC\n"),
            "{console}"
        );
        assert!(console.ends_with("\nzeronull: done, status 101\n"), "{console}");
    }
}

// U-231
#[test]
fn nothing_is_lost_when_the_host_reads_slowly() {
    for machine in machines() {
        let line = "0123456789abcdefghijklmnopqrstuvwxyz 0123456789abcdefghijklmnop\n";
        assert_eq!(line.len(), 64);
        let text = line.repeat((1 << 20) / line.len());
        let mut archive = cpio::Archive::default();
        archive.program("text", text.as_bytes());
        let directory = empty_directory("firmware_console-slowly");
        let (own, all) = (directory.join("text.cpio"), directory.join("all.cpio"));
        fs::write(&own, archive.finish()).expect("the archive can be written");
        let built = image(machine.board());
        let archives = cpio::concatenate(&[built.initrd(), own]).unwrap_or_else(|error| panic!("{error}"));
        fs::write(&all, archives).expect("the archive can be written");

        let mut command = machine
            .command(&built, "quiet run='probe cat /text; poweroff'", &all, Console::Pipes)
            .unwrap_or_else(|error| panic!("{error}"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("the machine starts");
        let mut output = child.stdout.take().expect("a pipe");
        let (mut received, mut chunk) = (Vec::new(), [0; 8192]);
        loop {
            let length = output.read(&mut chunk).expect("a pipe can be read");
            if length == 0 {
                break;
            }
            received.extend_from_slice(&chunk[..length]);
            thread::sleep(Duration::from_millis(10));
        }
        child.wait().expect("the machine has ended");
        let expected = (text + "zeronull: done, status 0\n").replace('\n', "\r\n");
        let differs = received
            .iter()
            .zip(expected.as_bytes())
            .position(|(found, wanted)| found != wanted);
        assert_eq!(
            (received.len(), differs),
            (expected.len(), None),
            "{}: {}",
            machine.name(),
            String::from_utf8_lossy(&received[..received.len().min(300)])
        );
    }
}
