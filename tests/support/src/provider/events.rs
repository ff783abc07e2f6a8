//! A message as bytes: one JSON document, or the events of a stream.

use serde_json::{Value, json};

use super::account::Usage;
use super::answer::Block;

/// Longest piece of text in one delta, in characters.
const PIECE: usize = 400;

/// A message about to be sent.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) id: &'a str,
    pub(super) model: &'a str,
    pub(super) blocks: &'a [Block],
    pub(super) usage: Usage,
}

impl Message<'_> {
    /// The whole message.
    pub(super) fn document(&self) -> Value {
        let content: Vec<Value> =
            (0..).zip(self.blocks).map(|(place, block)| self.block(place, block)).collect();
        self.envelope(&content, &self.stop_reason().into(), self.usage.output)
    }

    /// The message as the events of a stream, each with its name.
    pub(super) fn events(&self) -> Vec<(&'static str, Value)> {
        let start = self.envelope(&[], &Value::Null, 1);
        let mut events = vec![("message_start", json!({"type": "message_start", "message": start}))];
        for (place, block) in (0..).zip(self.blocks) {
            let mut empty = self.block(place, block);
            let deltas: Vec<Value> = match block {
                Block::Text(text) => {
                    empty["text"] = "".into();
                    pieces(text).map(|text| json!({"type": "text_delta", "text": text})).collect()
                }
                Block::Thinking(text) => {
                    empty["thinking"] = "".into();
                    empty["signature"] = "".into();
                    let thinking =
                        pieces(text).map(|text| json!({"type": "thinking_delta", "thinking": text}));
                    thinking.chain([json!({"type": "signature_delta", "signature": SIGNATURE})]).collect()
                }
                Block::Tool { input, .. } => {
                    empty["input"] = json!({});
                    let input = input.to_string();
                    pieces(&input)
                        .map(|text| json!({"type": "input_json_delta", "partial_json": text}))
                        .collect()
                }
            };
            events.push((
                "content_block_start",
                json!({"type": "content_block_start", "index": place, "content_block": empty}),
            ));
            events.extend(deltas.into_iter().map(|delta| {
                (
                    "content_block_delta",
                    json!({"type": "content_block_delta", "index": place, "delta": delta}),
                )
            }));
            events.push(("content_block_stop", json!({"type": "content_block_stop", "index": place})));
        }
        events.push((
            "message_delta",
            json!({
                "type": "message_delta",
                "delta": {"stop_reason": self.stop_reason(), "stop_sequence": null},
                "usage": self.usage(self.usage.output),
            }),
        ));
        events.push(("message_stop", json!({"type": "message_stop"})));
        events
    }

    fn envelope(&self, content: &[Value], stop_reason: &Value, output: u64) -> Value {
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": content,
            "stop_reason": stop_reason, "stop_sequence": null, "usage": self.usage(output),
        })
    }

    fn usage(&self, output: u64) -> Value {
        json!({
            "input_tokens": self.usage.input,
            "cache_creation_input_tokens": self.usage.cache_creation,
            "cache_read_input_tokens": self.usage.cache_read,
            "output_tokens": output,
        })
    }

    fn block(&self, place: u64, block: &Block) -> Value {
        match block {
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::Thinking(text) => json!({"type": "thinking", "thinking": text, "signature": SIGNATURE}),
            Block::Tool { name, input } => {
                let id = format!("toolu_{}_{place}", self.id.trim_start_matches("msg_"));
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
        }
    }

    fn stop_reason(&self) -> &'static str {
        let asks = self.blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
        if asks { "tool_use" } else { "end_turn" }
    }
}

const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// The text in pieces, never none.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = text.chars().collect();
    let mut pieces: Vec<String> = letters.chunks(PIECE).map(|piece| piece.iter().collect()).collect();
    if pieces.is_empty() {
        pieces.push(String::new());
    }
    pieces.into_iter()
}

/// One event as it goes over the wire.
pub(super) fn line(name: &str, data: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deltas_add_up_to_the_document() {
        let blocks = [
            Block::Thinking("hm".into()),
            Block::Text("ä".repeat(1000)),
            Block::Tool { name: "Bash".into(), input: json!({"command": "x".repeat(900)}) },
        ];
        let usage = Usage { input: 1, cache_creation: 2, cache_read: 3, output: 4 };
        let message = Message { id: "msg_1", model: "m", blocks: &blocks, usage };
        let (mut text, mut input) = (String::new(), String::new());
        for (_, event) in message.events() {
            text += event["delta"]["text"].as_str().unwrap_or_default();
            input += event["delta"]["partial_json"].as_str().unwrap_or_default();
        }
        let document = message.document();
        assert_eq!(document["content"][1]["text"], text);
        assert_eq!(document["content"][2]["input"], serde_json::from_str::<Value>(&input).expect("JSON"));
        assert_eq!(document["stop_reason"], "tool_use");
        let last = &message.events()[message.events().len() - 2].1;
        assert_eq!(last["usage"], document["usage"]);
        assert_eq!(message.events()[0].1["message"]["usage"]["output_tokens"], 1);
    }
}
