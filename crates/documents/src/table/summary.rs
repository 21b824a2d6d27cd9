//! The type of a column's values, and statistics of them.

use std::collections::BTreeMap;

/// Values that decide about the type.
const SAMPLE: usize = 100;
const TOP_VALUES: usize = 10;

/// `int`, `float` or `string`, by the first values that are not empty.
pub(super) fn type_of<'a>(values: impl Iterator<Item = &'a str>) -> &'static str {
    let sample: Vec<&str> =
        values.map(str::trim).filter(|value| !value.is_empty()).take(SAMPLE).collect();
    if sample.is_empty() {
        "string"
    } else if sample.iter().all(|value| value.parse::<i128>().is_ok()) {
        "int"
    } else if sample.iter().all(|value| value.parse::<f64>().is_ok()) {
        "float"
    } else {
        "string"
    }
}

/// The statistics of a column.
pub(super) fn of<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let values: Vec<&str> = values.filter(|value| !value.trim().is_empty()).collect();
    if type_of(values.iter().copied()) == "string" {
        return categorical(&values);
    }
    let mut numbers: Vec<f64> =
        values.iter().filter_map(|value| value.trim().parse().ok()).collect();
    numbers.sort_by(f64::total_cmp);
    numeric(&numbers)
}

fn categorical(values: &[&str]) -> String {
    // Number of occurrences, and the first one, which orders equal numbers.
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (index, value) in values.iter().enumerate() {
        counts.entry(value).or_insert((0, index)).0 += 1;
    }
    let unique = counts.len();
    let mut counts: Vec<(&str, (usize, usize))> = counts.into_iter().collect();
    counts.sort_by_key(|(_, (count, first))| (usize::MAX - count, *first));
    let top =
        counts.iter().take(TOP_VALUES).map(|(value, (count, _))| format!("'{value}':{count}"));
    let top = top.collect::<Vec<_>>().join(", ");
    format!("categorical | unique={unique}, top values: {top}")
}

/// The statistics of sorted numbers, of which there is at least one.
fn numeric(numbers: &[f64]) -> String {
    let count = numbers.len();
    #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^52")]
    let size = count as f64;
    let mean = numbers.iter().sum::<f64>() / size;
    let middle = count / 2;
    let median = if count.is_multiple_of(2) {
        f64::midpoint(numbers[middle - 1], numbers[middle])
    } else {
        numbers[middle]
    };
    let stdev = if count < 2 {
        String::from("N/A (< 2 values)")
    } else {
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        format!("{:.4}", (squares / (size - 1.0)).sqrt())
    };
    let (min, max) = (numbers[0], numbers[count - 1]);
    format!(
        "numeric | count_non_empty={count}, min={min:.4}, max={max:.4}, mean={mean:.4}, \
         median={median:.4}, stdev={stdev}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_types_and_statistics() {
        assert_eq!(type_of(["1", "", "-2"].into_iter()), "int");
        assert_eq!(type_of(["1", "2.5"].into_iter()), "float");
        assert_eq!(type_of(["1", "x"].into_iter()), "string");
        assert_eq!(type_of(["", ""].into_iter()), "string");
        assert_eq!(
            of(["1", "2", "", "4"].into_iter()),
            "numeric | count_non_empty=3, min=1.0000, max=4.0000, mean=2.3333, median=2.0000, \
             stdev=1.5275"
        );
        assert!(of(["7"].into_iter()).ends_with("median=7.0000, stdev=N/A (< 2 values)"));
        assert_eq!(
            of(["b", "a", "b", ""].into_iter()),
            "categorical | unique=2, top values: 'b':2, 'a':1"
        );
    }
}
