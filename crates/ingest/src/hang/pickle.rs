//! A reader for pickles of plain values.
//!
//! PyTorch's flight recorder writes pickle protocol 2 with dictionaries, lists, tuples, strings, numbers, booleans and
//! `None`. A pickle is a program; only those opcodes are known here, and whatever would import a name, build an object or
//! call a function is refused.

use std::rc::Rc;

/// A plain value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// An integer of up to 64 bits.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Text(Rc<str>),
    /// Bytes.
    Bytes(Rc<[u8]>),
    /// A list or a tuple.
    List(Rc<Vec<Value>>),
    /// A dictionary in its own order.
    Dict(Rc<Vec<(Value, Value)>>),
}

/// Why a pickle was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PickleError {
    /// It ends early.
    #[error("it ends early at byte {at}")]
    Short {
        /// Where.
        at: usize,
    },
    /// An opcode that would do more than state a plain value.
    #[error(
        "opcode 0x{opcode:02x} at byte {at} is none of plain values; only dictionaries, lists, strings and numbers are read"
    )]
    Opcode {
        /// The opcode.
        opcode: u8,
        /// Where.
        at: usize,
    },
    /// An opcode without the values that it needs.
    #[error("the opcode at byte {at} lacks its values")]
    Stack {
        /// Where.
        at: usize,
    },
    /// A string that is no UTF-8, or a number that does not fit.
    #[error("the value at byte {at} is malformed")]
    Value {
        /// Where.
        at: usize,
    },
    /// More values than allowed.
    #[error("it holds more than {limit} values")]
    TooMany {
        /// The limit.
        limit: usize,
    },
}

/// Values read at most: a flight record of 2,000 collectives with their frames has some 200,000.
const MOST_VALUES: usize = 2_000_000;

/// Levels of nesting at most, so that dropping a value cannot overflow the stack.
const MOST_LEVELS: usize = 64;

/// Reads one pickle.
///
/// # Errors
/// The first opcode that is refused or malformed, with its place.
pub fn read(bytes: &[u8]) -> Result<Value, PickleError> {
    let mut machine = Machine { bytes, at: 0, stack: Vec::new(), memo: Vec::new(), values: 0 };
    loop {
        let at = machine.at;
        let opcode = machine.take(1)?[0];
        if opcode == b'.' {
            return machine.pop(at).map(|(value, _)| value);
        }
        machine.step(opcode, at)?;
    }
}

enum Item {
    Mark,
    Value(Value),
    /// Being filled; shared once it is taken off the stack.
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
}

struct Slot {
    item: Item,
    /// Levels of nesting below it.
    levels: usize,
    /// Where it is to be remembered once it is filled.
    places: Vec<usize>,
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Slot>,
    /// With the levels of nesting of each.
    memo: Vec<Option<(Value, usize)>>,
    values: usize,
}

