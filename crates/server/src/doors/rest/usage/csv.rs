//! CSV rows (RFC 4180) that spreadsheets do not execute as formulas.

/// One row, with its line end.
pub(super) fn csv_row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let mut row = String::new();
    for (place, text) in cells.into_iter().enumerate() {
        if place > 0 {
            row.push(',');
        }
        push_cell(&mut row, text);
    }
    row.push_str("\r\n");
    row
}

fn push_cell(row: &mut String, text: &str) {
    // Names of tools and users are untrusted, and a spreadsheet would run text that starts like this as a formula.
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if text.contains([',', '"', '\n', '\r']) {
        row.push('"');
        row.push_str(guard);
        row.push_str(&text.replace('"', "\"\""));
        row.push('"');
    } else {
        row.push_str(guard);
        row.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_if_needed_and_never_a_formula() {
        for (text, written) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@x", "'@x"),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
            ("=HYPERLINK(\"http://x\",1)", "\"'=HYPERLINK(\"\"http://x\"\",1)\""),
            ("a=b", "a=b"),
        ] {
            assert_eq!(csv_row([text]), format!("{written}\r\n"), "{text:?}");
        }
        assert_eq!(csv_row(["a", "", "c"]), "a,,c\r\n");
    }
}
