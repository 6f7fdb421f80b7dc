//! The part of GraphQL that a client needs to read threads and to settle them: one operation with
//! variables, fields with arguments and aliases, fragments in place. Anything else is refused.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use serde_json::{Map, Value};

/// One operation, with its variables filled in.
#[derive(Debug, PartialEq)]
pub(super) struct Operation {
    pub(super) kind: OperationKind,
    pub(super) fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationKind {
    Query,
    Mutation,
}

#[derive(Debug, PartialEq)]
pub(super) struct Field {
    /// What the answer calls it.
    pub(super) alias: String,
    pub(super) name: String,
    pub(super) arguments: BTreeMap<String, Value>,
    pub(super) fields: Vec<Self>,
    /// The type that a fragment in place was written for.
    pub(super) on: Option<String>,
}

type Parsed<T> = Result<T, String>;

/// Reads a document. Every variable must be declared, given and used.
pub(super) fn parse(document: &str, given: &Map<String, Value>) -> Parsed<Operation> {
    let tokens = tokens(document)?;
    let mut parser = Parser {
        tokens: tokens.into_iter().peekable(),
        given,
        declared: Vec::new(),
        used: Vec::new(),
    };
    let operation = parser.operation()?;
    if let Some(token) = parser.tokens.next() {
        return Err(format!("Expected one operation, actual: {token:?}"));
    }
    if let Some(unused) = parser.declared.iter().find(|name| !parser.used.contains(name)) {
        return Err(format!("Variable ${unused} is declared but not used"));
    }
    if let Some(unknown) = given.keys().find(|name| !parser.declared.contains(name)) {
        return Err(format!("Variable ${unknown} is given but not declared"));
    }
    Ok(operation)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(String),
    Mark(char),
    Spread,
}

struct Parser<'a> {
    tokens: Peekable<std::vec::IntoIter<Token>>,
    given: &'a Map<String, Value>,
    declared: Vec<String>,
    used: Vec<String>,
}

impl Parser<'_> {
    fn operation(&mut self) -> Parsed<Operation> {
        let kind = match self.tokens.peek() {
            Some(Token::Name(word)) if word == "mutation" => OperationKind::Mutation,
            Some(Token::Name(word)) if word == "query" => OperationKind::Query,
            Some(Token::Mark('{')) => {
                return Ok(Operation { kind: OperationKind::Query, fields: self.fields(None)? });
            }
            other => return Err(format!("Expected an operation, actual: {other:?}")),
        };
        self.tokens.next();
        if let Some(Token::Name(_)) = self.tokens.peek() {
            self.tokens.next();
        }
        if self.takes('(') {
            while !self.takes(')') {
                self.declaration()?;
            }
        }
        Ok(Operation { kind, fields: self.fields(None)? })
    }

    /// Reads `$name: Type! = default`.
    fn declaration(&mut self) -> Parsed<()> {
        self.expect('$')?;
        let name = self.name()?;
        self.expect(':')?;
        let lists = std::iter::from_fn(|| self.takes('[').then_some(())).count();
        self.name()?;
        let mut required = self.takes('!');
        for _ in 0..lists {
            self.expect(']')?;
            required = self.takes('!');
        }
        let has_default = self.takes('=');
        if has_default {
            self.value()?;
        }
        if required && self.given.get(&name).is_none_or(Value::is_null) {
            return Err(format!("Variable ${name} of type Required was provided invalid value"));
        }
        self.declared.push(name);
        Ok(())
    }

    fn fields(&mut self, on: Option<&str>) -> Parsed<Vec<Field>> {
        self.expect('{')?;
        let mut fields = Vec::new();
        while !self.takes('}') {
            if self.tokens.next_if_eq(&Token::Spread).is_some() {
                if self.name()? != "on" {
                    return Err("named fragments are not known here".to_owned());
                }
                let on = self.name()?;
                fields.extend(self.fields(Some(&on))?);
                continue;
            }
            let mut name = self.name()?;
            let alias = name.clone();
            if self.takes(':') {
                name = self.name()?;
            }
            let mut arguments = BTreeMap::new();
            if self.takes('(') {
                while !self.takes(')') {
                    let argument = self.name()?;
                    self.expect(':')?;
                    arguments.insert(argument, self.value()?);
                }
            }
            let nested = match self.tokens.peek() {
                Some(Token::Mark('{')) => self.fields(None)?,
                _ => Vec::new(),
            };
            let on = on.map(str::to_owned);
            fields.push(Field { alias, name, arguments, fields: nested, on });
        }
        if fields.is_empty() {
            return Err("a selection of no fields".to_owned());
        }
        Ok(fields)
    }

    fn value(&mut self) -> Parsed<Value> {
        match self.tokens.next() {
            Some(Token::Mark('$')) => {
                let name = self.name()?;
                if !self.declared.contains(&name) {
                    return Err(format!("Variable ${name} is used but not declared"));
                }
                let value = self.given.get(&name).cloned().unwrap_or(Value::Null);
                self.used.push(name);
                Ok(value)
            }
            Some(Token::Text(text)) => Ok(Value::String(text)),
            Some(Token::Number(number)) => {
                number.parse::<i64>().map(Value::from).map_err(|_| format!("no number: {number}"))
            }
            Some(Token::Name(word)) => Ok(match word.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                // The word of an enumeration.
                _ => Value::String(word),
            }),
            Some(Token::Mark('{')) => {
                let mut object = Map::new();
                while !self.takes('}') {
                    let name = self.name()?;
                    self.expect(':')?;
                    object.insert(name, self.value()?);
                }
                Ok(Value::Object(object))
            }
            other => Err(format!("Expected a value, actual: {other:?}")),
        }
    }

    fn name(&mut self) -> Parsed<String> {
        match self.tokens.next() {
            Some(Token::Name(name)) => Ok(name),
            other => Err(format!("Expected a name, actual: {other:?}")),
        }
    }

    fn expect(&mut self, mark: char) -> Parsed<()> {
        match self.tokens.next() {
            Some(Token::Mark(found)) if found == mark => Ok(()),
            other => Err(format!("Expected {mark}, actual: {other:?}")),
        }
    }

    fn takes(&mut self, mark: char) -> bool {
        self.tokens.next_if_eq(&Token::Mark(mark)).is_some()
    }
}

