/** The trust status of a plugin as a label with a color. */
import { BadgeCheck, CircleHelp, ShieldAlert, ShieldOff } from 'lucide-react';
import { Badge } from '../../ui/feedback';

const KINDS = {
  signed: { kind: 'good', Icon: BadgeCheck, words: 'Signed' },
  unsigned: { kind: 'warn', Icon: CircleHelp, words: 'Unsigned' },
  modified: { kind: 'bad', Icon: ShieldAlert, words: 'Modified' },
  'unknown-key': { kind: 'bad', Icon: CircleHelp, words: 'Unknown key' },
  revoked: { kind: 'bad', Icon: ShieldOff, words: 'Revoked' },
  expired: { kind: 'bad', Icon: ShieldOff, words: 'Expired' },
} as const;

export function TrustBadge({ status, owner, reason }: { status: string; owner?: string | null; reason?: string }) {
  const { kind, Icon, words } = KINDS[status as keyof typeof KINDS] ?? KINDS.modified;
  const text = status === 'signed' && owner != null ? `Signed by ${owner}` : words;
  return (
    <Badge kind={kind} {...(reason !== undefined && { title: reason })}>
      <Icon size={14} aria-hidden />
      {text}
    </Badge>
  );
}
