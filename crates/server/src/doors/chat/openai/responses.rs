//! `/v1/responses`: OpenAI's newer API. Stateless: every request carries the whole conversation.

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use toolyard_agent::event::{TurnEndReason, TurnEvent};
use toolyard_protocol::chat::{ToolDialect, responses::ResponseRequest};

use super::{
    AuthenticatedRequest,
    error::{OpenAiApi, model_error_response, start_error_response},
    response_writer::ResponseWriter,
    stream::{TurnWriter as _, stream_turn},
    tool_choice,
};
use crate::{
    doors::chat::{
        begin::{self, ActiveTurn, TurnRequest},
        new_id,
        respond::vanished_turn_event,
        with_model_header,
    },
    error::json_response,
    state::ServerState,
};

pub(super) async fn post_responses(State(state): State<ServerState>, request: Request) -> Response {
    let AuthenticatedRequest { who, request, trace } =
        match AuthenticatedRequest::read_authenticated(&state, request, ResponseRequest::parse).await {
            Ok(known) => known,
            Err(refusal) => return *refusal,
        };
    let (stream, echo) = (request.stream, request.echo);
    let turn_request = TurnRequest {
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
        ..TurnRequest::default()
    };
    match begin::start_turn(&state, who, turn_request).await {
        Ok(turn) => {
            // Item ids are derived from the response id and their index.
            let (id, created) = (new_id(&state, "resp"), state.clock.now().as_second());
            let writer = ResponseWriter::new(id, created, turn.model.clone(), echo);
            if stream { stream_turn(turn, writer).await } else { whole_response(turn, writer).await }
        }
        Err(why) => start_error_response(OpenAiApi::Responses, why),
    }
}

async fn whole_response(mut turn: ActiveTurn, mut writer: ResponseWriter) -> Response {
    loop {
        let event = turn.events.recv().await.unwrap_or_else(vanished_turn_event);
        if let TurnEvent::Ends(TurnEndReason::Failed(error)) = &event {
            return model_error_response(error);
        }
        let over = matches!(event, TurnEvent::Ends(_));
        writer.apply_event(event, &mut |_| {});
        if over {
            break;
        }
    }
    with_model_header(json_response(StatusCode::OK, writer.response()), writer.model())
}
