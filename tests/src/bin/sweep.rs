//! Prints how the analysis scores on families of random scenarios: `sweep [--seeds N] [--show N] [FAMILY…]`.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "a tool of the tests, which adds up a few sums"
)]

use std::collections::BTreeMap;

use roce_sniff_tests::sweep::FAMILIES;

fn main() {
    let mut args = std::env::args().skip(1);
    let (mut seeds, mut show, mut names) = (0..100, 0, Vec::new());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seeds" => {
                let range = args.next().unwrap();
                let (from, to) = range.split_once("..").unwrap_or(("0", &range));
                seeds = from.parse().unwrap()..to.parse().unwrap();
            }
            "--show" => show = args.next().unwrap().parse().unwrap(),
            _ => names.push(arg),
        }
    }
    for family in FAMILIES.iter().filter(|f| names.is_empty() || names.iter().any(|n| n == f.name))
    {
        let (mut clean, mut exact, mut off, mut liars) = (0, 0, 0, 0);
        let (mut invented, mut missed, mut undecided) = (0, 0, 0);
        let mut fields = BTreeMap::<String, u32>::new();
        let mut shown = 0;
        for seed in seeds.clone() {
            let run = family.play(seed);
            exact += run.score.exact;
            off += run.off().count();
            invented += usize::from(run.score.losses.invented > 0);
            undecided += usize::from(run.score.losses.undecided > 0);
            missed += usize::from(run.score.losses.missed > 0);
            let is_clean = run.is_exact();
            clean += usize::from(is_clean);
            liars += usize::from(!run.false_losses.is_empty());
            for id in &run.false_losses {
                *fields.entry(format!("!{id} though nothing was lost")).or_default() += 1;
            }
            for off in run.off() {
                *fields.entry(off.field.clone()).or_default() += 1;
            }
            for alarm in &run.alarms {
                *fields.entry(format!("!{alarm}")).or_default() += 1;
            }
            if !is_clean && shown < show {
                shown += 1;
                println!(
                    "--- {} seed {seed} alarms {:?} false losses {:?} {:?}\n{}",
                    family.name, run.alarms, run.false_losses, run.score.losses, run.text
                );
                for off in run.off() {
                    let value = |v: &Option<serde_json::Value>| {
                        v.as_ref().map_or("nothing".to_owned(), |v| v.to_string())
                    };
                    println!(
                        "   {}: {} not {}",
                        off.field,
                        value(&off.analysis),
                        value(&off.truth)
                    );
                }
            }
        }
        let all = seeds.clone().count();
        println!(
            "{:<20} runs {all} exact {clean}; losses: false finding {liars} invented {invented} \
             missed {missed} undecided {undecided}; fields exact {exact} off {off} {fields:?}",
            family.name
        );
    }
}
