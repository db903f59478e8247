import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { changesQuery } from '../../api/definitions';
import { queryClient } from '../../api/queries';
import { CHOICES, dataLabel } from '../../approvals/labels';
import { choicesQuery } from '../../approvals/queries';
import { AppIcon } from '../../ui/app-icon';
import { Badge } from '../../ui/feedback';
import { Switch } from '../../ui/form';
import { FIRST, Lazy } from '../../ui/lazy';
import { toast } from '../../ui/toast';
import { useFlip } from '../../ui/use-flip';
import { ChoiceSelect } from './choice';
import { labelsQuery, switchTool } from './queries';
import { effects, parametersOf, type Tool } from './tool';
import type { ToolGroup } from './use-tools';

/** Heights until rendered, in pixels. */
export const ROW_HEIGHT = 46;
export const GROUP_HEAD = 76;

const NO_LABELS: readonly string[] = [];

interface Props {
  group: ToolGroup;
  /** New or changed tools, by name. */
  marks: ReadonlyMap<string, string>;
  onSwitch: (name: string) => void;
}

export function Group({ group, marks, onSwitch }: Props) {
  return (
    <>
      <div className="tools-group-head">
        <AppIcon name={group.name} packageName={group.package} icon={group.icon} small />
        <h2>{group.name}</h2>
        {group.name !== group.package && <code>{group.package}</code>}
      </div>
      <ul className="plain-list">
        {group.tools.map((tool, place) => (
          <Lazy key={tool.name} className="tool-item" name={tool.title} height={ROW_HEIGHT} first={place < FIRST}>
            {() => <ToolRow tool={tool} mark={marks.get(tool.name)} onSwitch={onSwitch} />}
          </Lazy>
        ))}
      </ul>
    </>
  );
}

function ToolRow({ tool, mark, onSwitch }: { tool: Tool; mark: string | undefined; onSwitch: (name: string) => void }) {
  const { on: isOn, flip } = useFlip({
    id: tool.name,
    on: !tool.isOff,
    send: (on) => switchTool(tool.name, on),
    onDone: async (on) => {
      await queryClient.invalidateQueries({ queryKey: ['tools'] });
      toast(`${tool.title} is ${on ? 'on' : 'off'}.`);
    },
  });
  const { data: choices } = useQuery(choicesQuery);
  const labels = useQuery(labelsQuery).data?.get(tool.name) ?? NO_LABELS;
  const choice = choices?.choices.find((one) => one.tool === tool.name);
  const { data: changed } = useQuery(changesQuery);
  const isChanged = changed?.changes.some((one) => one.tool === tool.name && one.state === 'pending' && one.oldInUse) ?? false;
  const [isOpen, setOpen] = useState(false);
  const isHidden = tool.hidden !== undefined && !tool.isOff;
  const change = (on: boolean) => {
    onSwitch(tool.name);
    flip(on);
  };
  return (
    <div className={isHidden || !isOn ? 'tool-row dim' : 'tool-row'}>
      <div className="grow">
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>
            <span className="tool-title">{tool.title}</span>
            {mark !== undefined && <Badge kind="accent">{mark}</Badge>}
            {isChanged && <Badge kind="warn">Changed; the accepted version stays in use</Badge>}
            {isHidden && <Badge kind="warn">Hidden: {tool.hidden}</Badge>}
            {choice !== undefined && <Badge>{CHOICES[choice.choice].badge}</Badge>}
            {labels.map((label) => (
              <Badge key={label}>{dataLabel(label).name}</Badge>
            ))}
            <span className="tool-words">{tool.description}</span>
          </summary>
          {isOpen && (
            <>
              <ToolDetails tool={tool} labels={labels} />
              {choices !== undefined && <ChoiceSelect tool={tool} choice={choice} />}
            </>
          )}
        </details>
      </div>
      <Switch label={tool.title} on={isOn} onChange={change} />
    </div>
  );
}

function ToolDetails({ tool, labels }: { tool: Tool; labels: readonly string[] }) {
  const parameters = parametersOf(tool.definition);
  const declared = effects(tool.definition);
  return (
    <div className="tool-details">
      {tool.description !== '' && <p className="tool-description">{tool.description}</p>}
      <p>
        <code>{tool.name}</code>
      </p>
      {labels.length > 0 && <p className="muted">{labels.map((label) => dataLabel(label).meaning).join(' ')}</p>}
      {declared.length > 0 && <p className="muted">Declared by its developer: {declared.join(', ')}.</p>}
      {tool.definition === undefined ? (
        <p className="muted">Turn it on to see its parameters.</p>
      ) : parameters.length === 0 ? (
        <p className="muted">No parameters.</p>
      ) : (
        <div className="table-scroll" tabIndex={0} role="region" aria-label={`Parameters of ${tool.title}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Parameter</th>
                <th scope="col">Type</th>
                <th scope="col">Description</th>
              </tr>
            </thead>
            <tbody>
              {parameters.map(({ name, type, required, description }) => (
                <tr key={name}>
                  <th scope="row">
                    <code>{name}</code> {required && <Badge>required</Badge>}
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
