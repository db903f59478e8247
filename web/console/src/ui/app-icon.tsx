/**
 * The picture of an app. Where it lies on another host, the server fetches it: the console asks nobody but its own server. Its
 * initials stand in for it until it is there, and where there is none.
 */
import { useQuery } from '@tanstack/react-query';
import { plain } from '../api/client';
import { Avatar } from './avatar';

interface Props {
  name: string;
  packageName: string | undefined;
  /** The address that its developer gave. */
  icon: string | null | undefined;
  small?: boolean;
}

export function AppIcon({ name, packageName = '', icon, small = false }: Props) {
  const isElsewhere = icon?.startsWith('https://') === true && packageName !== '';
  const fetched = useQuery({
    queryKey: ['icon', packageName, icon],
    queryFn: async ({ signal }) => asText(await (await plain(`/api/apps/${encodeURIComponent(packageName)}/icon`, { signal })).blob()),
    enabled: isElsewhere,
    staleTime: Infinity,
    retry: false,
    refetchOnWindowFocus: false,
  });
  const source = icon?.startsWith('data:image/') ? icon : isElsewhere ? fetched.data : undefined;
  if (source === undefined) return <Avatar name={name} small={small} />;
  return <img className={small ? 'app-icon small' : 'app-icon'} src={source} alt="" />;
}

/** As an address that holds all of it, so that nothing has to be given back when it is shown no more. */
function asText(picture: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error('the picture cannot be read'));
    reader.readAsDataURL(picture);
  });
}
