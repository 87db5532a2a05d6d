//! The families.

use std::fmt::Write;

/// Scenarios of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// What it is about.
    pub name: &'static str,
    /// The scenario with this seed.
    pub text: fn(u64) -> String,
    /// All that `check` may find in any of them; `None` when anything goes.
    pub findings: Option<&'static [&'static str]>,
    /// How many of a hundred scenarios must be exact at least. Where packets are lost a capture
    /// does not always tell one story from another.
    pub exact: usize,
}

/// All of them.
pub const FAMILIES: &[Family] = &[
    Family { name: "healthy", text: healthy, findings: Some(&[]), exact: 100 },
    Family { name: "mirrored", text: mirrored, findings: Some(&["duplicated-frames"]), exact: 100 },
    Family {
        name: "mirrored-tiny",
        text: mirrored_tiny,
        findings: Some(&["duplicated-frames"]),
        exact: 100,
    },
    Family { name: "mirrored-loss", text: mirrored_loss, findings: None, exact: 85 },
    Family { name: "reads-loss", text: reads_loss, findings: None, exact: 80 },
    Family { name: "loss", text: loss, findings: None, exact: 90 },
    Family { name: "loss-short-timeout", text: loss_short, findings: None, exact: 90 },
    Family { name: "sprayed", text: sprayed, findings: None, exact: 25 },
    Family { name: "sprayed-loss", text: sprayed_loss, findings: None, exact: 25 },
    Family { name: "xrc", text: xrc, findings: None, exact: 95 },
];

/// Random choices, the same for the same seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `sides` - 1.
    fn below(&mut self, sides: u64) -> u64 {
        self.roll() % sides
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::try_from(self.below(list.len() as u64)).unwrap()]
    }
}

const CARRIERS: &[&str] = &["v1", "v2-ipv4", "v2-ipv6"];
const PMTUS: &[u64] = &[256, 1024, 4096];
const ALL: &[&str] =
    &["send", "write", "read", "compare-swap", "fetch-add", "atomic-write", "flush"];

/// The connection; what follows are keys of it.
fn connection(dice: &mut Dice, seed: u64, capture: &str) -> String {
    let carrier = dice.one_of(CARRIERS);
    let ip_id = dice.one_of(&["count", "count", "zero"]);
    let pmtu = dice.one_of(PMTUS);
    format!(
        "seed = {seed}\n[capture]\nat = \"{at}\"\n{capture}\n[[connection]]\nname = \"one\"\nfrom = \"a\"\nto = \
         \"b\"\ncarrier = \"{carrier}\"\nip_id = \"{ip_id}\"\npmtu = {pmtu}\ndscp = 26\necn = \
         \"ect0\"\npsn = [{a}, {b}]\nrate = \"{rate}\"\n",
        at = dice.one_of(&["from", "to", "middle"]),
        a = dice.one_of(&[0, 16_777_200, 5_000_000]),
        b = dice.one_of(&[7, 16_777_210, 9_000_000]),
        rate = dice.one_of(&["1Gbit", "10Gbit", "25Gbit", "100Gbit"]),
    )
}

fn cm(dice: &mut Dice, text: &mut String) {
    if dice.below(3) == 0 {
        text.push_str("[connection.cm]\ndisconnect = \"from\"\n");
    }
}

/// Operations of these kinds.
fn ops(dice: &mut Dice, text: &mut String, kinds: &[&str], most: u64) {
    for _ in 0..=dice.below(2) {
        let kind = dice.one_of(kinds);
        write!(text, "[[connection.op]]\nkind = \"{kind}\"\ncount = {}\n", 5 + dice.below(60))
            .unwrap();
        if dice.below(2) == 0 {
            writeln!(text, "depth = {}", 1 + dice.below(16)).unwrap();
        }
        if dice.below(4) == 0 {
            text.push_str("by = \"to\"\n");
        }
        if matches!(kind, "send" | "write" | "read") {
            writeln!(text, "size = {}", dice.below(most)).unwrap();
        }
    }
}

fn healthy(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let mut text = connection(dice, seed, "");
    cm(dice, &mut text);
    ops(dice, &mut text, ALL, 20_000);
    text
}

fn mirror(dice: &mut Dice) -> String {
    let delays = &["100ns", "500ns", "1us", "3us", "10us", "30us", "100us", "300us"];
    format!("mirror_delay = \"{}\"", dice.one_of(delays))
}

