//! Numbers as people read them.

use firstcheck_model::report::Quantity::{Finite, Unbounded};
use firstcheck_report::number::{change, change_interval, quantity, relative, share, signed, value};

#[test]
fn changes() {
    for (base, candidate, expected) in [
        (800.0, 1200.0, "+50 %"),
        (35.0, 42.0, "+20 %"),
        (12.0, 9.0, "−25 %"),
        (1.0, 1.0, "±0 %"),
        (1.0, 1.00001, "±0 %"),
        (1.0, 0.99999, "±0 %"),
        (1000.0, 1053.0, "+5.3 %"),
        (1000.0, 950.0, "−5 %"),
        (1000.0, 1096.0, "+9.6 %"),
        (1000.0, 1099.6, "+10 %"),
        (1.0, 4.9, "+390 %"),
        (1.0, 5.0, "× 5.0"),
        (1.0, 20.1, "× 20"),
        (1.0, 12_345.0, "× 12,345"),
        (1.0, 0.0, "−100 %"),
    ] {
        assert_eq!(change(candidate / base), expected, "{base} → {candidate}");
    }
}

#[test]
fn intervals() {
    assert_eq!(change_interval([Finite(1.31), Finite(1.72)]), "+31 … +72 %");
    assert_eq!(change_interval([Finite(0.955), Finite(1.02)]), "−4.5 … +2 %");
    assert_eq!(change_interval([Finite(1.5), Finite(20.0)]), "+50 % … × 20");
    assert_eq!(change_interval([Finite(1.5), Unbounded]), "+50 % … ∞");
}

#[test]
fn values() {
    for (number, unit, expected) in [
        (0.8, "s", "800 ms"),
        (1.2, "s", "1.20 s"),
        (0.9996, "s", "1.00 s"),
        (0.035, "s", "35.0 ms"),
        (0.0, "s", "0 ms"),
        (0.000_042, "s", "42.0 µs"),
        (0.000_999_6, "s", "1.00 ms"),
        (62.34, "s", "62.3 s"),
        (-0.25, "s", "−250 ms"),
        (1234.5, "tokens/s", "1,234 tok/s"),
        (9.0, "requests/s", "9.00 req/s"),
        (0.931, "1", "93.1 %"),
        (312.0, "count", "312"),
        (12.5, "count", "12.5"),
        (28_800.0, "tokens", "28,800 tokens"),
        (3.5 * 1024.0 * 1024.0 * 1024.0, "B", "3.50 GiB"),
        (0.15, "GiB", "0.150 GiB"),
    ] {
        assert_eq!(value(number, unit), expected, "{number} {unit}");
    }
}

#[test]
fn missing_and_unanswered_are_not_zero() {
    assert_eq!(quantity(None, "s"), "–");
    assert_eq!(quantity(Some(Unbounded), "s"), "∞ (unanswered)");
    assert_eq!(quantity(Some(Finite(0.0)), "s"), "0 ms");
}

#[test]
fn signs_and_shares() {
    assert_eq!(signed(0.33, "s"), "+330 ms");
    assert_eq!(signed(-0.33, "s"), "−330 ms");
    for (part, expected) in
        [(0.825, "82 %"), (0.0375, "3.8 %"), (0.03, "3 %"), (0.0025, "0.25 %"), (0.0, "0 %"), (1.0, "100 %")]
    {
        assert_eq!(share(part), expected, "{part}");
    }
    assert_eq!(relative(0.053), "5.3 %");
    assert_eq!(relative(0.1), "10 %");
}
