//! Python's numbers: integers without a fixed size, floats, and what is computed with them.

use std::f64::consts;

use num_bigint::{BigInt, Sign};

/// Integers longer than this are an overflow. Python prints none of more than 4300 digits.
const MAX_BITS: u64 = 1 << 17;
const MAX_DIGITS: usize = 4300;

const OVERFLOW: &str = "result too large (overflow)";
const ZERO_DIVISION: &str = "division by zero";
const DOMAIN: &str = "evaluation failed: math domain error";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number {
    Integer(BigInt),
    Float(f64),
}

use Number::{Float, Integer};

#[derive(Clone, Copy)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

impl Number {
    /// Reads a literal; none if Python has no such number, or a complex one.
    pub(super) fn parse(written: &str) -> Option<Self> {
        let is_misplaced = written.starts_with('_') || written.ends_with('_');
        if is_misplaced || written.contains("__") || !written.is_ascii() {
            return None;
        }
        let plain = written.replace('_', "");
        let prefix = plain.get(..2).map(str::to_ascii_lowercase);
        let radix = match prefix.as_deref() {
            Some("0x") => 16,
            Some("0o") => 8,
            Some("0b") => 2,
            _ => 10,
        };
        if radix != 10 {
            return BigInt::parse_bytes(&plain.as_bytes()[2..], radix).map(Integer);
        }
        if plain.bytes().all(|byte| byte.is_ascii_digit()) {
            let has_zeros = plain.starts_with('0') && plain.bytes().any(|byte| byte != b'0');
            return BigInt::parse_bytes(plain.as_bytes(), 10).filter(|_| !has_zeros).map(Integer);
        }
        let is_float = |c: u8| c.is_ascii_digit() || b".eE+-".contains(&c);
        let float = plain.bytes().all(is_float).then(|| plain.parse().ok()).flatten();
        float.map(Float)
    }

    pub(super) fn negated(self) -> Self {
        match self {
            Integer(integer) => Integer(-integer),
            Float(float) => Float(-float),
        }
    }

    fn float(&self) -> Result<f64, String> {
        match self {
            Float(float) => Ok(*float),
            Integer(integer) => {
                // Decimal text is read with correct rounding.
                let float = integer.to_string().parse().unwrap_or(f64::INFINITY);
                if f64::is_finite(float) { Ok(float) } else { Err(OVERFLOW.to_owned()) }
            }
        }
    }

    /// The text of a result; integral floats look like integers.
    pub(super) fn text(&self) -> Result<String, String> {
        let text = match self {
            Integer(integer) => integer.to_string(),
            Float(float) if float.is_nan() => {
                return Err(String::from("evaluation failed: the result is not a number"));
            }
            Float(float) if float.is_infinite() => return Err(OVERFLOW.to_owned()),
            // Adding zero turns -0.0 into 0.0.
            Float(float) if float.fract() == 0.0 => format!("{:.0}", float + 0.0),
            Float(float) => float_text(*float),
        };
        if text.len() > MAX_DIGITS { Err(OVERFLOW.to_owned()) } else { Ok(text) }
    }
}

impl Operator {
    pub(super) fn apply(self, left: &Number, right: &Number) -> Result<Number, String> {
        let (Integer(a), Integer(b)) = (left, right) else {
            return self.apply_floats(left.float()?, right.float()?).map(Float);
        };
        let is_zero = b.sign() == Sign::NoSign;
        bounded(match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Power if b.sign() == Sign::Minus => {
                return self.apply_floats(left.float()?, right.float()?).map(Float);
            }
            Self::Power => return integer_power(a, b),
            Self::Divide | Self::FloorDivide | Self::Remainder if is_zero => {
                return Err(ZERO_DIVISION.to_owned());
            }
            Self::Divide => return quotient(a, b).map(Float),
            Self::FloorDivide => floor_division(a, b).0,
            Self::Remainder => floor_division(a, b).1,
        })
    }

    fn apply_floats(self, a: f64, b: f64) -> Result<f64, String> {
        Ok(match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide | Self::FloorDivide | Self::Remainder if b == 0.0 => {
                return Err(ZERO_DIVISION.to_owned());
            }
            Self::Divide => a / b,
            Self::FloorDivide => float_division(a, b).0,
            Self::Remainder => float_division(a, b).1,
            Self::Power if a == 0.0 && b < 0.0 => return Err(ZERO_DIVISION.to_owned()),
            Self::Power if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 => {
                return Err(String::from("evaluation failed: the result is a complex number"));
            }
            Self::Power => return finite(a.powf(b), &[a, b]),
        })
    }
}

