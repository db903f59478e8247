/** The pages in navigation order, and who sees them. */
import { Activity, AppWindow, Glasses, Library, MessageSquare, Plug, Puzzle, Settings, ShieldCheck, Users, Wrench } from 'lucide-react';

/** Those who register apps. */
const BUILDERS = ['developer', 'curator', 'operator'] as const;

/** `roles`: who sees it; undefined for all users. */
export const PAGES = [
  { to: '/chat', name: 'Chat', icon: MessageSquare, roles: undefined },
  { to: '/connect', name: 'Connect', icon: Plug, roles: undefined },
  { to: '/approvals', name: 'Approvals', icon: ShieldCheck, roles: undefined },
  { to: '/tools', name: 'Tools', icon: Wrench, roles: undefined },
  { to: '/library', name: 'Library', icon: Library, roles: undefined },
  { to: '/plugins', name: 'Plugins', icon: Puzzle, roles: undefined },
  { to: '/glasses', name: 'Glasses', icon: Glasses, roles: undefined },
  { to: '/activity', name: 'Activity', icon: Activity, roles: undefined },
  { to: '/apps', name: 'Apps', icon: AppWindow, roles: BUILDERS },
  { to: '/people', name: 'People', icon: Users, roles: ['operator'] },
  { to: '/settings', name: 'Settings', icon: Settings, roles: undefined },
] as const;

/** The sign-in page, which is not in the navigation. */
export const SIGN_IN_ROUTE = '/sign-in';
