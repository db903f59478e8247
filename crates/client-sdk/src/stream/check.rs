//! Checks what must hold for any bytes, split anywhere. Used by fuzzing and property tests.

use super::{ReceivedChunk, StreamError, StreamReader};

type ReadOutcome = (Vec<ReceivedChunk>, Option<StreamError>);

/// Reads the bytes at once and split at these places, and reports whether the results differ. It never panics.
pub fn check_split_read(bytes: &[u8], cuts: &[usize]) -> Result<(), String> {
    let whole = read_pieces([bytes]);
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for place in places {
        pieces.push(&bytes[from..place]);
        from = place;
    }
    pieces.push(&bytes[from..]);
    let cut = read_pieces(pieces);
    if whole != cut {
        return Err(format!("the results differ: split {cut:?}, whole {whole:?}"));
    }
    let ends = whole
        .0
        .iter()
        .filter(|received| matches!(received.chunk.kind(), "finish" | "abort" | "error"))
        .count();
    if ends > 1 {
        return Err(format!("it ends {ends} times"));
    }
    Ok(())
}

fn read_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> ReadOutcome {
    let mut reader = StreamReader::new();
    let mut received = Vec::new();
    let mut drain = |reader: &mut StreamReader| {
        while let Some(next) = reader.next_chunk() {
            match next {
                Ok(chunk) => received.push(chunk),
                Err(error) => return Some(error),
            }
        }
        None
    };
    for piece in pieces {
        reader.push(piece);
        if let Some(error) = drain(&mut reader) {
            return (received, Some(error));
        }
    }
    reader.finish();
    let error = drain(&mut reader);
    (received, error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces of valid and invalid streams.
    const PIECES: &[&str] = &[
        "data: ",
        "data:",
        "data",
        ": keep-alive",
        "event: x",
        "[DONE]",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\u{feff}",
        " ",
        "\0",
        "{",
        "}",
        "{}",
        "[]",
        "\"",
        ":",
        ",",
        "{\"type\":\"",
        "\"}",
        "\"type\":",
        "\"id\":\"t\"",
        "\"delta\":\"hi\"",
        "null",
        "{\"type\":\"start\",\"messageId\":\"m\"}",
        "{\"type\":\"start-step\"}",
        "{\"type\":\"finish-step\"}",
        "{\"type\":\"text-start\",\"id\":\"t\"}",
        "{\"type\":\"text-delta\",\"id\":\"t\",\"delta\":\"h\u{e9}\"}",
        "{\"type\":\"text-end\",\"id\":\"t\"}",
        "{\"type\":\"reasoning-start\",\"id\":\"t\"}",
        "{\"type\":\"tool-input-start\",\"toolCallId\":\"c\",\"toolName\":\"t\"}",
        "{\"type\":\"tool-input-delta\",\"toolCallId\":\"c\",\"inputTextDelta\":\"{\"}",
        "{\"type\":\"tool-input-available\",\"toolCallId\":\"c\",\"toolName\":\"t\",\"input\":{}}",
        "{\"type\":\"tool-call\",\"id\":\"c\",\"name\":\"t\",\"arguments\":\"{}\"}",
        "{\"type\":\"tool-approval-request\",\"approvalId\":\"a\",\"toolCallId\":\"c\"}",
        "{\"type\":\"tool-output-available\",\"toolCallId\":\"c\",\"output\":1}",
        "{\"type\":\"data-progress\",\"data\":{\"toolCallId\":\"c\",\"progress\":0.5}}",
        "{\"type\":\"later\"}",
        "{\"type\":\"finish\",\"finishReason\":\"tool_calls\"}",
        "{\"type\":\"error\",\"errorText\":\"no\"}",
    ];

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let line = prop::sample::select(PIECES).prop_map(|piece| format!("data: {piece}\n").into_bytes());
        let piece = prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec());
        let any = prop::collection::vec(any::<u8>(), 0..6);
        prop::collection::vec(prop_oneof![6 => line, 3 => piece, 1 => any], 0..30)
            .prop_map(|pieces| pieces.concat())
    }

    fn config() -> ProptestConfig {
        ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn streams_read_the_same_wherever_they_are_cut(
            bytes in stream(), cuts in prop::collection::vec(any::<usize>(), 0..20)
        ) {
            check_split_read(&bytes, &cuts).map_err(TestCaseError::fail)?;
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..400), cuts in prop::collection::vec(any::<usize>(), 0..8)
        ) {
            check_split_read(&bytes, &cuts).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn a_good_stream_is_read_byte_by_byte() {
        let text = "data: {\"type\":\"text-start\",\"id\":\"t\"}\n\ndata: {\"type\":\"text-delta\",\"id\":\"t\",\"delta\":\"é\"}\r\n\r\n";
        let all: Vec<usize> = (0..=text.len()).collect();
        assert_eq!(check_split_read(text.as_bytes(), &all), Ok(()));
        assert_eq!(read_pieces([text.as_bytes()]).0.len(), 2);
    }
}
