/** Approvals: the types of the server's `approval` module, and its routes as functions. */
import { get, send } from './console';
import type { components } from './schema';

type Schemas = components['schemas'];

export type CallDecision = Schemas['CallDecision'];
export type ToolChoice = Schemas['ToolChoice'];
export type RiskLevel = Schemas['RiskLevel'];
export type ApprovalState = Schemas['ApprovalState'];
export type ApprovalSurface = Schemas['ApprovalSurface'];
export type ApprovalReason = Schemas['ApprovalReason'];
export type RememberScope = Schemas['RememberScope'];
export type ApprovalInfo = Schemas['ApprovalInfo'];
export type ApprovalList = Schemas['ApprovalList'];
export type ToolChoiceInfo = Schemas['ToolChoiceInfo'];
export type ChoiceRequest = Schemas['ChoiceRequest'];
export type ApprovalGrantInfo = Schemas['ApprovalGrantInfo'];
export type ApprovalPolicy = Schemas['ApprovalPolicy'];
export type PreviewReport = Schemas['PreviewReport'];

/** An answer of the console: it always says which arguments were shown. */
export type AnswerRequest = Schemas['AnswerRequest'] & { surface: ApprovalSurface; argumentsDigest: string };

const ROOT = '/api/approvals';
const at = (id: string) => `${ROOT}/${encodeURIComponent(id)}`;
const choiceAt = (tool: string) => `${ROOT}/choices/${encodeURIComponent(tool)}`;

/** The path of the event stream. */
export const APPROVAL_EVENTS = `${ROOT}/events`;

export const listApprovals = (query: { state?: ApprovalState; before?: string | undefined; limit: number }, signal?: AbortSignal) =>
  get<ApprovalList>(ROOT, query, signal);
export const getApproval = (id: string, signal?: AbortSignal) => get<ApprovalInfo>(at(id), {}, signal);
export const postAnswer = (id: string, body: AnswerRequest) => send<ApprovalInfo>('POST', at(id), body);
export const getChoices = (signal?: AbortSignal) => get<{ choices: ToolChoiceInfo[] }>(`${ROOT}/choices`, {}, signal);
export const putChoice = (tool: string, body: ChoiceRequest) => send<ToolChoiceInfo>('PUT', choiceAt(tool), body);
export const deleteChoice = (tool: string) => send<void>('DELETE', choiceAt(tool));
export const getApprovalGrants = (signal?: AbortSignal) => get<{ grants: ApprovalGrantInfo[] }>(`${ROOT}/grants`, {}, signal);
export const revokeApprovalGrant = (id: string) => send<void>('DELETE', `${ROOT}/grants/${encodeURIComponent(id)}`);
export const getApprovalPolicy = (signal?: AbortSignal) =>
  get<ApprovalPolicy & { source: 'config' | 'stored' }>(`${ROOT}/policy`, {}, signal);
export const putApprovalPolicy = (policy: unknown) => send<ApprovalPolicy>('PUT', `${ROOT}/policy`, policy);
export const resetApprovalPolicy = () => send<void>('DELETE', `${ROOT}/policy`);
export const previewRule = (rule: unknown) => send<PreviewReport>('POST', `${ROOT}/preview`, rule);
