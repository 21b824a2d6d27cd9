//! Reads an expression in Python's syntax into a tree of bounded size and depth.

use super::number::{Number, Operator};

/// Nodes as Python's `ast` counts them: an operator and the context of a name are nodes of their own.
const MAX_NODES: usize = 100;

/// The limit of Python's own parser.
const MAX_PARENTHESES: usize = 200;

pub(super) enum Expression {
    Number(Number),
    Constant(String),
    Negative(Box<Expression>),
    Positive(Box<Expression>),
    Binary(Box<Expression>, Operator, Box<Expression>),
    Call(String, Vec<Expression>),
}

/// An error is text for the model, without the leading `Error: `.
pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let mut parser = Parser { rest: text, nodes: 1, depth: 0 };
    let expression = parser.sum()?;
    if parser.peek().is_some() {
        return Err(parser.unexpected());
    }
    Ok(expression)
}

struct Parser<'a> {
    rest: &'a str,
    nodes: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let after = self.rest.strip_prefix(token);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn take_while(&mut self, is_inside: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is_inside(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn unexpected(&mut self) -> String {
        match self.peek() {
            None => String::from("invalid expression: unexpected end"),
            Some('^') => String::from("invalid expression: unexpected '^'; powers are written **"),
            Some(c) => format!("invalid expression: unexpected '{c}'"),
        }
    }

    fn count(&mut self, nodes: usize) -> Result<(), String> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return Err(format!("expression too complex (>{MAX_NODES} nodes)"));
        }
        Ok(())
    }

    fn binary(
        &mut self,
        left: Expression,
        operator: Operator,
        right: Expression,
    ) -> Result<Expression, String> {
        self.count(2)?;
        Ok(Expression::Binary(Box::new(left), operator, Box::new(right)))
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.product()?;
        loop {
            let operator = if self.take("+") {
                Operator::Add
            } else if self.take("-") {
                Operator::Subtract
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = self.binary(left, operator, right)?;
        }
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.signed()?;
        loop {
            let operator = if self.take("//") {
                Operator::FloorDivide
            } else if self.take("/") {
                Operator::Divide
            } else if self.take("%") {
                Operator::Remainder
            } else if self.take("*") {
                Operator::Multiply
            } else {
                return Ok(left);
            };
            let right = self.signed()?;
            left = self.binary(left, operator, right)?;
        }
    }

    fn signed(&mut self) -> Result<Expression, String> {
        let make = if self.take("-") {
            Expression::Negative
        } else if self.take("+") {
            Expression::Positive
        } else {
            return self.power();
        };
        self.count(2)?;
        Ok(make(Box::new(self.signed()?)))
    }

    fn power(&mut self) -> Result<Expression, String> {
        let base = self.atom()?;
        if !self.take("**") {
            return Ok(base);
        }
        let exponent = self.signed()?;
        self.binary(base, Operator::Power, exponent)
    }

    fn atom(&mut self) -> Result<Expression, String> {
        match self.peek() {
            Some('(') => self.parenthesized(),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            _ => Err(self.unexpected()),
        }
    }

    fn enter(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_PARENTHESES {
            return Err(String::from("invalid expression: too many nested parentheses"));
        }
        Ok(())
    }

    fn parenthesized(&mut self) -> Result<Expression, String> {
        self.take("(");
        self.enter()?;
        let inner = self.sum()?;
        if !self.take(")") {
            return Err(self.unexpected());
        }
        self.depth -= 1;
        Ok(inner)
    }

    fn number(&mut self) -> Result<Expression, String> {
        self.count(1)?;
        let written = self.rest;
        let has_prefix =
            ["0x", "0X", "0b", "0B", "0o", "0O"].iter().any(|it| written.starts_with(it));
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        // The sign of an exponent.
        let is_exponent = |read: &str| !has_prefix && read.ends_with(['e', 'E']);
        if is_exponent(&written[..written.len() - self.rest.len()])
            && self.rest.starts_with(['+', '-'])
        {
            self.rest = &self.rest[1..];
            self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        }
        let written = &written[..written.len() - self.rest.len()];
        let number = Number::parse(written);
        number
            .map(Expression::Number)
            .ok_or_else(|| format!("invalid expression: '{written}' is not a number"))
    }

    fn name(&mut self) -> Result<Expression, String> {
        let name = self.take_while(|c| c.is_alphanumeric() || c == '_').to_owned();
        self.count(2)?;
        if !self.take("(") {
            return Ok(Expression::Constant(name));
        }
        self.count(1)?;
        self.enter()?;
        let mut args = Vec::new();
        while !self.take(")") {
            if self.has_keyword() {
                return Err(String::from("keyword arguments are not allowed"));
            }
            args.push(self.sum()?);
            if !self.take(",") && self.peek() != Some(')') {
                return Err(self.unexpected());
            }
        }
        self.depth -= 1;
        Ok(Expression::Call(name, args))
    }

    /// Returns true if an argument begins with its name.
    fn has_keyword(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        let after = self.rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        let is_name = self.rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let after = after.trim_start();
        is_name && after.starts_with('=') && !after.starts_with("==")
    }
}
