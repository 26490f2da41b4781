//! The boards an image can be built for.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// A board of the firmware; each is one Cargo feature of the package `zeronull`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Board {
    /// QEMU's `g3beige` machine with a CPU of the 603 family.
    G3beige,
    /// The MCR3000 class of MPC8xx boards.
    Mcr3000,
}

impl Board {
    /// Every board, in the order in which messages list them.
    pub const ALL: [Self; 2] = [Self::G3beige, Self::Mcr3000];

    /// The name used on command lines and in paths.
    pub fn name(self) -> &'static str {
        match self {
            Self::G3beige => "g3beige",
            Self::Mcr3000 => "mcr3000",
        }
    }

    /// The Cargo feature that selects this board.
    pub fn feature(self) -> String {
        format!("board-{}", self.name())
    }

    /// Whether the firmware can start this board from its flash.
    pub fn has_reset_image(self) -> bool {
        self == Self::Mcr3000
    }
}

impl fmt::Display for Board {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Board {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|board| board.name() == text).ok_or_else(|| {
            let accepted = Self::ALL.map(Self::name).join(", ");
            Error::usage(format!("unknown board `{text}`: accepted are {accepted}"))
        })
    }
}
