//! The version requirement of a plugin for this program.

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The part of a requirement such as `>=0.2, <1` that this program does not meet, if any.
pub(super) fn unmet(requirement: &str) -> Option<String> {
    let is_unmet = requirement.split(',').any(|part| is_met(part.trim(), VERSION) == Some(false));
    is_unmet
        .then(|| format!("the plugin is made for Brynhild {requirement}, and this is {VERSION}"))
}

fn is_met(part: &str, version: &str) -> Option<bool> {
    let operators = [">=", "<=", "==", "!=", "~=", ">", "<"];
    let operator = operators.iter().find(|operator| part.starts_with(**operator))?;
    let wanted = numbers(part[operator.len()..].trim())?;
    let current = numbers(version)?;
    let order = compare(&current, &wanted);
    Some(match *operator {
        ">=" => order.is_ge(),
        "<=" => order.is_le(),
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        ">" => order.is_gt(),
        "<" => order.is_lt(),
        _ => order.is_ge() && current.starts_with(&wanted[..wanted.len().saturating_sub(1)]),
    })
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

/// Compares as if the shorter one had zeros at its end.
fn compare(left: &[u64], right: &[u64]) -> std::cmp::Ordering {
    let length = left.len().max(right.len());
    let part = |numbers: &[u64], index: usize| numbers.get(index).copied().unwrap_or(0);
    (0..length)
        .map(|index| part(left, index).cmp(&part(right, index)))
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_compared_number_by_number() {
        let table = [
            (">=0.1.0", true),
            (">=0.1", true),
            (">0.9", true),
            (">=0.10.1", false),
            ("<0.10", false),
            ("==0.10.0", true),
            ("~=0.10", true),
            ("~=1.2", false),
        ];
        for (requirement, met) in table {
            assert_eq!(is_met(requirement, "0.10"), Some(met), "{requirement}");
        }
        assert_eq!(is_met("whatever", "0.10"), None);
        assert_eq!(is_met(">=x", "0.10"), None);
    }

    #[test]
    fn only_certainly_unmet_requirements_are_reported() {
        assert_eq!(unmet(""), None);
        assert_eq!(unmet(">=0.1.0"), None);
        assert!(unmet(">=99.0").unwrap().contains("made for Brynhild >=99.0"));
    }
}
