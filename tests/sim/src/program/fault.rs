//! `--inject KIND@WHEN`: from its text to a [`Fault`].

use mpc8xx_sim::soc::console::Symbol;
use mpc8xx_sim::soc::inject::{Direction, Fault};

use super::failure::Failure;
use super::options::{Number, number};

/// Most symbols of one `garbage` order: more than any receive buffer holds, little enough to keep.
const MOST_GARBAGE: usize = 65_536;

/// A fault and when to arm it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Core clock, counted from power-on, from which the fault is armed.
    pub from: u64,
    /// The fault.
    pub fault: Fault,
}

/// The words after `KIND@`, each taken once.
struct Words<'a> {
    order: &'a str,
    accepted: &'static str,
    rest: Vec<&'a str>,
}

impl<'a> Words<'a> {
    fn refuse(&self) -> Failure {
        Failure::usage(format!("--inject {}: accepted is {}", self.order, self.accepted))
    }

    /// The number after `name=`, if the word is there.
    fn named<N: Number>(&mut self, name: &str) -> Result<Option<N>, Failure> {
        let value = |word: &&str| {
            word.split_once('=')
                .filter(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
        };
        let Some((index, value)) = self
            .rest
            .iter()
            .enumerate()
            .find_map(|(index, word)| Some((index, value(word)?)))
        else {
            return Ok(None);
        };
        self.rest.remove(index);
        number(&value).map(Some).ok_or_else(|| self.refuse())
    }

    /// The next word that carries no name.
    fn plain(&mut self) -> Option<&'a str> {
        let first = *self.rest.first()?;
        (!first.contains('=')).then(|| self.rest.remove(0))
    }

    fn required<T>(&self, value: Option<T>) -> Result<T, Failure> {
        value.ok_or_else(|| self.refuse())
    }

    fn address(&mut self) -> Result<u32, Failure> {
        let word = self.plain();
        let address = word.and_then(number);
        self.required(address)
    }

    fn nothing_is_left(&self) -> Result<(), Failure> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.refuse())
        }
    }
}

/// Reads one order.
///
/// # Errors
/// An unknown kind, or a place and time that the kind does not have.
pub fn parse(order: &str) -> Result<Order, Failure> {
    let (kind, rest) = order.split_once('@').unwrap_or((order, ""));
    let accepted = match kind {
        "bus-error" => {
            "bus-error@ADDRESS[,LENGTH][,read|write][,nth=N][,cycle=N] or bus-error@nth=N[,read|write][,cycle=N]"
        }
        "poison" => "poison@ADDRESS[,cycle=N]",
        "bit-flip" => "bit-flip@ADDRESS.BIT,cycle=N with BIT from 0 (most significant) to 7",
        "lost-interrupt" => "lost-interrupt@[irqK|levelK,]nth=N with K from 0 to 7 and N from 1",
        "garbage" => "garbage@cycle=N,count=M with M up to 65536",
        _ => {
            return Err(Failure::usage(format!(
                "--inject {order}: accepted are the kinds bus-error, poison, bit-flip, lost-interrupt, garbage"
            )));
        }
    };
    let rest = if rest.is_empty() {
        Vec::new()
    } else {
        rest.split(',').collect()
    };
    let mut words = Words { order, accepted, rest };
    let cycle = words.named("cycle")?;
    let (from, fault) = match kind {
        "bus-error" => (cycle.unwrap_or(0), bus_error(&mut words)?),
        "poison" => {
            let address = words.address()?;
            (cycle.unwrap_or(0), Fault::Poison { address })
        }
        "bit-flip" => {
            let place = words.plain().and_then(|word| word.split_once('.'));
            let (address, bit) = words.required(place)?;
            let bit = words.required(number(bit).filter(|bit: &u8| *bit < 8))?;
            let address = words.required(number(address))?;
            let at = words.required(cycle)?;
            (0, Fault::BitFlip { address, bit, at })
        }
        "lost-interrupt" => {
            let source = match words.plain() {
                Some(name) => Some(words.required(interrupt_source(name))?),
                None => None,
            };
            let nth = words.named("nth")?.filter(|nth: &u64| *nth > 0);
            let nth = words.required(nth)?;
            (cycle.unwrap_or(0), Fault::LostInterrupt { source, nth })
        }
        _ => {
            let count = words
                .named("count")?
                .filter(|count: &u32| *count as usize <= MOST_GARBAGE);
            let count = words.required(count)? as usize;
            let at = words.required(cycle)?;
            let symbols = garbage(count);
            (0, Fault::ConsoleGarbage { port: 0, at, symbols })
        }
    };
    words.nothing_is_left()?;
    Ok(Order { from, fault })
}

