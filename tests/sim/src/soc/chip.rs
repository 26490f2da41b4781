//! The blocks around the core that not every part has. Figures that the core shares stand in [`crate::part`].

use crate::part::Part;

/// Blocks of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Fast Ethernet controllers: at IMMR+0xE00 and IMMR+0x1E00.
    pub fast_ethernet_controllers: usize,
    /// Whether port E exists.
    pub port_e: bool,
}

/// The blocks of `part`. \[V\] for 866 and 88x (Linux device trees, U-Boot), \[R\] for the others.
pub fn blocks(part: &Part) -> Blocks {
    let (fast_ethernet_controllers, port_e) = match part.name {
        "885" | "875" => (2, true),
        "866" | "859" | "862p" | "860p" => (1, false),
        _ => (0, false),
    };
    Blocks {
        fast_ethernet_controllers,
        port_e,
    }
}