fn tokens(document: &str) -> Parsed<Vec<Token>> {
    let mut chars = document.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() || c == ',' => {}
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            '"' => tokens.push(Token::Text(text(&mut chars)?)),
            '.' => {
                if chars.next() != Some('.') || chars.next() != Some('.') {
                    return Err("a lone dot".to_owned());
                }
                tokens.push(Token::Spread);
            }
            '{' | '}' | '(' | ')' | '[' | ']' | ':' | '!' | '$' | '=' => {
                tokens.push(Token::Mark(c));
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let mut word = c.to_string();
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                tokens.push(Token::Name(word));
            }
            c if c.is_ascii_digit() || c == '-' => {
                let mut number = c.to_string();
                while let Some(c) = chars.next_if(char::is_ascii_digit) {
                    number.push(c);
                }
                tokens.push(Token::Number(number));
            }
            c => return Err(format!("Expected a token, actual: {c}")),
        }
    }
    Ok(tokens)
}

fn text(chars: &mut Peekable<Chars<'_>>) -> Parsed<String> {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(text),
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some(c @ ('"' | '\\' | '/')) => text.push(c),
                other => return Err(format!("an escape that is not known here: {other:?}")),
            },
            '\n' => break,
            c => text.push(c),
        }
    }
    Err("a text without an end".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(document: &str, variables: Value, expected: Result<usize, &str>) {
        let Value::Object(variables) = variables else { panic!("variables are an object") };
        let parsed = parse(document, &variables);
        let parsed = parsed.as_ref().map(|operation| operation.fields.len());
        assert_eq!(parsed.map_err(String::as_str), expected, "{document}");
    }

    #[test]
    fn documents_are_read_with_their_variables() {
        check("{ viewer { login } }", json!({}), Ok(1));
        check(
            "query Q($n: Int!) { a: node(id: $n) { id } b { ... on C { d } } }",
            json!({"n": 1}),
            Ok(2),
        );
        check("query($n: [ID!]!) { a(x: $n) }", json!({"n": []}), Ok(1));
        check("mutation { a(input: {b: \"c\\\"d\", e: EYES, f: -3}) { g } }", json!({}), Ok(1));
    }

    #[test]
    fn slips_are_refused() {
        check(
            "query($n: Int!) { a(x: $n) }",
            json!({}),
            Err("Variable $n of type Required was provided invalid value"),
        );
        check("query($n: Int) { a }", json!({}), Err("Variable $n is declared but not used"));
        check("{ a(x: $n) }", json!({}), Err("Variable $n is used but not declared"));
        check("{ a }", json!({"n": 1}), Err("Variable $n is given but not declared"));
        check("{ a { } }", json!({}), Err("a selection of no fields"));
        check("{ a } { b }", json!({}), Err("Expected one operation, actual: Mark('{')"));
        check("{ ...F }", json!({}), Err("named fragments are not known here"));
    }
}
