import { Empty } from '../../ui/feedback';
import { Page } from '../../ui/page';

export function OperatorsOnly() {
  return (
    <Page title="People">
      <Empty title="Only for operators">
        <p>Only operators of this server can manage users.</p>
      </Empty>
    </Page>
  );
}