fn bounded(integer: BigInt) -> Result<Number, String> {
    if integer.bits() > MAX_BITS { Err(OVERFLOW.to_owned()) } else { Ok(Integer(integer)) }
}

/// A result that is infinite only if an argument is.
fn finite(result: f64, args: &[f64]) -> Result<f64, String> {
    if result.is_infinite() && args.iter().all(|it| it.is_finite()) {
        return Err(OVERFLOW.to_owned());
    }
    Ok(result)
}

fn integer_power(base: &BigInt, exponent: &BigInt) -> Result<Number, String> {
    let exponent = u32::try_from(exponent).ok();
    let is_small = base.bits() <= 1;
    match exponent {
        // 0, 1 and -1 have small powers, of which only the parity of the exponent decides.
        _ if is_small && base.sign() != Sign::Minus => {
            let is_one = exponent == Some(0) || base.sign() == Sign::Plus;
            Ok(Integer(BigInt::from(u8::from(is_one))))
        }
        Some(exponent) if is_small || base.bits() * u64::from(exponent) <= MAX_BITS => {
            Ok(Integer(base.pow(exponent)))
        }
        _ => Err(OVERFLOW.to_owned()),
    }
}

/// Quotient and remainder, which has the sign of the divisor.
fn floor_division(a: &BigInt, b: &BigInt) -> (BigInt, BigInt) {
    let (quotient, remainder) = (a / b, a % b);
    if remainder.sign() != Sign::NoSign && remainder.sign() != b.sign() {
        (quotient - 1, remainder + b)
    } else {
        (quotient, remainder)
    }
}

/// The variant for floats, as CPython computes it.
fn float_division(a: f64, b: f64) -> (f64, f64) {
    let mut remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder == 0.0 {
        remainder = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (remainder < 0.0) {
        remainder += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(a / b), remainder);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, remainder)
}

/// The float nearest to the quotient of two integers, also where they are too large for floats.
fn quotient(a: &BigInt, b: &BigInt) -> Result<f64, String> {
    let is_negative = (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus);
    let (a, b) = (a.magnitude(), b.magnitude());
    // Enough decimal digits that rounding is decided; a last digit 1 stands for a remainder.
    let digits = 40 + b.to_string().len() - a.to_string().len().min(b.to_string().len());
    let scaled = a * num_bigint::BigUint::from(10_u8).pow(u32::try_from(digits).unwrap_or(0));
    let (whole, rest) = (&scaled / b, &scaled % b);
    let sticky = u8::from(rest.bits() > 0);
    let text = format!("{whole}{sticky}e-{}", digits + 1);
    let float: f64 = text.parse().unwrap_or(f64::INFINITY);
    if float.is_infinite() {
        return Err(OVERFLOW.to_owned());
    }
    Ok(if is_negative { -float } else { float })
}

/// The value of a name. An error is text for the model.
pub(super) fn constant(name: &str) -> Result<Number, String> {
    Ok(Float(match name {
        "pi" => consts::PI,
        "e" => consts::E,
        "tau" => consts::TAU,
        "inf" => f64::INFINITY,
        _ => return Err(format!("unknown name: '{name}'")),
    }))
}

