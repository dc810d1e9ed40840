//! Cells become the fields of a payload: their type is the schema's, their number the cell's exact text.

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
    if named("integer") || named("number") {
        Kind::Number
    } else if named("boolean") {
        Kind::Boolean
    } else {
        Kind::Text
    }
}

/// The columns of a header, or everything that is wrong with it in one sentence.
pub(crate) fn columns(
    header: &[String],
    renamed: &[(String, String)],
    spec: &TypeSpec,
) -> Result<Vec<Column>, String> {
    let field = |column: &String| {
        let by = renamed.iter().find(|(_, from)| from == column);
        by.map_or_else(|| column.trim().to_owned(), |(field, _)| field.clone())
    };
    let fields: Vec<_> = header.iter().map(field).collect();
    let mut faults = Vec::new();
    for (field, column) in renamed {
        if !header.contains(column) {
            faults.push(format!("--map {field}={column}: there is no column {column}"));
        }
    }
    for name in required(spec)
        .into_iter()
        .filter(|name| !fields.iter().any(|field| field == name))
    {
        faults.push(format!("column {name} is missing"));
    }
    for (at, name) in fields.iter().enumerate() {
        if fields[..at].contains(name) {
            faults.push(format!("column {name} stands twice"));
        } else if properties(spec).is_some_and(|known| !known.contains_key(name)) {
            faults.push(format!("column {name} is unknown"));
        }
    }
    if !faults.is_empty() {
        return Err(format!(
            "{}; mend the header, or name columns with --map field=column",
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
