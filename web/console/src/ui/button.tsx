import type { ButtonHTMLAttributes, ReactNode } from 'react';

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'> {
  kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  icon?: ReactNode;
  small?: boolean;
}

export function Button({ kind = 'plain', icon, small = false, type = 'button', children, ...rest }: Props) {
  return (
    <button type={type} className={`button ${kind}${small ? ' small' : ''}`} {...rest}>
      {icon}
      {children}
    </button>
  );
}

interface IconProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className' | 'aria-label'> {
  /** The action, for screen readers. */
  label: string;
}

export function IconButton({ label, type = 'button', children, ...rest }: IconProps) {
  return (
    <button type={type} className="icon-button" aria-label={label} title={label} {...rest}>
      {children}
    </button>
  );
}
