//! A reader of JSON (RFC 8259) that is as strict as the text: the firmware's lines must be readable by any other.

/// A value. Numbers keep their text, so that large ones lose nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string.
    String(String),
    /// `[...]`.
    Array(Vec<Json>),
    /// `{...}`, in the order of the text.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads one value that is all of `text`.
    #[track_caller]
    pub fn parse(text: &str) -> Self {
        let mut reader = Reader {
            text: text.as_bytes(),
            at: 0,
        };
        let value = reader.value().filter(|_| {
            reader.blanks();
            reader.at == text.len()
        });
        value.unwrap_or_else(|| panic!("no JSON from byte {} on: {text}", reader.at))
    }

    /// The field of an object.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.iter().find(|(field, _)| field == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The field of an object that must have it.
    #[track_caller]
    pub fn field(&self, name: &str) -> &Json {
        self.get(name).unwrap_or_else(|| panic!("no field {name} in {self:?}"))
    }

    /// The names of an object's fields.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Json::Object(fields) => fields.iter().map(|(name, _)| name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// The elements of an array.
    #[track_caller]
    pub fn elements(&self) -> &[Json] {
        match self {
            Json::Array(elements) => elements,
            _ => panic!("no array: {self:?}"),
        }
    }

    /// The text of a string.
    #[track_caller]
    pub fn text(&self) -> &str {
        match self {
            Json::String(text) => text,
            _ => panic!("no string: {self:?}"),
        }
    }

    /// The value of a number.
    #[track_caller]
    pub fn number(&self) -> f64 {
        match self {
            Json::Number(text) => text.parse().expect("every JSON number is a Rust number"),
            _ => panic!("no number: {self:?}"),
        }
    }

    /// The value of a whole number that is not negative.
    #[track_caller]
    pub fn count(&self) -> u64 {
        match self {
            Json::Number(text) => text.parse().unwrap_or_else(|_| panic!("{text} is no count")),
            _ => panic!("no number: {self:?}"),
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Takes `wanted` if it comes next.
    fn take(&mut self, wanted: &str) -> Option<()> {
        let is_next = self.text[self.at..].starts_with(wanted.as_bytes());
        is_next.then(|| self.at += wanted.len())
    }

    fn value(&mut self) -> Option<Json> {
        self.blanks();
        match self.text.get(self.at)? {
            b'n' => self.take("null").map(|()| Json::Null),
            b't' => self.take("true").map(|()| Json::Bool(true)),
            b'f' => self.take("false").map(|()| Json::Bool(false)),
            b'"' => self.string().map(Json::String),
            b'[' => self.items("[", "]", Self::value).map(Json::Array),
            b'{' => {
                let fields = self.items("{", "}", |reader| {
                    reader.blanks();
                    let name = reader.string()?;
                    reader.blanks();
                    reader.take(":")?;
                    Some((name, reader.value()?))
                })?;
                let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                names
                    .windows(2)
                    .all(|two| two[0] != two[1])
                    .then_some(Json::Object(fields))
            }
            _ => self.number(),
        }
    }

    fn items<T>(&mut self, open: &str, close: &str, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.take(open)?;
        self.blanks();
        let mut items = Vec::new();
        if self.take(close).is_some() {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            self.blanks();
            if self.take(close).is_some() {
                return Some(items);
            }
            self.take(",")?;
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut bytes = Vec::new();
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(bytes).ok(),
                0..0x20 => return None,
                b'\\' => {
                    let escape = *self.text.get(self.at)?;
                    self.at += 1;
                    let character = match escape {
                        b'"' | b'\\' | b'/' => escape.into(),
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => {
                            let digits = std::str::from_utf8(self.text.get(self.at..self.at + 4)?).ok()?;
                            self.at += 4;
                            char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
                        }
                        _ => return None,
                    };
                    bytes.extend(character.to_string().into_bytes());
                }
                _ => bytes.push(byte),
            }
        }
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        let _ = self.take("-");
        let first = self.at;
        self.digits()?;
        // No leading zeros.
        if self.text[first] == b'0' && self.at > first + 1 {
            self.at = first;
            return None;
        }
        if self.take(".").is_some() {
            self.digits()?;
        }
        if self.take("e").or_else(|| self.take("E")).is_some() {
            let _ = self.take("+").or_else(|| self.take("-"));
            self.digits()?;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        Some(Json::Number(text.to_owned()))
    }
}
