import { PEOPLE_KEY } from '../../api/accounts';
import { queryClient } from '../../api/queries';

/** Also the list of known users that other pages offer. */
export const refetchPeople = () =>
  Promise.all([queryClient.invalidateQueries({ queryKey: [PEOPLE_KEY] }), queryClient.invalidateQueries({ queryKey: ['users'] })]);
