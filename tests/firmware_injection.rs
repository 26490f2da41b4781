//! The user-access routines with something happening between any two of their instructions: the timer, or an error on the
//! bus. The firmware boots once on the simulated board; each routine is then called again and again, with the disturbance
//! one instruction later each time.

#[path = "injection/bench.rs"]
mod bench;

use bench::{Bench, Called, Disturbance, EDGE, Ending, Point};

/// Bytes of user memory in front of the page without access that the calls use, and of kernel memory.
const SPAN: u32 = 256;
const USER: u32 = EDGE - SPAN;
const TASK_SIZE: u32 = 0x8000_0000;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Moves bytes; the residue is in r3.
    Copy,
    /// Clears bytes; the residue is in r3.
    Clear,
    /// Moves bytes from memory that may be lost; the residue is in r3, the address of the lost byte in r4.
    CopyMc,
    /// Loads an integer of so many bytes: 1 after a fault in r3, the value in r4.
    Get(u32),
    /// Stores an integer of so many bytes: 1 after a fault in r3.
    Put(u32),
    /// Copies a string: its length in r3, or -1.
    Strncpy,
    /// Measures a string with its NUL: its length in r3, or 0.
    Strnlen,
    /// Loads a word whose end may be missing: as [`Kind::Get`].
    Zeropad,
}

/// One call. `to` and `from` are addresses, 0 where there is none.
#[derive(Clone, Copy, Debug)]
struct Call {
    routine: &'static str,
    kind: Kind,
    to: u32,
    from: u32,
    length: u32,
}

/// Length of the strings, if that much is in front of the page without access.
const STRING: u32 = 9;

/// Offset of the lost byte in the memory of the device, in its second page, which the calls into poison use.
const POISON: u32 = 0x1000 + 102;

/// `mr r12, r4`: what copy_mc.s does after a machine check that names no address, which this family has not.
const UNKNOWN_LOSS: u32 = 0x7c8c_2378;

/// What [`Kind::Put`] stores.
const VALUE: u32 = 0x0102_0304;

impl Call {
    fn arguments(&self) -> Vec<u32> {
        match self.kind {
            Kind::Copy | Kind::CopyMc | Kind::Strncpy => vec![self.to, self.from, self.length],
            Kind::Clear => vec![self.to, self.length],
            Kind::Strnlen => vec![self.from, self.length],
            Kind::Get(_) | Kind::Zeropad => vec![self.from],
            Kind::Put(_) => vec![self.to, VALUE],
        }
    }

    /// Whether `address` is of what the call reads.
    fn reads(&self, address: u32) -> bool {
        self.from != 0 && address.wrapping_sub(self.from) < self.length
    }

    /// How the call must end when an access to `address` meets a bus error: an error in the kernel's own memory is the
    /// kernel's, but for those who expect one.
    fn ending(&self, address: u32) -> Ending {
        let is_expected = self.kind == Kind::CopyMc && self.reads(address) || self.routine.contains("nofault");
        if address < TASK_SIZE || is_expected {
            Ending::Return
        } else {
            Ending::KernelFault
        }
    }
}

/// The memory of both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Memory {
    user: Vec<u8>,
    kernel: Vec<u8>,
    kernel_base: u32,
}

impl Memory {
    /// Before a call: no byte is 0, and none equal to the one that may be copied to its place.
    fn before(call: &Call, kernel_base: u32) -> Self {
        let mut memory = Self {
            user: (0..SPAN).map(|offset| (offset % 127) as u8 + 1).collect(),
            kernel: (0..SPAN).map(|offset| (offset % 113) as u8 + 128).collect(),
            kernel_base,
        };
        if matches!(call.kind, Kind::Strncpy | Kind::Strnlen)
            && let Some(end) = memory.user.get_mut((call.from - USER + STRING) as usize)
        {
            *end = 0;
        }
        memory
    }

    fn read(bench: &Bench, kernel_base: u32) -> Self {
        Self {
            user: bench.read(USER, SPAN),
            kernel: bench.read(kernel_base, SPAN),
            kernel_base,
        }
    }

    fn write(&self, bench: &mut Bench) {
        bench.write(USER, &self.user);
        bench.write(self.kernel_base, &self.kernel);
    }

    fn bytes(&self, address: u32, length: u32) -> Vec<u8> {
        let (side, start) = match address {
            0..TASK_SIZE => (&self.user, USER),
            _ => (&self.kernel, self.kernel_base),
        };
        side[(address - start) as usize..][..length as usize].to_vec()
    }

