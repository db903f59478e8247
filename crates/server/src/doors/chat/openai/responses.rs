//! `/v1/responses`: what newer clients of OpenAI speak. Stateless: the whole conversation comes with every request.

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use toolyard_agent::event::{Finish, TurnEvent};
use toolyard_protocol::chat::{ToolDialect, responses::ResponseRequest};

use super::{
    KnownRequest,
    error::{Api, model_failed, not_begun},
    response_writer::ResponseWriter,
    stream::{TurnWriter as _, streamed},
    tool_choice,
};
use crate::{
    doors::chat::{
        begin::{self, Asked, Begun},
        new_id,
        respond::broken,
        with_model,
    },
    error::json,
    state::AppState,
};

pub(super) async fn responses(State(state): State<AppState>, request: Request) -> Response {
    let KnownRequest { who, request, trace } =
        match KnownRequest::read(&state, request, ResponseRequest::read).await {
            Ok(known) => known,
            Err(refusal) => return *refusal,
        };
    let (stream, echo) = (request.stream, request.echo);
    let asked = Asked {
        messages: request.messages,
        client_tools: request.tools,
        model: request.model,
        system: request.instructions,
        choice: tool_choice(request.selection.choice),
        tool_filter: request.selection.only,
        dialect: ToolDialect::OpenAi,
        max_tokens: request.max_tokens,
        temperature: request.temperature,
        sampling: request.sampling,
        trace,
        ..Asked::default()
    };
    match begin::begin(&state, who, asked).await {
        Ok(begun) => {
            // Items are numbered, so an id of a response is enough for all of them.
            let (id, created) = (new_id(&state, "resp"), state.clock.now().as_second());
            let writer = ResponseWriter::new(id, created, begun.model.clone(), echo);
            if stream { streamed(begun, writer).await } else { whole(begun, writer).await }
        }
        Err(why) => not_begun(Api::Responses, why),
    }
}

async fn whole(mut begun: Begun, mut writer: ResponseWriter) -> Response {
    loop {
        let event = begun.events.recv().await.unwrap_or_else(broken);
        if let TurnEvent::Ends(Finish::Failed(error)) = &event {
            return model_failed(error);
        }
        let over = matches!(event, TurnEvent::Ends(_));
        writer.take(event, &mut |_| {});
        if over {
            break;
        }
    }
    with_model(json(StatusCode::OK, writer.response()), writer.model())
}
