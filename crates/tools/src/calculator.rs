//! Arithmetic with Python's numbers, within bounds. Evaluates expressions and nothing else of Python.

mod number;
mod syntax;

use number::Number;
use syntax::Expression;

/// The value of an expression as Python prints it, integral floats as integers. An error is for the
/// model.
pub fn calculate(expression: &str) -> Result<String, String> {
    evaluate(&syntax::parse(expression)?)?.text()
}

fn evaluate(expression: &Expression) -> Result<Number, String> {
    match expression {
        Expression::Number(number) => Ok(number.clone()),
        Expression::Constant(name) => number::constant(name),
        Expression::Negative(inner) => Ok(evaluate(inner)?.negated()),
        Expression::Positive(inner) => evaluate(inner),
        Expression::Binary(left, operator, right) => {
            operator.apply(&evaluate(left)?, &evaluate(right)?)
        }
        Expression::Call(name, args) => {
            let args = args.iter().map(evaluate).collect::<Result<Vec<_>, _>>()?;
            number::call(name, &args)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expressions with the values that Python prints, integral floats as integers.
    #[test]
    fn values_are_those_of_python() {
        for (expression, value) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("-2 ** 2", "-4"),
            ("2 ** -1", "0.5"),
            ("2 ** 3 ** 2", "512"),
            ("-7 // 2", "-4"),
            ("-7 % 3", "2"),
            ("7 % -3", "-2"),
            ("-7.5 // 2", "-4"),
            ("-7.5 % 2", "0.5"),
            ("1 / 3", "0.3333333333333333"),
            ("6 / 2", "3"),
            ("1e22", "10000000000000000000000"),
            ("1 / 100000", "1e-05"),
            ("0.1 + 0.2", "0.30000000000000004"),
            ("2 ** 100", "1267650600228229401496703205376"),
            ("10 ** 30 // 7", "142857142857142857142857142857"),
            ("(10 ** 30 + 1) / 10 ** 30 - 1", "0"),
            ("10 ** 400 / 10 ** 399", "10"),
            ("1 / 10 ** 310", "1e-310"),
            ("0x1F + 0b11 + 0o7 + 1_000", "1041"),
            ("1. + .5", "1.5"),
            ("round(2.5)", "2"),
            ("round(-3.5)", "-4"),
            ("round(2.675, 2)", "2.67"),
            ("round(1250, -2)", "1200"),
            ("ceil(-1.5) + floor(1e20)", "99999999999999999999"),
            ("sqrt(16)", "4"),
            ("log(8, 2)", "3"),
            ("log2(2 ** 2000)", "2000"),
            ("log10(1000)", "3"),
            ("abs(-5) + pow(2, 10)", "1029"),
            ("sin(pi / 2) + cos(0)", "2"),
            ("exp(1) - e", "0"),
            ("tau", "6.283185307179586"),
            ("- - +3", "3"),
        ] {
            assert_eq!(calculate(expression).as_deref(), Ok(value), "{expression}");
        }
    }

    #[test]
    fn errors_have_the_documented_text() {
        let deep = format!("{}1{}", "(".repeat(300), ")".repeat(300));
        for (expression, error) in [
            ("1 / 0", "division by zero"),
            ("1 % 0", "division by zero"),
            ("0 ** -1", "division by zero"),
            ("9 ** 9 ** 9", "result too large (overflow)"),
            ("10 ** 5000", "result too large (overflow)"),
            ("1e308 ** 2", "result too large (overflow)"),
            ("exp(1000)", "result too large (overflow)"),
            ("inf", "result too large (overflow)"),
            ("10 ** 400 + 0.5", "result too large (overflow)"),
            ("x + 1", "unknown name: 'x'"),
            ("eval(1)", "unknown function: 'eval'"),
            ("round(1.5, ndigits=1)", "keyword arguments are not allowed"),
            ("sqrt(-1)", "evaluation failed: math domain error"),
            ("(-8) ** 0.5", "evaluation failed: the result is a complex number"),
            ("sin(1, 2)", "evaluation failed: sin() does not take 2 arguments"),
            ("inf - inf", "evaluation failed: the result is not a number"),
            ("1 +", "invalid expression: unexpected end"),
            ("1 2", "invalid expression: unexpected '2'"),
            ("2 ^ 3", "invalid expression: unexpected '^'; powers are written **"),
            ("'a' * 3", "invalid expression: unexpected '''"),
            ("007", "invalid expression: '007' is not a number"),
            ("", "invalid expression: unexpected end"),
            (&deep, "invalid expression: too many nested parentheses"),
            (&format!("1{}", "+1".repeat(40)), "expression too complex (>100 nodes)"),
        ] {
            assert_eq!(calculate(expression).unwrap_err(), error, "{expression}");
        }
    }
}
