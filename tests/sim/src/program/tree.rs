//! The device tree that a board hands over when the user brings none: CPU, clocks, memory, interrupt controllers and
//! the console on SMC1, as the bindings of Linux for 8xx have them (mpc8xx.md 7.5; `mpc885ads.dts`).

use mpc8xx_sim::board::Board;
use mpc8xx_sim::load::fdt::{Node, Tree};

/// Core clocks in one tick of the time base. Every board's boot loader selects this source.
const TIME_BASE_DIVIDER: u32 = 16;
const PHANDLE_PIC: u32 = 1;
const PHANDLE_CPIC: u32 = 2;

fn node(name: &str) -> Node {
    Node {
        name: name.to_owned(),
        ..Node::default()
    }
}

/// Sets a property to cells.
fn cells(node: &mut Node, name: &str, values: &[u32]) {
    node.set(name, values.iter().flat_map(|value| value.to_be_bytes()).collect());
}

/// Sets a property to strings.
fn strings(node: &mut Node, name: &str, values: &[&str]) {
    let bytes = values.iter().flat_map(|value| value.bytes().chain([0]));
    node.set(name, bytes.collect());
}

fn one_cell_each(node: &mut Node) {
    cells(node, "#address-cells", &[1]);
    cells(node, "#size-cells", &[1]);
}

/// The tree of `board`, whose core runs at `core_hz` and whose bus at `bus_hz`. Memory, command line and RAM disk are
/// left to the loader.
pub fn of(board: &Board, core_hz: u32, bus_hz: u32) -> Tree {
    let vendor = match board.name {
        "mpc885ads" => "fsl",
        "adder875" => "analogue-and-micro",
        _ => "cs",
    };
    let mut root = Node::default();
    one_cell_each(&mut root);
    strings(&mut root, "model", &[board.name]);
    strings(&mut root, "compatible", &[&format!("{vendor},{}", board.name)]);
    root.children = vec![cpus(board, core_hz, bus_hz), soc(board, core_hz, bus_hz), chosen(board)];
    Tree {
        root,
        ..Tree::default()
    }
}

fn chosen(board: &Board) -> Node {
    let console = format!("/soc@{:x}/cpm@9c0/serial@a80", board.immr);
    let mut chosen = node("chosen");
    strings(&mut chosen, "stdout-path", &[&console]);
    // The name before the specification had one; kernels of that time look for it.
    strings(&mut chosen, "linux,stdout-path", &[&console]);
    chosen
}

fn cpus(board: &Board, core_hz: u32, bus_hz: u32) -> Node {
    let part = board.part();
    let mut cpu = node(&format!("PowerPC,{}@0", part.name));
    strings(&mut cpu, "device_type", &["cpu"]);
    for (name, value) in [
        ("reg", 0),
        ("d-cache-line-size", mpc8xx_sim::part::LINE),
        ("i-cache-line-size", mpc8xx_sim::part::LINE),
        ("d-cache-size", part.dcache.bytes()),
        ("i-cache-size", part.icache.bytes()),
        ("timebase-frequency", core_hz / TIME_BASE_DIVIDER),
        ("bus-frequency", bus_hz),
        ("clock-frequency", core_hz),
        ("interrupt-parent", PHANDLE_PIC),
    ] {
        cells(&mut cpu, name, &[value]);
    }
    // Level 7, the decrementer's.
    cells(&mut cpu, "interrupts", &[15, 2]);
    let mut cpus = node("cpus");
    cells(&mut cpus, "#address-cells", &[1]);
    cells(&mut cpus, "#size-cells", &[0]);
    cpus.children.push(cpu);
    cpus
}

/// The internal memory map. The kernel of the MPC885ADS looks up paths below `/soc@ff000000`.
fn soc(board: &Board, core_hz: u32, bus_hz: u32) -> Node {
    let compatible = |block: &str| format!("fsl,mpc{}-{block}", board.part);
    let mut pic = node("interrupt-controller@0");
    pic.set("interrupt-controller", Vec::new());
    cells(&mut pic, "#interrupt-cells", &[2]);
    cells(&mut pic, "reg", &[0, 0x24]);
    cells(&mut pic, "phandle", &[PHANDLE_PIC]);
    strings(&mut pic, "compatible", &[&compatible("pic"), "fsl,pq1-pic"]);

    let mut data = node("data@0");
    strings(&mut data, "compatible", &["fsl,cpm-muram-data"]);
    cells(&mut data, "reg", &[0, 0x1C00]);
    let mut muram = node("muram@2000");
    one_cell_each(&mut muram);
    cells(&mut muram, "ranges", &[0, 0x2000, 0x2000]);
    muram.children.push(data);

    let mut brg = node("brg@9f0");
    strings(
        &mut brg,
        "compatible",
        &[&compatible("brg"), "fsl,cpm1-brg", "fsl,cpm-brg"],
    );
    cells(&mut brg, "clock-frequency", &[core_hz]);
    cells(&mut brg, "reg", &[0x9F0, 0x10]);

    let mut cpic = node("interrupt-controller@930");
    cpic.set("interrupt-controller", Vec::new());
    cells(&mut cpic, "#interrupt-cells", &[1]);
    // Level 2 and the error interrupt on level 0.
    cells(&mut cpic, "interrupts", &[5, 2, 0, 2]);
    cells(&mut cpic, "interrupt-parent", &[PHANDLE_PIC]);
    cells(&mut cpic, "reg", &[0x930, 0x20]);
    cells(&mut cpic, "phandle", &[PHANDLE_CPIC]);
    strings(&mut cpic, "compatible", &[&compatible("cpm-pic"), "fsl,cpm1-pic"]);

    let mut serial = node("serial@a80");
    strings(&mut serial, "device_type", &["serial"]);
    strings(
        &mut serial,
        "compatible",
        &[&compatible("smc-uart"), "fsl,cpm1-smc-uart"],
    );
    cells(&mut serial, "reg", &[0xA80, 0x10, 0x3E80, 0x40]);
    cells(&mut serial, "interrupts", &[4]);
    cells(&mut serial, "interrupt-parent", &[PHANDLE_CPIC]);
    cells(&mut serial, "fsl,cpm-brg", &[1]);
    cells(&mut serial, "fsl,cpm-command", &[0x90]);
    cells(&mut serial, "current-speed", &[board.console_baud]);

    let mut cpm = node("cpm@9c0");
    one_cell_each(&mut cpm);
    strings(&mut cpm, "compatible", &[&compatible("cpm"), "fsl,cpm1"]);
    cells(&mut cpm, "command-proc", &[0x9C0]);
    cells(&mut cpm, "interrupts", &[0]);
    cells(&mut cpm, "interrupt-parent", &[PHANDLE_CPIC]);
    cells(&mut cpm, "reg", &[0x9C0, 0x40]);
    cpm.set("ranges", Vec::new());
    cpm.children = vec![muram, brg, cpic, serial];

    let mut soc = node(&format!("soc@{:x}", board.immr));
    one_cell_each(&mut soc);
    strings(&mut soc, "device_type", &["soc"]);
    strings(
        &mut soc,
        "compatible",
        &[&format!("fsl,mpc{}", board.part), "fsl,pq1-soc"],
    );
    cells(&mut soc, "ranges", &[0, board.immr, 0x2_8000]);
    cells(&mut soc, "reg", &[board.immr, 0x4000]);
    cells(&mut soc, "bus-frequency", &[bus_hz]);
    soc.children = vec![pic, cpm];
    soc
}
