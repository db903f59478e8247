/** A search field for the content of the page. */
import { Search as Glass } from 'lucide-react';

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
}

export function Search({ label, value, onChange, placeholder }: Props) {
  return (
    <div className="search" role="search">
      <Glass size={17} aria-hidden />
      <input
        className="input"
        type="search"
        aria-label={label}
        value={value}
        placeholder={placeholder ?? label}
        maxLength={200}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
