//! The parallel ports A to E: direction, assignment and data registers over the levels that the board drives.
//!
//! A data register reads the latch where the pin is an output and the board's level where it is an input. Pins given
//! to a peripheral read like inputs. Sources: U-Boot
//! `immap_8xx.h` for the offsets; MPC860 User's Manual ch. 33.

/// A port by its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortName {
    /// 16 pins.
    A,
    /// 18 pins.
    B,
    /// 12 pins.
    C,
    /// 16 pins.
    D,
    /// 18 pins, 87x and 88x only.
    E,
}

/// One port.
#[derive(Clone, Copy, Debug)]
struct Port {
    direction: u32,
    assignment: u32,
    latch: u32,
    /// What the board drives; pulled up where nothing does.
    board: u32,
}

impl Port {
    const UNDRIVEN: Self = Self {
        direction: 0,
        assignment: 0,
        latch: 0,
        board: !0,
    };

    fn data(&self) -> u32 {
        let output = self.direction & !self.assignment;
        (self.latch & output) | (self.board & !output)
    }
}

/// Which register of a port an offset names.
#[derive(Clone, Copy)]
enum Field {
    Direction,
    Assignment,
    Data,
}

/// All ports.
#[derive(Clone, Debug)]
pub struct Ports {
    ports: [Port; 5],
    has_port_e: bool,
}

impl Ports {
    /// The state after reset: every pin an input, pulled up.
    pub fn new(has_port_e: bool) -> Self {
        Self {
            ports: [Port::UNDRIVEN; 5],
            has_port_e,
        }
    }

    /// Hard reset: the board's levels stay.
    pub fn reset(&mut self) {
        for port in &mut self.ports {
            *port = Port {
                board: port.board,
                ..Port::UNDRIVEN
            };
        }
    }

    /// Sets the levels that the board drives on the pins of `port`.
    pub fn drive(&mut self, port: PortName, levels: u32) {
        self.ports[port as usize].board = levels;
    }

    /// The levels that the chip drives on `port`: (levels, which pins are outputs).
    pub fn outputs(&self, port: PortName) -> (u32, u32) {
        let port = &self.ports[port as usize];
        (port.latch, port.direction & !port.assignment)
    }

    /// The port and register at `offset` from IMMR. Open-drain and special-option registers only hold their value.
    fn locate(&self, offset: u32) -> Option<(usize, Field)> {
        use Field::{Assignment, Data, Direction};
        Some(match offset {
            0x950 => (0, Direction),
            0x952 => (0, Assignment),
            0x956 => (0, Data),
            0xAB8 => (1, Direction),
            0xABC => (1, Assignment),
            0xAC4 => (1, Data),
            0x960 => (2, Direction),
            0x962 => (2, Assignment),
            0x966 => (2, Data),
            0x970 => (3, Direction),
            0x972 => (3, Assignment),
            0x976 => (3, Data),
            0xAC8 if self.has_port_e => (4, Direction),
            0xACC if self.has_port_e => (4, Assignment),
            0xAD8 if self.has_port_e => (4, Data),
            _ => return None,
        })
    }

    /// Reads the register at `offset` from IMMR. `None`: no register of this block.
    pub fn read(&self, offset: u32) -> Option<u32> {
        let (index, field) = self.locate(offset)?;
        let port = &self.ports[index];
        Some(match field {
            Field::Direction => port.direction,
            Field::Assignment => port.assignment,
            Field::Data => port.data(),
        })
    }

    /// Writes the bits of `mask` in the register at `offset`. Returns whether there is such a register.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32) -> bool {
        let Some((index, field)) = self.locate(offset) else {
            return false;
        };
        let port = &mut self.ports[index];
        let register = match field {
            Field::Direction => &mut port.direction,
            Field::Assignment => &mut port.assignment,
            Field::Data => &mut port.latch,
        };
        *register = (*register & !mask) | (value & mask);
        true
    }
}
