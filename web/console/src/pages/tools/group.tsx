import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { queryClient } from '../../api/queries';
import { AppIcon } from '../../ui/app-icon';
import { Badge } from '../../ui/feedback';
import { Switch } from '../../ui/form';
import { useMore } from '../../ui/more';
import { toast, toastError } from '../../ui/toast';
import { switchTool } from './queries';
import { effects, parametersOf, type Tool } from './tool';
import type { ToolGroup } from './use-tools';

interface Props {
  group: ToolGroup;
  added: readonly string[];
  changed: readonly string[];
}

export function Group({ group, added, changed }: Props) {
  const id = useId();
  const { shown, more } = useMore(group.tools, 40);
  return (
    <section className="card tools-group" aria-labelledby={id}>
      <div className="tools-group-head">
        <AppIcon name={group.name} packageName={group.package} icon={group.icon} small />
        <h2 id={id}>{group.name}</h2>
        {group.name !== group.package && <code>{group.package}</code>}
      </div>
      <ul className="plain-list">
        {shown.map((tool) => (
          <ToolRow key={tool.name} tool={tool} mark={added.includes(tool.name) ? 'New' : changed.includes(tool.name) ? 'Changed' : undefined} />
        ))}
      </ul>
      {more}
    </section>
  );
}

function ToolRow({ tool, mark }: { tool: Tool; mark: string | undefined }) {
  // Shown at once, until the server has said so.
  const [wanted, setWanted] = useState<boolean>();
  const flip = useMutation({
    mutationFn: (on: boolean) => switchTool(tool.name, on),
    onSuccess: async (_, on) => {
      await queryClient.invalidateQueries({ queryKey: ['tools'] });
      toast(`${tool.title} is ${on ? 'on' : 'off'}.`);
    },
    onError: toastError,
    onSettled: () => setWanted(undefined),
  });
  const isOn = wanted ?? !tool.isOff;
  const change = (on: boolean) => {
    setWanted(on);
    flip.mutate(on);
  };
  const [isOpen, setOpen] = useState(false);
  const isHidden = tool.hidden !== undefined && !tool.isOff;
  return (
    <li className={isHidden || !isOn ? 'tool-row dim' : 'tool-row'}>
      <div className="grow">
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>
            <span className="tool-title">{tool.title}</span>
            {mark !== undefined && <Badge kind="accent">{mark}</Badge>}
            {isHidden && <Badge kind="warn">Hidden: {tool.hidden}</Badge>}
            <span className="tool-words">{tool.description}</span>
          </summary>
          {isOpen && <ToolDetails tool={tool} />}
        </details>
      </div>
      <Switch label={`${tool.title} on`} on={isOn} disabled={wanted !== undefined} onChange={change} />
    </li>
  );
}

function ToolDetails({ tool }: { tool: Tool }) {
  const parameters = parametersOf(tool.definition);
  const said = effects(tool.definition);
  return (
    <div className="tool-details">
      {tool.description !== '' && <p className="tool-description">{tool.description}</p>}
      <p>
        <code>{tool.name}</code>
      </p>
      {said.length > 0 && <p className="muted">Its developer says: {said.join(', ')}.</p>}
      {tool.definition === undefined ? (
        <p className="muted">What it takes is shown when it is on.</p>
      ) : parameters.length === 0 ? (
        <p className="muted">It takes no parameters.</p>
      ) : (
        <div className="table-scroll" tabIndex={0} role="region" aria-label={`Parameters of ${tool.title}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Parameter</th>
                <th scope="col">Type</th>
                <th scope="col">What it is</th>
              </tr>
            </thead>
            <tbody>
              {parameters.map(({ name, type, required, description }) => (
                <tr key={name}>
                  <th scope="row">
                    <code>{name}</code> {required && <Badge>needed</Badge>}
                  </th>
                  <td>{type}</td>
                  <td>{description}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
