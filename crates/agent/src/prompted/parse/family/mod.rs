//! The formats in which models write calls, one small file for each family. What matches none of them is text.

mod deepseek;
mod function_tag;
mod gemma;
mod glm;
mod harmony;
mod hermes;
mod invoke;
mod kimi;
mod llama;
mod mistral;
mod pythonic;
mod tags;

use super::{
    body::{BodyEnd, EndGuard},
    envelope::{self, CallParseResult},
    markers,
    scan::BracketScan,
    tools::CallableTools,
};

pub(super) use pythonic::parse_pythonic;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallFamily {
    /// `<tool>{"name":N,"arguments":J}</tool>`: ours.
    Plain,
    /// `<tool_call>…</tool_call>`: Hermes and Qwen, and with other content Qwen3-Coder and GLM.
    Hermes,
    /// `<function=N>…</function>`: Functionary 3.1 with JSON inside, Qwen3-Coder with tags inside.
    Function,
    /// `N` and a line of JSON: Functionary 3.2.
    Functionary,
    /// `<|python_tag|>{"name":N,"parameters":J}`: Llama 3.
    PythonTag,
    /// `<|tool_call_start|>[f(a="x")]<|tool_call_end|>`: LFM2.
    Pythonic,
    /// `[TOOL_CALLS][{…}]` and `[TOOL_CALLS]N[ARGS]J`.
    Mistral,
    /// `functools[{…}]`: Firefunction, Phi-4-mini.
    Functools,
    /// `<start_function_call>call:N{k:<escape>v<escape>}<end_function_call>`.
    FunctionGemma,
    /// `<|tool_call>call:N{k:<|"|>v<|"|>}<tool_call|>`: Gemma 4.
    Gemma,
    /// `<｜tool▁call▁begin｜>…<｜tool▁call▁end｜>`: V3 and V3.1.
    DeepSeek,
    /// `<｜DSML｜invoke name="N">…`: DeepSeek V3.2 and later.
    Dsml,
    /// `<|tool_call_begin|>functions.N:0<|tool_call_argument_begin|>J<|tool_call_end|>`.
    Kimi,
    /// `<invoke name="N">…</invoke>` in `<minimax:tool_call>`.
    MiniMax,
    /// `<|channel|>commentary to=functions.N<|message|>J<|call|>`: GPT-OSS.
    Harmony,
}

impl CallFamily {
    /// The markers that end a body.
    pub(super) const fn end_markers(self) -> &'static [&'static str] {
        match self {
            // Models confuse these two.
            Self::Plain | Self::Hermes => &["</tool>", "</tool_call>", "</tools>", "</tool_calls>"],
            Self::Function => &["</function>"],
            Self::PythonTag => &["<|eom_id|>", "<|eot_id|>"],
            Self::Pythonic | Self::Kimi => &["<|tool_call_end|>"],
            Self::FunctionGemma => &["<end_function_call>"],
            Self::Gemma => &["<tool_call|>"],
            Self::DeepSeek => &["<｜tool▁call▁end｜>"],
            Self::Dsml => &["</｜DSML｜invoke>"],
            Self::MiniMax => &["</invoke>"],
            Self::Harmony => markers::HARMONY_ENDS,
            Self::Mistral | Self::Functools | Self::Functionary => &[],
        }
    }

    /// Whether a body ends with its JSON.
    pub(super) const fn ends_with_json(self) -> bool {
        match self {
            Self::PythonTag | Self::Mistral | Self::Functools | Self::Functionary | Self::Harmony => true,
            Self::Plain | Self::Hermes | Self::Function | Self::Pythonic | Self::FunctionGemma => false,
            Self::Gemma | Self::DeepSeek | Self::Dsml | Self::Kimi | Self::MiniMax => false,
        }
    }

    /// The parts of this body in which an end marker does not count. None if it is too early to tell.
    pub(super) fn end_guard(self, body: &str) -> Option<EndGuard> {
        let parameters = || EndGuard::between_tags("<parameter", "</parameter>");
        match self {
            Self::Plain | Self::PythonTag | Self::Mistral | Self::Functools | Self::Functionary => {
                Some(EndGuard::for_json())
            }
            Self::DeepSeek | Self::Kimi | Self::Harmony => Some(EndGuard::for_json()),
            Self::Pythonic => Some(EndGuard::with_scan(BracketScan::for_python())),
            Self::FunctionGemma => Some(EndGuard::between_marks(gemma::ESCAPE)),
            Self::Gemma => Some(EndGuard::between_marks(gemma::QUOTE)),
            Self::MiniMax => Some(parameters()),
            Self::Dsml => Some(EndGuard::between_tags("<｜DSML｜parameter", "</｜DSML｜parameter>")),
            Self::Hermes => body.trim_start().chars().next().map(|first| match first {
                '{' | '[' | '`' => EndGuard::for_json(),
                '<' => parameters(),
                _ => EndGuard::between_tags("<arg_value>", "</arg_value>"),
            }),
            Self::Function => {
                let (_, inside) = body.split_once('>')?;
                let first = inside.trim_start().chars().next()?;
                Some(if first == '{' { EndGuard::for_json() } else { parameters() })
            }
        }
    }

    /// The calls in a body without its end marker. `name` is the tool from a header.
    pub(super) fn parse_body(
        self,
        name: Option<&str>,
        body: &str,
        end: BodyEnd,
        tools: &CallableTools,
    ) -> Vec<CallParseResult> {
        match self {
            Self::Plain | Self::Functools => envelope::parse_calls(body, tools),
            Self::Hermes => hermes::parse_hermes(body, end, tools),
            Self::Function => function_tag::parse_functions(&function_tag::with_tags(body, end), tools),
            Self::Functionary => vec![llama::parse_functionary(body, tools)],
            Self::PythonTag => llama::parse_python_tag(body, tools),
            Self::Pythonic => pythonic::parse_wrapped_pythonic(body, tools),
            Self::Mistral => mistral::parse_mistral(body, tools),
            Self::FunctionGemma => vec![gemma::parse_gemma(body, gemma::ESCAPE, tools)],
            Self::Gemma => vec![gemma::parse_gemma(body, gemma::QUOTE, tools)],
            Self::DeepSeek => vec![deepseek::parse_deepseek(body, tools)],
            Self::Dsml => vec![invoke::parse_dsml(body, end, tools)],
            Self::Kimi => vec![kimi::parse_kimi(body, tools)],
            Self::MiniMax => vec![invoke::parse_minimax(body, end, tools)],
            Self::Harmony => vec![harmony::parse_harmony(name.unwrap_or_default(), body, tools)],
        }
    }
}