    fn with(&self, address: u32, bytes: &[u8]) -> Self {
        let mut after = self.clone();
        let (side, start) = match address {
            0..TASK_SIZE => (&mut after.user, USER),
            _ => (&mut after.kernel, self.kernel_base),
        };
        side[(address - start) as usize..][..bytes.len()].copy_from_slice(bytes);
        after
    }
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

/// An access that met a bus error: where, and whether it did so for good.
#[derive(Clone, Copy, Debug)]
struct Lost {
    address: u32,
    lasts: bool,
}

/// Checks what a call that returned promises.
fn check(call: &Call, called: &Called, before: &Memory, after: &Memory, lost: Option<Lost>) {
    let [r3, r4] = [called.registers.gpr[3], called.registers.gpr[4]];
    let case = || format!("{call:x?}, {lost:x?}: r3 {r3:#x}, r4 {r4:#x}");
    // Bytes that the user's side has in front of the page without access.
    let user_side = [call.to, call.from]
        .into_iter()
        .find(|side| (1..TASK_SIZE).contains(side));
    let good = call.length.min(user_side.map_or(u32::MAX, |start| EDGE - start));
    let is_refused = lost.is_some() || good < call.length;
    match call.kind {
        Kind::Copy | Kind::Clear | Kind::CopyMc => {
            let done = call.length.checked_sub(r3).unwrap_or_else(|| panic!("{}", case()));
            let expected = match lost {
                None => good..=good,
                Some(Lost { address, lasts }) => {
                    let is_source = call.reads(address);
                    let start = if is_source { call.from } else { call.to };
                    let first = (address.max(start) - start).min(good);
                    let is_mc = call.kind == Kind::CopyMc && is_source;
                    assert!(!is_mc || r4 == address, "{}", case());
                    first..=if lasts || is_mc { first } else { good }
                }
            };
            assert!(expected.contains(&done), "{done} bytes, not {expected:?}: {}", case());
            let moved = |count: u32| match call.kind {
                Kind::Clear => before.with(call.to, &vec![0; count as usize]),
                _ => before.with(call.to, &before.bytes(call.from, count)),
            };
            // When a bus error meets the second, bytewise try at a step that was refused halfway, the step's first half is
            // done already: more than counts as done, never less, and nothing else.
            let most = if lost.is_some() { good } else { done };
            assert!(
                (done..=most).any(|count| *after == moved(count)),
                "{}: {after:?}",
                case()
            );
        }
        Kind::Get(width) => {
            let value = if is_refused {
                0
            } else {
                big_endian(&before.bytes(call.from, width))
            };
            assert_eq!((r3, r4, after), (is_refused.into(), value, before), "{}", case());
        }
        Kind::Put(width) => {
            let stored = &VALUE.to_be_bytes()[4 - width as usize..];
            let expected = if is_refused {
                before.clone()
            } else {
                before.with(call.to, stored)
            };
            assert_eq!((r3, after), (is_refused.into(), &expected), "{}", case());
        }
        Kind::Zeropad => {
            // What lies behind the aligned word may be missing although it is there, if the first load met an error.
            let aligned = 4 - call.from % 4;
            let there = lost.map_or(good, |_| aligned.min(good));
            let mut bytes = before.bytes(call.from, there);
            bytes.resize(4, 0);
            // The second load reads the aligned word, and nothing is tried behind that.
            let is_lost = good == 0 || lost.is_some_and(|lost| lost.lasts || lost.address != call.from);
            let expected = if is_lost { (1, 0) } else { (0, big_endian(&bytes)) };
            assert_eq!(((r3, r4), after), (expected, before), "{}", case());
        }
        Kind::Strncpy | Kind::Strnlen => {
            let has_end = STRING < good;
            let copied = match lost {
                Some(lost) => lost.address - call.from,
                None => good.min(STRING + 1),
            };
            let is_refused = lost.is_some() || good < call.length && !has_end;
            let expected = match (call.kind, is_refused) {
                (Kind::Strncpy, true) => u32::MAX,
                (Kind::Strncpy, false) => copied - u32::from(has_end),
                (_, true) => 0,
                (_, false) => copied + u32::from(!has_end),
            };
            let memory = match call.kind {
                Kind::Strncpy => before.with(call.to, &before.bytes(call.from, copied)),
                _ => before.clone(),
            };
            assert_eq!((r3, after), (expected, &memory), "{}", case());
        }
    }
}

/// The calls: every routine, at several alignments and lengths, within the page and over its end. The flag says that the
/// call is short enough to be disturbed twice.
fn calls(kernel: u32) -> Vec<(Call, bool)> {
    let mut calls = Vec::new();
    let mut add = |routine, kind, to, from, length: u32, is_short| {
        let call = Call {
            routine,
            kind,
            to,
            from,
            length,
        };
        calls.push((call, is_short));
    };
    // Distance of the user's side to the page end, offset of the kernel's, length.
    let moves = [
        (200, 0, 0),
        (200, 0, 1),
        (199, 1, 5),
        (200, 0, 16),
        (197, 2, 37),
        (198, 3, 70),
        (200, 0, 128),
        (21, 1, 40),
        (32, 0, 33),
        (6, 0, 64),
    ];
    for (distance, offset, length) in moves {
        let (user, kernel) = (EDGE - distance, kernel + offset);
        add("__copy_tofrom_user", Kind::Copy, user, kernel, length, false);
        add("__copy_tofrom_user", Kind::Copy, kernel, user, length, false);
        for engine in ["copy_mc_fragile", "copy_mc_generic"] {
            add(engine, Kind::CopyMc, user, kernel, length, length <= 40);
        }
        for engine in ["__arch_clear_user", "__clear_user_words", "__clear_user_bytes"] {
            add(engine, Kind::Clear, user, 0, length, false);
        }
    }
    add("__arch_clear_user", Kind::Clear, USER, 0, 256, false);
    add("__arch_clear_user", Kind::Clear, USER + 3, 0, 300, false);
    for distance in [64, 63, 3, 2, 1] {
        let user = EDGE - distance;
        for (width, get, put) in [
            (1, "__get_user_1", "__put_user_1"),
            (2, "__get_user_2", "__put_user_2"),
            (4, "__get_user_4", "__put_user_4"),
        ] {
            add(get, Kind::Get(width), 0, user, width, true);
            add(put, Kind::Put(width), user, 0, width, true);
        }
        add("__load_unaligned_zeropad", Kind::Zeropad, 0, user, 4, true);
    }
    for (width, get, put) in [
        (1, "__get_kernel_nofault_1", "__put_kernel_nofault_1"),
        (2, "__get_kernel_nofault_2", "__put_kernel_nofault_2"),
        (4, "__get_kernel_nofault_4", "__put_kernel_nofault_4"),
    ] {
        add(get, Kind::Get(width), 0, kernel + 5, width, true);
        add(put, Kind::Put(width), kernel + 5, 0, width, true);
    }
    // The string ends within the length, or behind the page end, or not at all.
    for (distance, length) in [(100, 12), (8, 20), (100, 2)] {
        let from = EDGE - distance;
        add("__strncpy_from_user", Kind::Strncpy, kernel, from, length, true);
        add("__strnlen_user", Kind::Strnlen, 0, from, length, true);
    }
    calls
}

/// Copies that meet the lost byte at `lost` from some bytes before it on.
fn calls_into_poison(lost: u32) -> impl Iterator<Item = Call> {
    ["copy_mc_fragile", "copy_mc_generic"]
        .into_iter()
        .flat_map(move |routine| {
            (0..20).map(move |good| Call {
                routine,
                kind: Kind::CopyMc,
                to: EDGE - 200 + good % 4,
                from: lost - good,
                length: 40,
            })
        })
}

/// What was tried.
#[derive(Debug, Default)]
struct Tried {
    calls: usize,
    interrupts: usize,
    bus_errors: usize,
    kernel_faults: usize,
    both: usize,
}

/// A call on memory as it should be before it.
fn run(bench: &mut Bench, call: &Call, before: &Memory, disturbances: &[Disturbance]) -> (Called, Memory) {
    before.write(bench);
    let called = bench.call(call.routine, &call.arguments(), disturbances);
    let after = Memory::read(bench, before.kernel_base);
    (called, after)
}

/// Interrupts a call at each point from `first` on; all that it leaves must be as without.
fn interrupt(
    bench: &mut Bench,
    call: &Call,
    before: &Memory,
    others: &[Disturbance],
    undisturbed: &(Called, Memory),
    first: usize,
) -> usize {
    let count = undisturbed.0.points.len();
    for point in first..count {
        let disturbances = [others, &[Disturbance::Timer(point)]].concat();
        let (called, after) = run(bench, call, before, &disturbances);
        let at = undisturbed.0.points[point].pc;
        assert_eq!(
            called.registers, undisturbed.0.registers,
            "{call:x?} interrupted at {at:#x}"
        );
        assert_eq!(after, undisturbed.1, "{call:x?} interrupted at {at:#x}");
    }
    count - first
}

/// Lets each access of a call meet a bus error.
fn fail(bench: &mut Bench, call: &Call, before: &Memory, points: &[Point], is_short: bool, tried: &mut Tried) {
    for (point, Point { operand, pc }) in points.iter().enumerate() {
        let Some((address, length)) = *operand else { continue };
        // A refused access never gets to the bus.
        if (EDGE..TASK_SIZE).contains(&(address + length - 1)) {
            continue;
        }
        for lasts in [false, true] {
            let error = Disturbance::BusError { point, lasts };
            let undisturbed = run(bench, call, before, &[error]);
            tried.bus_errors += 1;
            let expected = call.ending(address);
            let case = || format!("{call:x?}, access to {address:#x} at {pc:#x}");
            assert_eq!(undisturbed.0.ending, expected, "{}", case());
            if expected == Ending::KernelFault {
                tried.kernel_faults += 1;
                continue;
            }
            let lost = Lost { address, lasts };
            check(call, &undisturbed.0, before, &undisturbed.1, Some(lost));
            if is_short {
                tried.both += interrupt(bench, call, before, &[error], &undisturbed, point + 1);
            }
        }
    }
}

#[test]
fn routines_stand_the_timer_and_bus_errors_between_any_two_instructions() {
    let mut bench = Bench::boot();
    bench.type_line("poison");
    let output = bench.expect_prompt();
    let (_, base) = output.split_once(" bytes at 0x").expect("the device's address");
    let kernel = u32::from_str_radix(&base[..8], 16).expect("an address");

    bench.type_line(&format!("poison {POISON} 1"));
    bench.expect_prompt();
    bench.type_line("selftest cpy");
    bench.run_to("__copy_tofrom_user");
    let mut tried = Tried::default();
    for (call, is_short) in calls(kernel) {
        let before = Memory::before(&call, kernel);
        let undisturbed = run(&mut bench, &call, &before, &[]);
        assert_eq!(undisturbed.0.ending, Ending::Return, "{call:x?}");
        check(&call, &undisturbed.0, &before, &undisturbed.1, None);
        tried.calls += 1;
        tried.interrupts += interrupt(&mut bench, &call, &before, &[], &undisturbed, 0);
        fail(&mut bench, &call, &before, &undisturbed.0.points, is_short, &mut tried);
    }
    for call in calls_into_poison(kernel + POISON) {
        let before = Memory::before(&call, kernel + POISON / 0x1000 * 0x1000);
        let undisturbed = run(&mut bench, &call, &before, &[]);
        let lost = Lost {
            address: kernel + POISON,
            lasts: true,
        };
        check(&call, &undisturbed.0, &before, &undisturbed.1, Some(lost));
        tried.calls += 1;
        tried.interrupts += interrupt(&mut bench, &call, &before, &[], &undisturbed, 0);
    }
    println!("{tried:?}");
    // The last routine is one of handlers: it runs with interrupts off, and nothing in user memory is its business.
    let end = bench.symbol("copy_mc_load_physical");
    let is_missed = |(pc, word): &(&u32, &u32)| **pc < end && !bench.interrupted.contains(pc) && **word != UNKNOWN_LOSS;
    let missed: Vec<_> = bench.text().iter().filter(is_missed).collect();
    assert!(missed.is_empty(), "never interrupted: {missed:x?}");
    let enough = tried.interrupts > 5000 && tried.bus_errors > 2500 && tried.kernel_faults > 300 && tried.both > 5000;
    assert!(enough, "{tried:?}");

    // The selftest in which the board stood still goes on as if nothing had been.
    bench.resume();
    let output = bench.expect_prompt();
    bench.type_line("poison clear");
    bench.expect_prompt();
    assert!(output.contains("# pass:11 fail:0 skip:0 total:11\n"), "{output}");
    bench.type_line("status");
    let output = bench.expect_prompt();
    assert!(
        output.contains("window    closed\n") && output.contains("limit     user\n"),
        "{output}"
    );
}
