import { ACCOUNT_KEY } from '../../../api/accounts';
import { queryClient } from '../../../api/queries';

export const refetchAccount = () => queryClient.invalidateQueries({ queryKey: [ACCOUNT_KEY] });