fn bus_error(words: &mut Words) -> Result<Fault, Failure> {
    let nth = words.named("nth")?;
    if nth == Some(0) {
        return Err(words.refuse());
    }
    let mut direction = Direction::Either;
    let mut numbers: Vec<u32> = Vec::new();
    while let Some(word) = words.plain() {
        match word {
            "read" => direction = Direction::Read,
            "write" => direction = Direction::Write,
            _ => numbers.push(words.required(number(word))?),
        }
    }
    let range = match numbers[..] {
        // Without a place it is the count that says where.
        [] if nth.is_some() => 0..=u32::MAX,
        [address] => address..=address,
        [address, length @ 1..=u32::MAX] => {
            let last = words.required(address.checked_add(length - 1))?;
            address..=last
        }
        _ => return Err(words.refuse()),
    };
    Ok(Fault::BusError { range, direction, nth })
}

/// The SIPEND bit number of `irqK` or `levelK`.
fn interrupt_source(name: &str) -> Option<u8> {
    let (digit, odd) = match name.strip_prefix("irq") {
        Some(digit) => (digit, 0),
        None => (name.strip_prefix("level")?, 1),
    };
    number(digit).filter(|k: &u8| *k < 8).map(|k| 2 * k + odd)
}

/// Symbols as a noisy line brings them: characters, framing errors and breaks, always the same ones.
pub fn garbage(count: usize) -> Vec<Symbol> {
    let mut state = 0x2545_F491u32;
    let mut symbol = || {
        // Xorshift, Marsaglia 2003: the bits only have to look untidy.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let byte = (state >> 24) as u8;
        match state & 7 {
            0 => Symbol::Break,
            1 | 2 => Symbol::FramingError(byte),
            _ => Symbol::Data(byte),
        }
    };
    (0..count).map(|_| symbol()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_with_its_options() {
        let bus_error = |range, direction, nth| Fault::BusError { range, direction, nth };
        for (order, from, fault) in [
            (
                "bus-error@0x1000",
                0,
                bus_error(0x1000..=0x1000, Direction::Either, None),
            ),
            (
                "bus-error@0x1000,16,write,nth=3,cycle=7",
                7,
                bus_error(0x1000..=0x100F, Direction::Write, Some(3)),
            ),
            (
                "bus-error@nth=5,read",
                0,
                bus_error(0..=u32::MAX, Direction::Read, Some(5)),
            ),
            ("poison@0x2000,cycle=9", 9, Fault::Poison { address: 0x2000 }),
            (
                "bit-flip@0x30.7,cycle=100",
                0,
                Fault::BitFlip {
                    address: 0x30,
                    bit: 7,
                    at: 100,
                },
            ),
            ("lost-interrupt@nth=2", 0, Fault::LostInterrupt { source: None, nth: 2 }),
            (
                "lost-interrupt@level2,nth=1",
                0,
                Fault::LostInterrupt {
                    source: Some(5),
                    nth: 1,
                },
            ),
            (
                "lost-interrupt@irq3,nth=1",
                0,
                Fault::LostInterrupt {
                    source: Some(6),
                    nth: 1,
                },
            ),
        ] {
            assert_eq!(parse(order), Ok(Order { from, fault }), "{order}");
        }
        let Ok(Order {
            fault: Fault::ConsoleGarbage { at, symbols, .. },
            ..
        }) = parse("garbage@cycle=50,count=64")
        else {
            panic!("an order for garbage");
        };
        assert_eq!((at, symbols.len()), (50, 64));
        assert!(symbols.contains(&Symbol::Break), "{symbols:?}");
    }

    #[test]
    fn orders_that_cannot_be_are_refused_with_what_is_accepted() {
        for order in [
            "",
            "@",
            "smoke@1",
            "bus-error",
            "bus-error@",
            "bus-error@x",
            "bus-error@1,0",
            "bus-error@0xFFFFFFFF,2",
            "bus-error@1,2,3",
            "bus-error@nth=0",
            "bus-error@1,nth=",
            "bus-error@1,when=2",
            "poison",
            "poison@-1",
            "poison@1,2",
            "bit-flip@1.8,cycle=1",
            "bit-flip@1,cycle=1",
            "bit-flip@1.1",
            "lost-interrupt@irq8,nth=1",
            "lost-interrupt@level1",
            "lost-interrupt@nth=0",
            "garbage@cycle=1",
            "garbage@count=1",
            "garbage@cycle=1,count=65537",
        ] {
            let failure = parse(order).expect_err(order);
            assert_eq!(failure.status, 2, "{order}");
            assert!(failure.message.contains(": accepted "), "{}", failure.message);
        }
    }
}