fn mirrored(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let delay = mirror(dice);
    let mut text = connection(dice, seed, &delay);
    cm(dice, &mut text);
    ops(dice, &mut text, ALL, 20_000);
    text
}

fn mirrored_tiny(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let delay = mirror(dice);
    let mut text = connection(dice, seed, &delay);
    cm(dice, &mut text);
    for _ in 0..=dice.below(2) {
        let kind = dice.one_of(ALL);
        let size = if matches!(kind, "send" | "write" | "read") { dice.below(65) } else { 8 };
        let (count, depth) = (100 + dice.below(200), 1 + dice.below(64));
        writeln!(
            text,
            "[[connection.op]]\nkind = \"{kind}\"\nsize = {size}\ncount = {count}\ndepth = {depth}"
        )
        .unwrap();
    }
    text
}

/// Losses of these packets, each with a probability of at most `most` in a thousand.
fn losses(dice: &mut Dice, text: &mut String, of: &[&str], most: u64) {
    for (from, place) in [("from", "before"), ("from", "after"), ("to", "before"), ("to", "after")]
    {
        if dice.below(2) == 0 {
            let rate = (1 + dice.below(most)) as f64 / 1000.0;
            let of = dice.one_of(of);
            writeln!(
                text,
                "[[event]]\nkind = \"loss\"\nof = \"{of}\"\nfrom = \"{from}\"\nwhere = \
                 \"{place}-capture\"\nrate = {rate}"
            )
            .unwrap();
        }
    }
}

fn mirrored_loss(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let delay = mirror(dice);
    let mut text = connection(dice, seed, &delay);
    text.push_str("timeout = 12\n");
    ops(dice, &mut text, &["send", "write"], 20_000);
    losses(dice, &mut text, &["requests"], 20);
    text
}

fn reads_loss(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let mut text = connection(dice, seed, "");
    text.push_str("timeout = 12\n");
    cm(dice, &mut text);
    let (size, depth) = (dice.below(9000), 1 + dice.below(8));
    writeln!(
        text,
        "[[connection.op]]\nkind = \"read\"\nsize = {size}\ncount = 60\ndepth = {depth}"
    )
    .unwrap();
    losses(dice, &mut text, &["requests", "responses", "any"], 30);
    text
}

fn loss(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let mut text = connection(dice, seed, "");
    text.push_str("timeout = 12\n");
    cm(dice, &mut text);
    ops(dice, &mut text, &["send", "write"], 9000);
    losses(dice, &mut text, &["requests", "acks", "any"], 30);
    text
}

fn loss_short(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let mut text = connection(dice, seed, "");
    writeln!(text, "timeout = {}", 5 + dice.below(6)).unwrap();
    cm(dice, &mut text);
    ops(dice, &mut text, &["send", "write"], 9000);
    losses(dice, &mut text, &["requests", "acks"], 20);
    text
}

/// Packets that are overtaken, of these.
fn spray(dice: &mut Dice, text: &mut String, of: &[&str]) {
    for from in ["from", "to"] {
        if dice.below(3) > 0 {
            let rate = (1 + dice.below(200)) as f64 / 1000.0;
            let by = dice.one_of(&[1, 2, 4, 16, 64]);
            let of = dice.one_of(of);
            let place = dice.one_of(&["before", "before", "after"]);
            writeln!(
                text,
                "[[event]]\nkind = \"reorder\"\nof = \"{of}\"\nfrom = \"{from}\"\nwhere = \
                 \"{place}-capture\"\nrate = {rate}\nby = {by}"
            )
            .unwrap();
        }
    }
}

fn sprayed(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let mut text = connection(dice, seed, "");
    text.push_str("timeout = 12\n");
    cm(dice, &mut text);
    ops(dice, &mut text, &["send", "write", "read"], 30_000);
    spray(dice, &mut text, &["requests", "any"]);
    text
}

fn sprayed_loss(seed: u64) -> String {
    let mut text = sprayed(seed);
    let dice = &mut Dice::new(seed ^ 0x1055);
    losses(dice, &mut text, &["requests"], 10);
    text
}

fn xrc(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let mut text = connection(dice, seed, "");
    text.push_str("service = \"xrc\"\ntimeout = 12\n");
    ops(dice, &mut text, &["send", "write", "read", "compare-swap", "fetch-add"], 9000);
    // Only `from` makes requests on an XRC connection.
    let mut text = text.replace("by = \"to\"\n", "");
    losses(dice, &mut text, &["requests", "acks"], 20);
    text
}