impl<'a> Machine<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], PickleError> {
        let part = self.at.checked_add(n).and_then(|end| self.bytes.get(self.at..end));
        let part = part.ok_or(PickleError::Short { at: self.at })?;
        self.at += n;
        Ok(part)
    }

    fn number(&mut self, n: usize) -> Result<usize, PickleError> {
        let at = self.at;
        let value = self.take(n)?.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        usize::try_from(value).map_err(|_| PickleError::Value { at })
    }

    fn step(&mut self, opcode: u8, at: usize) -> Result<(), PickleError> {
        match opcode {
            0x80 => drop(self.take(1)?),
            0x95 => drop(self.take(8)?),
            b'(' => self.place(Item::Mark, 0)?,
            b'N' => self.push(Value::None)?,
            0x88 => self.push(Value::Bool(true))?,
            0x89 => self.push(Value::Bool(false))?,
            b'J' | b'K' | b'M' | 0x8a => self.integer(opcode, at)?,
            b'G' => {
                let bits = self.take(8)?.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
                self.push(Value::Float(f64::from_bits(bits)))?;
            }
            b'X' | 0x8c | 0x8d => self.text(opcode, at)?,
            b'B' | b'C' | 0x8e => {
                let length = self.number(match opcode {
                    b'B' => 4,
                    b'C' => 1,
                    _ => 8,
                })?;
                let bytes = self.take(length)?.into();
                self.push(Value::Bytes(bytes))?;
            }
            b'}' => self.place(Item::Dict(Vec::new()), 1)?,
            b']' => self.place(Item::List(Vec::new()), 1)?,
            b')' => self.push(Value::List(Rc::default()))?,
            b't' | 0x85..=0x87 => self.tuple(opcode, at)?,
            b'a' | b'e' | b's' | b'u' => self.fill(opcode, at)?,
            b'q' | b'r' | 0x94 => self.remember(opcode, at)?,
            b'h' | b'j' => {
                let place = self.number(if opcode == b'h' { 1 } else { 4 })?;
                let (value, levels) = self.memo.get(place).cloned().flatten().ok_or(PickleError::Stack { at })?;
                self.place(Item::Value(value), levels)?;
            }
            _ => return Err(PickleError::Opcode { opcode, at }),
        }
        Ok(())
    }

    fn push(&mut self, value: Value) -> Result<(), PickleError> {
        self.place(Item::Value(value), 0)
    }

    fn place(&mut self, item: Item, levels: usize) -> Result<(), PickleError> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(PickleError::TooMany { limit: MOST_VALUES });
        }
        self.stack.push(Slot { item, levels, places: Vec::new() });
        Ok(())
    }

    fn integer(&mut self, opcode: u8, at: usize) -> Result<(), PickleError> {
        let value = match opcode {
            b'K' => i64::from(self.take(1)?[0]),
            b'M' => self.number(2)? as i64,
            b'J' => i64::from(self.number(4)? as u32 as i32),
            _ => {
                let length = usize::from(self.take(1)?[0]);
                let digits = self.take(length)?;
                if length > 8 {
                    return Err(PickleError::Value { at });
                }
                let negative = digits.last().is_some_and(|byte| byte & 0x80 != 0);
                let start = if negative { -1i64 } else { 0 };
                digits.iter().rev().fold(start, |value, byte| value << 8 | i64::from(*byte))
            }
        };
        self.push(Value::Int(value))
    }

    fn text(&mut self, opcode: u8, at: usize) -> Result<(), PickleError> {
        let length = self.number(match opcode {
            b'X' => 4,
            0x8c => 1,
            _ => 8,
        })?;
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| PickleError::Value { at })?;
        self.push(Value::Text(text.into()))
    }

    /// Takes the top of the stack as a finished value.
    fn pop(&mut self, at: usize) -> Result<(Value, usize), PickleError> {
        let slot = self.stack.pop().ok_or(PickleError::Stack { at })?;
        let value = match slot.item {
            Item::Value(value) => value,
            Item::List(items) => Value::List(Rc::new(items)),
            Item::Dict(items) => Value::Dict(Rc::new(items)),
            Item::Mark => return Err(PickleError::Stack { at }),
        };
        for place in slot.places {
            self.memo[place] = Some((value.clone(), slot.levels));
        }
        Ok((value, slot.levels))
    }

    /// Takes the values above the last mark.
    fn above_mark(&mut self, at: usize) -> Result<(Vec<Value>, usize), PickleError> {
        let mark = self.stack.iter().rposition(|slot| matches!(slot.item, Item::Mark));
        let count = self.stack.len() - mark.ok_or(PickleError::Stack { at })? - 1;
        let taken = self.pop_many(count, at)?;
        self.stack.pop();
        Ok(taken)
    }

    fn pop_many(&mut self, count: usize, at: usize) -> Result<(Vec<Value>, usize), PickleError> {
        let (mut values, mut deepest) = (Vec::with_capacity(count.min(self.stack.len())), 0);
        for _ in 0..count {
            let (value, levels) = self.pop(at)?;
            deepest = deepest.max(levels);
            values.push(value);
        }
        values.reverse();
        Ok((values, deepest))
    }

    fn tuple(&mut self, opcode: u8, at: usize) -> Result<(), PickleError> {
        let (values, deepest) = match opcode {
            b't' => self.above_mark(at)?,
            _ => self.pop_many(usize::from(opcode - 0x84), at)?,
        };
        if deepest >= MOST_LEVELS {
            return Err(PickleError::Value { at });
        }
        self.place(Item::Value(Value::List(Rc::new(values))), deepest + 1)
    }

    /// Appends to the list, or adds to the dictionary, below.
    fn fill(&mut self, opcode: u8, at: usize) -> Result<(), PickleError> {
        let (values, deepest) = match opcode {
            b'a' => self.pop_many(1, at)?,
            b's' => self.pop_many(2, at)?,
            _ => self.above_mark(at)?,
        };
        let slot = self.stack.last_mut().ok_or(PickleError::Stack { at })?;
        slot.levels = slot.levels.max(deepest + 1);
        if slot.levels > MOST_LEVELS {
            return Err(PickleError::Value { at });
        }
        match &mut slot.item {
            Item::List(items) if matches!(opcode, b'a' | b'e') => items.extend(values),
            Item::Dict(items) if matches!(opcode, b's' | b'u') && values.len() % 2 == 0 => {
                let mut values = values.into_iter();
                while let (Some(key), Some(value)) = (values.next(), values.next()) {
                    items.push((key, value));
                }
            }
            _ => return Err(PickleError::Stack { at }),
        }
        Ok(())
    }

    /// Remembers the top of the stack. A list or dictionary is remembered while it is still empty; a reference to one is
    /// good once it is filled, so that no value can contain itself.
    fn remember(&mut self, opcode: u8, at: usize) -> Result<(), PickleError> {
        let place = match opcode {
            b'q' => self.number(1)?,
            b'r' => self.number(4)?,
            _ => self.memo.len(),
        };
        // Each is remembered by an opcode of its own, so there are never more than bytes read.
        if place > self.at {
            return Err(PickleError::Value { at });
        }
        if place > MOST_VALUES {
            return Err(PickleError::TooMany { limit: MOST_VALUES });
        }
        if self.memo.len() <= place {
            self.memo.resize(place + 1, None);
        }
        let top = self.stack.last_mut().ok_or(PickleError::Stack { at })?;
        match &top.item {
            Item::Value(value) => self.memo[place] = Some((value.clone(), top.levels)),
            Item::List(_) | Item::Dict(_) => top.places.push(place),
            Item::Mark => return Err(PickleError::Stack { at }),
        }
        Ok(())
    }
}
