/** Texts about approvals. */
import type {
  ApprovalGrantInfo,
  ApprovalInfo,
  ApprovalReason,
  ApprovalState,
  ApprovalSurface,
  CallDecision,
  PreviewReport,
  RiskLevel,
  ToolChoice,
} from '../api/approvals';
import { countLabel } from '../ui/labels';

interface BadgeLabel {
  name: string;
  kind: 'plain' | 'good' | 'warn' | 'bad' | 'accent';
}

const STATES: Readonly<Record<ApprovalState, BadgeLabel>> = {
  pending: { name: 'waiting', kind: 'accent' },
  approved: { name: 'approved', kind: 'good' },
  denied: { name: 'denied', kind: 'bad' },
  expired: { name: 'expired', kind: 'plain' },
  running: { name: 'running', kind: 'accent' },
  done: { name: 'done', kind: 'good' },
  void: { name: 'not run', kind: 'warn' },
};

const RISKS: Readonly<Record<RiskLevel, BadgeLabel>> = {
  low: { name: 'low risk', kind: 'plain' },
  medium: { name: 'medium risk', kind: 'warn' },
  high: { name: 'high risk', kind: 'bad' },
};

/** A newer server may have states and risks that this console does not know. */
export const stateLabel = (state: ApprovalState): BadgeLabel => STATES[state] ?? { name: state, kind: 'plain' };
export const riskLabel = (risk: RiskLevel): BadgeLabel => RISKS[risk] ?? { name: `${risk} risk`, kind: 'warn' };

const REASONS: Readonly<Record<ApprovalReason, string>> = {
  policy: 'The rules of this server ask before calls like this one.',
  choice: 'You chose to be asked about this tool.',
  lapsed: 'Your earlier approval has expired, or the tool has changed since.',
  dataFlow: 'Private data and content from outside came together, and this call can send data out.',
};

export const reasonText = (reason: ApprovalReason) => REASONS[reason] ?? '';

const SURFACES: Readonly<Record<ApprovalSurface, string>> = {
  console: 'in the console',
  chat: 'in a chat',
  api: 'by a program',
  terminal: 'in the terminal',
  mcp: 'in an MCP client',
  voice: 'by voice',
  button: 'with a button of the device',
};

const DOORS: Readonly<Record<string, string>> = { rest: 'REST', legacy: 'REST (older format)', mcp: 'MCP', chat: 'Chat' };

/** Who asks: the interface, and the connected client as the user agreed to it, or else the program if it named itself. */
export function requesterText({ door, caller, client, connected }: ApprovalInfo['requester']): string {
  const program = connected == null ? client : `${connected.name} (${connected.host})`;
  const who = caller.startsWith('app:') ? ` for the app ${caller.slice('app:'.length)}` : '';
  return `${DOORS[door] ?? door}${program == null ? '' : `, ${program}`}${who}`;
}

/** What happened to an approval that is no longer pending. */
export function stateText(approval: ApprovalInfo): string {
  switch (approval.state) {
    case 'pending':
      return 'Waiting for an answer.';
    case 'approved':
      return 'Approved. The call is about to run.';
    case 'running':
      return 'Approved. The call is running.';
    case 'done':
      return 'Approved. The call has ended.';
    case 'denied':
      return 'Denied. The call did not run.';
    case 'expired':
      return 'Nobody answered in time. The call did not run.';
    case 'void':
      if (!approval.answer) return 'Withdrawn by the caller. The call did not run.';
      return 'Approved, but the tool, the app or the user changed before the call ran. It did not run.';
    default:
      return approval.state;
  }
}

/** Longest excerpt of arguments, in characters. */
const MAX_EXCERPT = 160;

/** The arguments in one line, for lists. */
export function argumentsExcerpt({ summary: { lines } }: ApprovalInfo): string {
  const text = lines.map(({ label, value }) => `${label}: ${value}`).join(', ');
  return text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text;
}

/** Who answered, and where. */
export function answerText({ answer }: ApprovalInfo): string | undefined {
  if (!answer) return undefined;
  const verb = answer.answer === 'approve' ? 'Approved' : 'Denied';
  return `${verb} by ${answer.by} ${SURFACES[answer.surface] ?? answer.surface}`;
}

/** What a grant covers. */
export function grantText({ inConversation, sameArguments, arguments: conditions = [], uses }: ApprovalGrantInfo): string {
  const parts = [
    inConversation ? 'calls in one conversation' : 'every call',
    ...(sameArguments ? ['with the same arguments'] : []),
    ...(conditions.length > 0 ? [`if ${conditions.map(conditionText).join(' and ')}`] : []),
  ];
  return `${parts.join(' ')}${uses == null ? '' : `, ${countLabel(uses, 'call')} left`}`;
}

function conditionText(condition: NonNullable<ApprovalGrantInfo['arguments']>[number]): string {
  const tests = [
    ...(condition.equals === undefined ? [] : [`= ${JSON.stringify(condition.equals)}`]),
    ...(condition.in === undefined ? [] : [`in ${JSON.stringify(condition.in)}`]),
    ...(condition.lessThan === undefined ? [] : [`< ${condition.lessThan}`]),
    ...(condition.atLeast === undefined ? [] : [`≥ ${condition.atLeast}`]),
  ];
  return `${condition.pointer} ${tests.join(' and ')}`;
}

/** What a tool does with data: a short name, and what it means. */
const DATA_LABELS: Readonly<Record<string, { name: string; meaning: string }>> = {
  private: { name: 'private data', meaning: 'Its result is your own data.' },
  untrusted: { name: 'outside content', meaning: 'Its result contains text that others can write.' },
  outward: { name: 'sends out', meaning: 'Its effect leaves the conversation.' },
};

export const dataLabel = (label: string) => DATA_LABELS[label] ?? { name: label, meaning: '' };

export const CHOICES: Readonly<Record<ToolChoice, { name: string; badge: string; decision: CallDecision }>> = {
  always: { name: 'Always, without asking', badge: 'runs without asking', decision: 'allow' },
  ask: { name: 'Ask each time', badge: 'asks first', decision: 'ask' },
  never: { name: 'Never', badge: 'never runs', decision: 'deny' },
};

const COUNT = new Intl.NumberFormat('en');

/** What a rule would have done to recorded calls. `ofAll`: calls of all users instead of one's own. */
export function previewText(report: PreviewReport, decision: CallDecision, ofAll: boolean): string {
  const { calls, matched, dependsOnArguments, stricter, looser } = report;
  if (calls === 0) return 'There are no recorded calls to compare with.';
  const of = ofAll ? `the last ${COUNT.format(calls)} calls of all users` : `your last ${COUNT.format(calls)} calls`;
  const maybe = dependsOnArguments === 0 ? '' : ` For ${COUNT.format(dependsOnArguments)} more it depends on the arguments.`;
  const count = COUNT.format(matched);
  if (matched + dependsOnArguments === 0) return `Would have matched none of ${of}.`;
  if (decision === 'allow') {
    const asked =
      looser === 0 ? 'None of them needed an approval.' : `${COUNT.format(looser)} of them needed an approval, or were refused.`;
    return `Would have run ${count} of ${of} without asking. ${asked}${maybe}`;
  }
  const verb = decision === 'ask' ? 'asked about' : 'refused';
  const more = stricter === 0 ? ' That changes nothing.' : stricter === matched ? '' : ` ${COUNT.format(stricter)} of them would be new.`;
  return `Would have ${verb} ${count} of ${of}.${more}${maybe}`;
}
