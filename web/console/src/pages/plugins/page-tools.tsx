import { PAGE_TOOLS, setPageTool, usePageToolsOff } from '../../plugins/page-tools';
import { Switch } from '../../ui/form';
import { Card } from '../../ui/page';

/** The console's own tools, which run in the page. */
export function PageTools() {
  const off = usePageToolsOff();
  return (
    <Card title="Tools of the console">
      <ul className="plain-list page-tools">
        {PAGE_TOOLS.map(({ id, name, about }) => (
          <li key={id} className="row between">
            <div className="grow">
              <strong>{name}</strong>
              <p className="muted">{about}</p>
            </div>
            <Switch label={name} on={!off.has(id)} onChange={(on) => setPageTool(id, on)} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