/// The result of a function. An error is text for the model.
pub(super) fn call(name: &str, args: &[Number]) -> Result<Number, String> {
    let wrong =
        || Err(format!("evaluation failed: {name}() does not take {} arguments", args.len()));
    match (name, args) {
        ("abs", [Integer(x)]) => Ok(Integer(BigInt::from(x.magnitude().clone()))),
        ("abs", [Float(x)]) => Ok(Float(x.abs())),
        ("ceil" | "floor" | "round", [Integer(x)]) => Ok(Integer(x.clone())),
        ("ceil", [Float(x)]) => integral(x.ceil()),
        ("floor", [Float(x)]) => integral(x.floor()),
        ("round", [Float(x)]) => integral(x.round_ties_even()),
        ("round", [x, Integer(digits)]) => rounded(x, digits),
        ("round", [_, Float(_)]) => {
            Err(String::from("evaluation failed: the digits of round() are no whole number"))
        }
        ("pow", [x, y]) => Operator::Power.apply(x, y),
        ("log", [x]) => logarithm(x).map(Float),
        ("log", [x, base]) => {
            Operator::Divide.apply(&Float(logarithm(x)?), &Float(logarithm(base)?))
        }
        ("log10", [x]) => logarithm_of(x, f64::log10, consts::LOG10_2).map(Float),
        ("log2", [x]) => logarithm_of(x, f64::log2, 1.0).map(Float),
        ("abs" | "ceil" | "floor" | "round" | "pow" | "log" | "log10" | "log2", _) => wrong(),
        _ => {
            let Some(function) = float_function(name) else {
                return Err(format!("unknown function: '{name}'"));
            };
            let [x] = args else { return wrong() };
            let x = x.float()?;
            let result = function(x);
            if result.is_nan() && !x.is_nan() {
                return Err(DOMAIN.to_owned());
            }
            finite(result, &[x]).map(Float)
        }
    }
}

fn float_function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "atan" => f64::atan,
        "sqrt" => f64::sqrt,
        "exp" => f64::exp,
        _ => return None,
    })
}

/// The integer that a float without fraction is.
fn integral(float: f64) -> Result<Number, String> {
    // The text of a float without fraction has all its digits.
    let integer = BigInt::parse_bytes(format!("{float:.0}").as_bytes(), 10);
    integer.map(Integer).ok_or_else(|| OVERFLOW.to_owned())
}

/// Rounds to decimal digits, ties to the even neighbor; negative digits are left of the point.
fn rounded(number: &Number, digits: &BigInt) -> Result<Number, String> {
    // Floats have no digits beyond these, and no integer here is as long.
    let digits =
        i32::try_from(digits).unwrap_or(if digits.sign() == Sign::Minus { -400 } else { 400 });
    let places = usize::try_from(digits.unsigned_abs().min(400)).unwrap_or(400);
    match number {
        Integer(integer) if digits >= 0 => Ok(Integer(integer.clone())),
        Integer(integer) => {
            let unit = BigInt::from(10).pow(digits.unsigned_abs().min(50_000));
            let (mut count, rest) = floor_division(integer, &unit);
            let twice: BigInt = rest * 2;
            if twice > unit || (twice == unit && count.bit(0)) {
                count += 1;
            }
            bounded(count * unit)
        }
        Float(float) if digits >= 0 || !float.is_finite() => {
            Ok(Float(format!("{float:.places$}").parse().unwrap_or(*float)))
        }
        Float(float) => {
            let unit = 10_f64.powi(digits.max(-400));
            let unit = 1.0 / unit;
            let result = (float / unit).round_ties_even() * unit;
            Ok(Float(if unit.is_infinite() { 0.0 } else { result }))
        }
    }
}

fn logarithm(number: &Number) -> Result<f64, String> {
    logarithm_of(number, f64::ln, consts::LN_2)
}

/// A logarithm, also of integers too large for floats. `of_two` is that of 2.
fn logarithm_of(number: &Number, log: fn(f64) -> f64, of_two: f64) -> Result<f64, String> {
    if let Integer(integer) = number
        && integer.sign() == Sign::Plus
        && integer.bits() > 1000
    {
        let shift = integer.bits() - 64;
        let leading = Integer(integer >> shift).float()?;
        let shift = Integer(BigInt::from(shift)).float()?;
        return Ok(log(leading) + shift * of_two);
    }
    let float = number.float()?;
    if float <= 0.0 { Err(DOMAIN.to_owned()) } else { Ok(log(float)) }
}

/// A number as Python's `repr()` of a float.
fn float_text(number: f64) -> String {
    let magnitude = number.abs();
    if number.is_nan() || number.is_infinite() {
        return number.to_string().to_lowercase();
    }
    if number == 0.0 || (1e-4..1e16).contains(&magnitude) {
        return format!("{number:?}");
    }
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}
