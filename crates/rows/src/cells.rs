//! Cells become the fields of a payload: their type is the schema's, their number the cell's exact text.

use std::collections::BTreeMap;

use domain::TypeSpec;
use serde_json::Value;
use serde_json::value::RawValue;

/// What a column's cells are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Boolean,
}

/// A column and the field that it gives.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) field: String,
    kind: Kind,
    required: bool,
}

/// A cell that is not of its type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadCell {
    pub(crate) column: String,
    pub(crate) reason: String,
}

fn properties(spec: &TypeSpec) -> Option<&serde_json::Map<String, Value>> {
    spec.input_schema.as_ref()?.get("properties")?.as_object()
}

fn required(spec: &TypeSpec) -> Vec<&str> {
    let list = spec
        .input_schema
        .as_ref()
        .and_then(|schema| schema.get("required"))
        .and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn kind(schema: Option<&Value>) -> Kind {
    let named = |name: &str| match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    };
    // Where a text is allowed too, the cell is one: nobody can tell a room "007" from a number.
    if named("string") {
        Kind::Text
    } else if named("integer") || named("number") {
        Kind::Number
    } else if named("boolean") {
        Kind::Boolean
    } else {
        Kind::Text
    }
}

/// Whether a column that the schema does not name can be meant: only where the schema says so itself.
fn takes_others(spec: &TypeSpec) -> bool {
    let Some(schema) = &spec.input_schema else {
        return true;
    };
    let declared = |name: &str| schema.get(name).is_some_and(|value| *value != Value::Bool(false));
    properties(spec).is_none() || declared("additionalProperties") || declared("patternProperties")
}

/// The columns of a header, or everything that is wrong with it in one sentence.
pub(crate) fn columns(
    header: &[String],
    renamed: &BTreeMap<String, String>,
    spec: &TypeSpec,
) -> Result<Vec<Column>, String> {
    let field = |column: &String| {
        let by = renamed.iter().find(|(_, from)| *from == column.trim());
        by.map_or_else(|| column.trim().to_owned(), |(field, _)| field.clone())
    };
    let fields: Vec<_> = header.iter().map(field).collect();
    let mut faults = Vec::new();
    for (field, column) in renamed {
        if !header.iter().any(|name| name.trim() == column) {
            faults.push(format!("map {field}={column}: there is no column {column}"));
        }
    }
    for name in required(spec)
        .into_iter()
        .filter(|name| !fields.iter().any(|field| field == name))
    {
        faults.push(format!("column {name} is missing"));
    }
    let others = takes_others(spec);
    for (at, name) in fields.iter().enumerate() {
        if fields[..at].contains(name) {
            faults.push(format!("column {name} stands twice"));
        } else if name.is_empty() {
            faults.push(format!("column {} has no name", at + 1));
        } else if !others && properties(spec).is_some_and(|known| !known.contains_key(name)) {
            faults.push(format!("column {name} is unknown"));
        }
    }
    if !faults.is_empty() {
        return Err(format!(
            "{}; mend the header, or say with map which column gives a field",
            faults.join(", ")
        ));
    }
    let required = required(spec);
    let column = |field: String| Column {
        kind: kind(properties(spec).and_then(|known| known.get(&field))),
        required: required.contains(&field.as_str()),
        field,
    };
    Ok(fields.into_iter().map(column).collect())
}

/// The payload of a record that has as many cells as there are columns.
pub(crate) fn payload<'c>(
    columns: &[Column],
    cells: impl Iterator<Item = &'c str>,
) -> Result<String, BadCell> {
    let mut text = String::from("{");
    for (column, cell) in columns.iter().zip(cells) {
        if cell.is_empty() && !column.required {
            continue;
        }
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&Value::from(column.field.as_str()).to_string());
        text.push(':');
        text.push_str(&value(column, cell)?);
    }
    text.push('}');
    Ok(text)
}

fn value(column: &Column, cell: &str) -> Result<String, BadCell> {
    let bad = |what: &str| BadCell {
        column: column.field.clone(),
        reason: format!("{cell:?} is no {what}"),
    };
    let trimmed = cell.trim();
    match column.kind {
        Kind::Text => Ok(Value::from(cell).to_string()),
        Kind::Boolean if matches!(trimmed, "true" | "false") => Ok(trimmed.to_owned()),
        Kind::Boolean => Err(bad("boolean; write true or false")),
        Kind::Number => {
            let starts = trimmed.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            let number = starts && serde_json::from_str::<&RawValue>(trimmed).is_ok();
            if number {
                Ok(trimmed.to_owned())
            } else {
                Err(bad("number"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(schema: &str) -> TypeSpec {
        let mut spec: TypeSpec = serde_json::from_str(r#"{"name":"a","handler":"echo"}"#).unwrap();
        spec.input_schema = serde_json::from_str(schema).unwrap();
        spec
    }

    fn names(header: &str, renamed: &[(&str, &str)], schema: &str) -> Result<Vec<String>, String> {
        let header: Vec<_> = header.split(',').map(str::to_owned).collect();
        let renamed = renamed
            .iter()
            .map(|(f, c)| ((*f).to_owned(), (*c).to_owned()))
            .collect();
        let columns = columns(&header, &renamed, &spec(schema))?;
        Ok(columns.into_iter().map(|column| column.field).collect())
    }

    const CLOSED: &str = r#"{"required":["id"],"properties":{"id":{"type":"integer"},"t":{}}}"#;

    #[test]
    fn a_header_names_every_fault_at_once() {
        let told = names("x,t,t,", &[("id", "nope")], CLOSED).unwrap_err();
        for fault in [
            "id=nope",
            "id is missing",
            "x is unknown",
            "t stands twice",
            "column 4 has no name",
        ] {
            assert!(told.contains(fault), "{fault} in {told}");
        }
    }

    #[test]
    fn a_map_renames_and_a_schema_may_take_others() {
        assert_eq!(names("room, t ", &[("id", "room")], CLOSED).unwrap(), ["id", "t"]);
        let open = r#"{"properties":{"id":{}},"additionalProperties":{"type":"string"}}"#;
        assert_eq!(names("id,x", &[], open).unwrap(), ["id", "x"]);
        assert_eq!(names("id,x", &[], "null").unwrap(), ["id", "x"]);
        assert_eq!(names("id,x", &[], r#"{"required":["id"]}"#).unwrap(), ["id", "x"]);
        let told = names("id,t,t2", &[("t", "t2")], CLOSED).unwrap_err();
        assert!(told.contains("t stands twice"), "{told}");
    }

    #[test]
    fn cells_take_their_type_from_the_schema() {
        let schema = r#"{"required":["s"],"properties":{"n":{"type":"number"},"b":{"type":["boolean","null"]},
            "s":{"type":"string"},"m":{"type":["integer","string"]}}}"#;
        let header: Vec<_> = ["n", "b", "s", "m"].map(str::to_owned).into();
        let columns = columns(&header, &BTreeMap::new(), &spec(schema)).unwrap();
        let row = |cells: [&'static str; 4]| payload(&columns, cells.into_iter());
        let text = row(["1.50e3", "true", "say \"夜\"", "007"]).unwrap();
        assert_eq!(text, r#"{"n":1.50e3,"b":true,"s":"say \"夜\"","m":"007"}"#);
        assert_eq!(row(["", "", "", ""]).unwrap(), r#"{"s":""}"#);
        for (cells, column) in [
            (["007", "", "", ""], "n"),
            (["1", "yes", "", ""], "b"),
            (["NaN", "", "", ""], "n"),
        ] {
            assert_eq!(row(cells).unwrap_err().column, column);
        }
    }
}
