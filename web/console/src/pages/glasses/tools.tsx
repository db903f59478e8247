/** The tools that are available with these glasses, and hidden tools with the reason. */
import { useQuery } from '@tanstack/react-query';
import { ErrorBox, Loading } from '../../ui/feedback';
import { Card } from '../../ui/page';
import { toolsQuery } from './queries';

/** Maximum number of names in a list; the Tools page has all. */
const MOST = 40;

export function ToolsHere({ on }: { on: boolean }) {
  const tools = useQuery({ ...toolsQuery, enabled: on });
  const shown = (tools.data?.tools ?? []).map(nameOf);
  const hidden = tools.data?.hidden ?? [];
  return (
    <Card title="Tools with these glasses">
      {on && tools.error && <ErrorBox error={tools.error} onRetry={() => void tools.refetch()} />}
      {(!on || tools.data === null) && <p className="muted flat">Connect the glasses to see their tools.</p>}
      {on && tools.isPending && <Loading what="the tools" />}
      {on && tools.data && (
        <>
          <p className="flat">
            {shown.length} {shown.length === 1 ? 'tool' : 'tools'} can be called{hidden.length > 0 && `, ${hidden.length} cannot`}.
          </p>
          {hidden.length > 0 && (
            <ul className="plain-list reasons" aria-label="Hidden tools">
              {hidden.slice(0, MOST).map((one) => (
                <li key={one.name}>
                  <code>{one.name}</code> <span className="muted">{one.reason}</span>
                </li>
              ))}
            </ul>
          )}
          <details>
            <summary>Tools that can be called</summary>
            <ul className="plain-list reasons" aria-label="Tools that can be called">
              {shown.slice(0, MOST).map((one) => (
                <li key={one}>
                  <code>{one}</code>
                </li>
              ))}
              {shown.length > MOST && <li className="muted">and {shown.length - MOST} more</li>}
            </ul>
          </details>
        </>
      )}
    </Card>
  );
}

/** Tool definitions come from apps unchanged, so no member is certain. */
function nameOf(tool: unknown, place: number): string {
  const name = typeof tool === 'object' && tool !== null && 'name' in tool ? tool.name : undefined;
  return typeof name === 'string' ? name : `tool ${place + 1}`;
}
