//! `MessagePack` as the scripts' `cmsgpack` reads and writes it: integers, byte strings, arrays.

use rmp::{Marker, decode, encode};
use store::Error;

/// A decoded value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Value>),
}

impl Value {
    pub(crate) fn int(&self) -> Result<i64, Error> {
        match self {
            Self::Int(number) => Ok(*number),
            other => Err(nonsense("a number", other)),
        }
    }

    pub(crate) fn bytes(&self) -> Result<&[u8], Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            other => Err(nonsense("a string", other)),
        }
    }

    pub(crate) fn text(&self) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub(crate) fn list(&self) -> Result<&[Self], Error> {
        match self {
            Self::List(items) => Ok(items),
            other => Err(nonsense("a list", other)),
        }
    }

    /// The item at `index` of a list.
    pub(crate) fn at(&self, index: usize) -> Result<&Self, Error> {
        self.list()?
            .get(index)
            .ok_or_else(|| Error::Corrupt(format!("item {index} is missing")))
    }
}

fn nonsense(expected: &str, got: &Value) -> Error {
    Error::Corrupt(format!("{expected} was due, not {got:.60?}"))
}

/// Decodes one value.
pub(crate) fn unpack(mut bytes: &[u8]) -> Result<Value, Error> {
    read(&mut bytes)
}

fn broken(error: impl std::fmt::Debug) -> Error {
    Error::Corrupt(format!("broken packing: {error:?}"))
}

fn read(input: &mut &[u8]) -> Result<Value, Error> {
    let marker = decode::read_marker(&mut &**input).map_err(broken)?;
    match marker {
        Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
            let count = decode::read_array_len(input).map_err(broken)?;
            (0..count)
                .map(|_| read(input))
                .collect::<Result<_, _>>()
                .map(Value::List)
        }
        Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
            let count = decode::read_str_len(input).map_err(broken)? as usize;
            let (text, rest) = input
                .split_at_checked(count)
                .ok_or_else(|| broken("a string is cut"))?;
            *input = rest;
            Ok(Value::Bytes(text.to_vec()))
        }
        Marker::F64 => {
            let number = decode::read_f64(input).map_err(broken)?;
            #[allow(clippy::cast_possible_truncation)]
            Ok(Value::Int(number as i64))
        }
        _ => decode::read_int(input).map(Value::Int).map_err(broken),
    }
}

/// Writes an array, item by item.
#[derive(Default)]
pub(crate) struct Packer {
    items: Vec<u8>,
    count: u32,
}

impl Packer {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn int(mut self, number: i64) -> Self {
        // Writing to a Vec can't fail.
        let _ = encode::write_sint(&mut self.items, number);
        self.count += 1;
        self
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        let _ = encode::write_str_len(&mut self.items, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.items.extend_from_slice(bytes);
        self.count += 1;
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// A text behind what is packed already: the scripts read two values.
    pub(crate) fn text_behind(mut packed: Vec<u8>, text: &str) -> Vec<u8> {
        let _ = encode::write_str(&mut packed, text);
        packed
    }

    /// An item that is packed already.
    pub(crate) fn packed(mut self, item: &[u8]) -> Self {
        self.items.extend_from_slice(item);
        self.count += 1;
        self
    }

    /// An array of items that are packed already.
    pub(crate) fn list(self, items: impl Iterator<Item = Vec<u8>>) -> Self {
        let list = items.fold(Self::new(), |list, item| list.packed(&item));
        self.packed(&list.end())
    }

    pub(crate) fn end(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.items.len() + 5);
        let _ = encode::write_array_len(&mut out, self.count);
        out.extend_from_slice(&self.items);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_unpacks_the_same() {
        let packed = Packer::new()
            .int(0)
            .int(-5)
            .int(1_764_460_800_123)
            .bytes(&[0, 0xff, 7])
            .bytes(&[9; 70_000])
            .end();
        let expected = vec![
            Value::Int(0),
            Value::Int(-5),
            Value::Int(1_764_460_800_123),
            Value::Bytes(vec![0, 0xff, 7]),
            Value::Bytes(vec![9; 70_000]),
        ];
        assert_eq!(unpack(&packed).unwrap(), Value::List(expected));
    }

    #[test]
    fn lists_stand_in_lists() {
        let inner = || Packer::new().int(1).text("a").end();
        let packed = Packer::new().int(7).list([inner(), inner()].into_iter()).end();
        let item = Value::List(vec![Value::Int(1), Value::Bytes(b"a".to_vec())]);
        let expected = Value::List(vec![Value::Int(7), Value::List(vec![item.clone(), item])]);
        assert_eq!(unpack(&packed).unwrap(), expected);
    }

    #[test]
    fn a_cut_string_is_an_error() {
        let packed = Packer::new().bytes(b"abcdef").end();
        assert!(unpack(&packed[..4]).is_err());
    }
}
