#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| roce_sniff_tests::fuzz::ways(input));
