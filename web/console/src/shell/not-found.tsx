import { Link } from '@tanstack/react-router';
import { Empty } from '../ui/feedback';

export function NotFound() {
  return (
    <Empty title="There is no such page">
      <Link to="/chat">Go to the chat</Link>
    </Empty>
  );
}
