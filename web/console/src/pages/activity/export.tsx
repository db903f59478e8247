/** Exports the ledger as a file. Uses `fetch`, because a link cannot send the credential. */
import { Download } from 'lucide-react';
import { useState } from 'react';
import { fetchRaw } from '../../api/client';
import { withQuery } from '../../api/console';
import { Button } from '../../ui/button';
import { download } from '../../ui/download';
import { toast, toastError } from '../../ui/toast';
import { usageQuery, type Filters } from './filters';

const WHAT = [
  { what: 'calls', name: 'Calls as CSV' },
  { what: 'tools', name: 'Totals as CSV' },
] as const;

export function Export({ filters }: { filters: Filters }) {
  const [busy, setBusy] = useState(false);
  async function save(what: 'calls' | 'tools') {
    setBusy(true);
    try {
      const response = await fetchRaw(withQuery('/api/usage/export', { what, ...usageQuery(filters, Date.now()) }));
      download(await response.blob(), `toolyard-${what}-${new Date().toISOString().slice(0, 10)}.csv`);
      toast('The file was downloaded.');
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  }
  return WHAT.map(({ what, name }) => (
    <Button key={what} disabled={busy} onClick={() => void save(what)} icon={<Download size={16} aria-hidden />}>
      {name}
    </Button>
  ));
}
