/**
 * The icon of an app. The server fetches icons from other hosts, because the console connects only to its own server. Initials are shown
 * until the icon is loaded, or if there is none.
 */
import { useQuery } from '@tanstack/react-query';
import { fetchRaw } from '../api/client';
import { Avatar } from './avatar';

interface Props {
  name: string;
  packageName: string | undefined;
  /** The URL from the developer. */
  icon: string | null | undefined;
  small?: boolean;
}

export function AppIcon({ name, packageName = '', icon, small = false }: Props) {
  const isElsewhere = icon?.startsWith('https://') === true && packageName !== '';
  const fetched = useQuery({
    queryKey: ['icon', packageName, icon],
    queryFn: async ({ signal }) => asText(await (await fetchRaw(`/api/apps/${encodeURIComponent(packageName)}/icon`, { signal })).blob()),
    enabled: isElsewhere,
    staleTime: Infinity,
    retry: false,
    refetchOnWindowFocus: false,
  });
  const source = icon?.startsWith('data:image/') ? icon : isElsewhere ? fetched.data : undefined;
  if (source === undefined) return <Avatar name={name} small={small} />;
  return <img className={small ? 'app-icon small' : 'app-icon'} src={source} alt="" />;
}

/** As a data URL, so that nothing has to be released later. */
function asText(picture: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error('the picture cannot be read'));
    reader.readAsDataURL(picture);
  });
}
