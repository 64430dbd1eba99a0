use firstcheck_model::report::Quantity;

#[test]
fn an_unanswered_quantile_is_never_null() {
    let json = serde_json::to_string(&[Quantity::Finite(0.5), Quantity::Unbounded]).unwrap();
    assert_eq!(json, r#"[0.5,{"unbounded":true}]"#);
    assert_eq!(serde_json::from_str::<Vec<Quantity>>(&json).unwrap(), [Quantity::Finite(0.5), Quantity::Unbounded]);
    for bad in ["null", "\"1\"", "{}", r#"{"unbounded":false}"#] {
        assert!(serde_json::from_str::<Quantity>(bad).is_err(), "{bad}");
    }
    assert_eq!(Quantity::of(f64::NAN), None);
}
