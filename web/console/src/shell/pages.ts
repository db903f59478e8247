/** The pages in navigation order, and who sees them. */
import { Activity, AppWindow, Glasses, Library, MessageSquare, Puzzle, Settings, ShieldCheck, Wrench } from 'lucide-react';

export const PAGES = [
  { to: '/chat', name: 'Chat', icon: MessageSquare, builders: false },
  { to: '/approvals', name: 'Approvals', icon: ShieldCheck, builders: false },
  { to: '/tools', name: 'Tools', icon: Wrench, builders: false },
  { to: '/library', name: 'Library', icon: Library, builders: false },
  { to: '/plugins', name: 'Plugins', icon: Puzzle, builders: false },
  { to: '/glasses', name: 'Glasses', icon: Glasses, builders: false },
  { to: '/activity', name: 'Activity', icon: Activity, builders: false },
  { to: '/apps', name: 'Apps', icon: AppWindow, builders: true },
  { to: '/settings', name: 'Settings', icon: Settings, builders: false },
] as const;
